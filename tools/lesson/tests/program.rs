//! The program `lesson` from outside: its help, its exit codes, what it says where it cannot go on.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A clone in miniature: the two small steps of `fixtures/steps`.
fn clone() -> TempDir {
    let dir = tempfile::tempdir().expect("there is room for a temporary folder");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures");
    copy(&fixtures.join("steps"), &dir.path().join("steps"));
    let lesson = dir.path().join("tools").join("lesson");
    std::fs::create_dir_all(&lesson).expect("it can be made");
    std::fs::write(lesson.join("Cargo.toml"), "").expect("it can be written");
    dir
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("it can be made");
    for entry in std::fs::read_dir(from).expect("the fixtures are there") {
        let entry = entry.expect("it can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("it can be copied");
        }
    }
}

fn lesson(dir: &Path, words: &[&str]) -> Output {
    command(dir, words).output().expect("the program is built")
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson"));
    command.args(words).current_dir(dir).env_remove("LESSON_COLOR").stdin(Stdio::null());
    command
}

/// An error without the breaks between its words.
fn flat(bytes: &[u8]) -> String {
    text(bytes).replace("\n  ", " ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("lesson.exe", "lesson")
}

#[test]
fn every_help_text_says_what_the_command_does() {
    let dir = clone();
    for name in ["", "check", "matrix", "mutate", "picture", "diff"] {
        let words: Vec<&str> =
            [name, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let out = lesson(dir.path(), &words);
        assert_eq!(out.status.code(), Some(0), "{name}");
        let snapshot = format!("help_{}", if name.is_empty() { "all" } else { name });
        let help = text(&out.stdout);
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{name} has a line of {widest:?} columns");
        insta::assert_snapshot!(snapshot, help);
    }
}

#[test]
fn a_step_that_is_not_there_is_named_with_those_that_are() {
    let dir = clone();
    for words in [&["diff", "09"][..], &["check", "09", "--", "true"], &["picture", "09"]] {
        let out = lesson(dir.path(), words);
        assert_eq!(out.status.code(), Some(2), "{words:?}");
        let said = "error: there is no step 09: there are 00-lamp, 01-log\n";
        assert_eq!(text(&out.stderr), said, "{words:?}");
    }
}

#[test]
fn a_program_that_is_not_there_is_said_with_what_to_do() {
    let dir = clone();
    let out = lesson(dir.path(), &["check", "00", "--", "no-such-program", "x"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(
        flat(&out.stderr),
        "error: no-such-program is not on the PATH: install it, or give its path\n"
    );

    std::fs::write(dir.path().join("my-agent"), "").expect("it can be written");
    let out = lesson(dir.path(), &["check", "00", "--", "my-agent"]);
    assert!(flat(&out.stderr).contains("there is a file of that name here: write ."));

    let path = Path::new("bin").join("agent").display().to_string();
    let out = lesson(dir.path(), &["check", "00", "--", &path]);
    assert!(flat(&out.stderr).contains("does not exist: is the path right, seen from here?"));

    let folder = dir.path().join("steps");
    let out = lesson(dir.path(), &["check", "00", "--", &folder.display().to_string()]);
    assert_eq!(out.status.code(), Some(2));
    let said = format!("error: {} is a folder: name the program in it\n", folder.display());
    assert_eq!(flat(&out.stderr), said);

    let own = std::env::current_exe().expect("this program").display().to_string();
    let out = lesson(dir.path(), &["check", "00", "--", &own, "my-agent.py"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(flat(&out.stderr), "error: there is no my-agent.py here\n");
}

#[test]
fn without_a_command_the_help_is_shown_as_an_error() {
    let out = lesson(clone().path(), &[]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("Usage: lesson <COMMAND>"));
}

#[test]
fn a_diff_through_a_pipe_has_no_colours_and_works_from_any_folder() {
    let dir = clone();
    let below = dir.path().join("steps").join("01-log").join("src");
    let out = lesson(&below, &["diff", "1"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    assert!(shown.starts_with("step01 · log: what it adds to step00 · lamp\n"), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
    assert!(!shown.contains(&*dir.path().to_string_lossy()), "{shown}");
}

#[test]
fn a_reader_who_has_seen_enough_ends_the_diff_quietly() {
    let dir = clone();
    let many: String = (0..40_000).map(|n| format!("fn number_{n}() {{}}\n")).collect();
    let file = dir.path().join("steps").join("01-log").join("src").join("many.rs");
    std::fs::write(file, many).expect("it can be written");
    let mut child = command(dir.path(), &["diff", "01"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    // More than a pipe holds is written, and nobody reads it.
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(text(&out.stderr), "");
}

#[cfg(unix)]
#[test]
fn a_second_mutate_on_the_same_clone_says_so_and_ends() {
    let dir = clone();
    let target = dir.path().join("target");
    std::fs::create_dir_all(target.join("mutate")).expect("it can be made");
    std::fs::write(dir.path().join("Cargo.toml"), "[workspace]\n").expect("it can be written");
    let first = lesson::process::lock(&target.join("mutate").join("lock"));
    let first = first.expect("it can be locked").expect("nobody else has it");
    let second = || {
        let mut command = command(dir.path(), &["mutate"]);
        command.env("CARGO_TARGET_DIR", &target).output().expect("the program is built")
    };
    let out = second();
    assert_eq!(out.status.code(), Some(2));
    let said = "error: another `lesson mutate`, or `doc-sync`, is at work on this clone: let it\n  end first\n";
    assert_eq!(text(&out.stderr), said);
    drop(first);
    assert_ne!(text(&second().stderr), said);
}

#[cfg(target_os = "linux")]
#[test]
fn a_request_to_end_reaches_what_a_command_has_started() {
    let dir = clone();
    let pid = dir.path().join("pid");
    let script = dir.path().join("cargo.sh");
    // A cargo that never ends, and has a child.
    let text = "#!/bin/sh\nsleep 619 &\necho $! > pid.new\nmv pid.new pid\nwait\n";
    std::fs::write(&script, text).expect("it can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("it is ours");
    let mut child =
        command(dir.path(), &["matrix"]).env("CARGO", &script).spawn().expect("it is built");
    while !pid.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let kill = |words: &[&str]| Command::new("kill").args(words).stderr(Stdio::null()).status();
    kill(&["-TERM", &child.id().to_string()]).expect("kill runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let sleeper = std::fs::read_to_string(&pid).expect("it is written");
    assert!(!kill(&["-0", sleeper.trim()]).expect("kill runs").success(), "the child lives on");
}

#[test]
fn the_list_of_mutations_names_claim_and_witness() {
    let dir = clone();
    let mutation = "[[mutation]]\nclaim = \"it is logged\"\nfile = \"src/log.rs\"\n\
                    find = \"log: \"\nreplace = \"\"\nnoticed_by = \"scene\"\n";
    let file = dir.path().join("steps").join("01-log").join("mutations.toml");
    std::fs::write(&file, mutation).expect("it can be written");
    let out = lesson(dir.path(), &["mutate", "--list", "01"]);
    let listed = text(&out.stdout).replace('\\', "/");
    assert_eq!(listed, "01-log\n  it is logged\n      src/log.rs, noticed by the scene\n");

    std::fs::write(&file, mutation.replace("scene", "luck")).expect("it can be written");
    let out = lesson(dir.path(), &["mutate", "--list"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("mutation 1: noticed_by is"), "{}", text(&out.stderr));
}
