//! What `--diff` shows, on two small steps in `fixtures/steps`.

use std::path::{Path, PathBuf};

use lesson::diff::{Step, Style, first_step, pair, render, run, stat};
use unicode_width::UnicodeWidthStr;

const PLAIN: Style = Style { colour: false, columns: None };

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures").join("steps").join(name)
}

fn step(name: &str) -> Step {
    Step::read(&folder(name)).expect("the fixture is there")
}

fn shown(style: &Style) -> String {
    let (old, new) = (step("00-lamp"), step("01-log"));
    render(&old, &new, &pair(&old, &new), style)
}

#[test]
fn the_diff_reads_from_the_new_file_to_the_sums() {
    insta::assert_snapshot!(shown(&PLAIN));
}

#[test]
fn the_stat_has_a_line_for_each_file() {
    let (old, new) = (step("00-lamp"), step("01-log"));
    insta::assert_snapshot!(stat(&old, &new, &pair(&old, &new), &PLAIN));
}

#[test]
fn the_first_step_shows_its_files_with_their_sizes() {
    insta::assert_snapshot!(first_step(&step("00-lamp"), &PLAIN));
}

#[test]
fn no_line_of_ours_is_wider_than_eighty_columns() {
    let (mut old, mut new) = (step("00-lamp"), step("01-log"));
    let long = "long_".repeat(20);
    let text = (0..40).map(|n| format!("fn {long}{n}() {{}}\n")).collect::<String>();
    old.files.insert(format!("src/{long}.rs"), text.clone());
    new.files.insert(format!("src/{long}.rs"), text + "fn more() {}\n");
    let pairs = pair(&old, &new);
    let both =
        render(&old, &new, &pairs, &PLAIN) + &stat(&old, &new, &pairs, &PLAIN) + &shown(&PLAIN);
    let ours = both.lines().filter(|line| !line.starts_with(['+', '-', ' ']) || line.len() < 2);
    for line in ours.chain(stat(&old, &new, &pairs, &PLAIN).lines()) {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
}

#[test]
fn colours_come_only_where_they_are_wanted_and_change_no_text() {
    let coloured = shown(&Style { colour: true, columns: None });
    assert!(coloured.contains("\x1b[32m+ //! The keeper's log.\x1b[0m"), "{coloured}");
    let codes = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
    assert_eq!(codes.replace_all(&coloured, ""), shown(&PLAIN));
}

#[test]
fn every_added_and_removed_line_is_shown_or_counted() {
    let text = shown(&PLAIN);
    let count = |sign: &str| text.lines().filter(|line| line.starts_with(sign)).count();
    // Of a removed file only the names are shown: its five lines.
    assert!(text.ends_with("also: scene.toml, tests/ (not shown)\n"), "{text}");
    let sums = format!("{} lines added, {} removed", count("+ ") + blank(&text), count("- ") + 5);
    assert!(text.contains(&sums), "{sums} expected in:\n{text}");
}

/// Added lines that are empty.
fn blank(text: &str) -> usize {
    text.lines().filter(|line| *line == "+").count()
}

#[test]
fn the_same_files_are_no_difference() {
    let (old, new) = (step("00-lamp"), step("00-lamp"));
    assert!(render(&old, &new, &pair(&old, &new), &PLAIN).contains("no difference"));
}

#[test]
fn another_base_must_be_a_step_and_not_the_step_itself() {
    let error = run(&folder("01-log"), Some("07"), true).unwrap_err().to_string();
    assert_eq!(error, "there is no step 07: there are 00-lamp, 01-log");
    let error = run(&folder("01-log"), Some("1"), true).unwrap_err().to_string();
    assert_eq!(error, "step01 is this step itself: name another one after --from");
}
