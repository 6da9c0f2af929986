//! Properties of the lexer: it never panics, and however a command's name is spelt, it is found.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

fn names(script: &Script) -> Vec<&str> {
    script.commands.iter().filter_map(|command| command.words.first()).map(String::as_str).collect()
}

/// The same name with quotes, escapes and line continuations in it.
fn respelt(name: &str, how: &[u8]) -> String {
    let one = |(at, c): (usize, char)| match how[at % how.len()] % 7 {
        0 => format!("'{c}'"),
        1 => format!("\"{c}\""),
        2 => format!("\\{c}"),
        3 => format!("\\\n{c}"),
        4 => format!("''{c}\"\""),
        5 => format!("\"\\\n{c}\""),
        _ => c.to_string(),
    };
    name.chars().enumerate().map(one).collect()
}

/// Places in a line where a command's name can stand; `@` is the command.
const PLACES: &[&str] = &[
    "@",
    "ls; @",
    "ls && @",
    "ls||@",
    "ls|@",
    "ls |& @",
    "ls &@",
    "ls\n@",
    "# note\n@",
    "(@)",
    "( ( @ ) )",
    "{ @; }",
    "! @",
    "if @; then ls; fi",
    "if ls; then @; else ls; fi",
    "while @; do ls; done",
    "for x in a b; do @; done",
    "for x in $(@); do ls; done",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo \"a `@` b\"",
    "echo `@`",
    "X=1 @",
    "X=$(@)",
    "X=\"$(@)\" ls",
    ">out @",
    "2>&1 @",
    "< in @",
    "echo > $(@)",
    "echo a\\;b; @",
    "echo 'it'\\''s'; @",
    "echo \"\\\"\"; @",
    "echo a#b; @",
    "echo $(ls # )\n @)",
];

/// Pieces of shell that are put together at random; `probe` is a program that leaves a trace.
const PIECES: &[&str] = &[
    "probe",
    "pro",
    "be",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "{ ",
    "; }",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "${x:-",
    "#",
    "if ",
    "; then ",
    "; fi",
    "for x in a",
    "; do ",
    "; done",
    "do ",
    "while ",
    "case x in x) ",
    ";; esac",
    "! ",
    "x=1 ",
    "x=",
    ">o ",
    "<o ",
    ">&2",
    "2>",
    ">",
    "<",
    "<<E",
    "\nE\n",
    "$((",
    "))",
    "$x",
    "$@",
    "echo ",
    "true",
    "\\\n",
    "\\`",
    "\\\"",
    "eval ",
    "x() ",
    "f",
    "-",
    "*",
    "[ ",
    " ]",
    "1",
    "\t",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_line_makes_it_panic(line in any::<String>()) {
        read_script(&line);
    }

    #[test]
    fn no_row_of_pieces_makes_it_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        read_script(&pieces.concat());
    }

    #[test]
    fn a_name_is_found_however_it_is_spelt(
        name in "[a-z][a-z0-9._-]{1,8}", how in prop::collection::vec(any::<u8>(), 1..9), place in prop::sample::select(PLACES),
    ) {
        // Unquoted control words are no names; they are quoted here at least once, or left out.
        prop_assume!(!["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "case", "in", "esac", "select",
            "function", "coproc"].contains(&name.as_str()));
        // Within backticks the spelling is read twice, so escapes there would need escapes.
        let escapes = place.contains('`') && how.iter().any(|h| matches!(h % 7, 1..=5));
        let spelt = if escapes { name.clone() } else { respelt(&name, &how) };
        let line = place.replace('@', &format!("{spelt} -x"));
        let script = read_script(&line);
        prop_assert!(names(&script).contains(&name.as_str()), "{line:?} gave {script:?}");
        prop_assert_eq!(script.unclear, None);
    }

    #[test]
    fn what_is_quoted_stays_one_word(text in "[^'\0]{0,40}") {
        let script = read_script(&format!("echo '{text}'"));
        prop_assert_eq!(&script.commands[0].words, &["echo".to_string(), text]);
        prop_assert_eq!((script.commands.len(), script.unclear), (1, None));
    }
}

#[test]
fn endless_nesting_is_unclear_and_does_not_end_the_program() {
    for open in ["$(", "(", "${", "`", "\"$(", "${x:-$(", "\"${"] {
        assert!(read_script(&open.repeat(100_001)).unclear.is_some());
    }
}

#[test]
fn a_command_is_taken_apart() {
    let script = read_script("LANG=C sort -u \"$x\" < list >> \"a b\" 2>&1 # done");
    assert_eq!(script.commands[0].words, ["LANG=C"]);
    let command = &script.commands[1];
    assert_eq!(command.words, ["sort".to_string(), "-u".to_string(), HOLE.to_string()]);
    assert_eq!(
        (&command.reads[..], &command.writes[..]),
        (&["list".to_string()][..], &["a b".to_string()][..])
    );
}

#[test]
fn a_backslash_between_backticks_and_more_than_a_name_between_braces_are_unclear() {
    for line in ["echo `echo \\\"; probe`", "echo ${x:-a}", "echo ${x:-$(probe)}", "echo `probe"] {
        assert!(read_script(line).unclear.is_some(), "{line}");
    }
}

#[test]
fn what_comes_before_an_unreadable_part_is_still_listed() {
    let script = read_script("rm -rf x; cat <<EOF\nEOF");
    assert_eq!(names(&script), ["rm", "cat"]);
    assert!(script.unclear.is_some());
}

/// The real shell is asked: whatever it runs, the lexer must have listed, or called the line
/// unclear; and with the probe denied, no line that runs it may pass, even where all is bypassed.
/// More cases: `SHELL_CASES=10000 cargo test -p step06 words`.
#[cfg(unix)]
#[test]
fn nothing_runs_in_a_real_shell_that_was_not_listed_or_that_is_denied() {
    use crate::permissions::{Decision, Permissions};
    use proptest::strategy::ValueTree;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (bin, work) = (folder.path().join("bin"), folder.path().join("work"));
    let home = folder.path().join("home");
    for new in [&bin, &work, &home.join(".claude")] {
        std::fs::create_dir_all(new).unwrap();
    }
    let settings =
        r#"{"permissions": {"defaultMode": "bypassPermissions", "deny": ["run_shell(probe *)"]}}"#;
    std::fs::write(home.join(".claude/settings.json"), settings).unwrap();
    let permissions = Permissions::load(&work, &home).unwrap();
    let trace = folder.path().join("trace");
    let program = format!("#!/bin/sh\necho ran > '{}'\n", trace.display());
    std::fs::write(bin.join("probe"), program).unwrap();
    std::fs::set_permissions(bin.join("probe"), PermissionsExt::from_mode(0o755)).unwrap();
    for tool in ["env", "xargs", "nice", "timeout", "sh"] {
        for from in ["/bin", "/usr/bin"].map(|f| std::path::Path::new(f).join(tool)) {
            if from.exists() && !bin.join(tool).exists() {
                symlink(from, bin.join(tool)).unwrap();
            }
        }
    }
    let often = ["probe", "probe ", "; probe", " $(probe)", "`probe`", "\nprobe\n", "|probe"];
    let outer = [
        "env ",
        "xargs ",
        "nice ",
        "nice -n 1 ",
        "timeout 1 ",
        "sh -c ",
        "sh -ec '",
        "command ",
        "exec ",
        "eval ",
        "env X=1 ",
    ];
    let pieces = [PIECES, &often, &often, &often, &outer].concat();
    let lines = prop::collection::vec(prop::sample::select(pieces), 1..10);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = std::env::var("SHELL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut ran = 0;
    for _ in 0..cases {
        let line = lines.new_tree(&mut runner).unwrap().current().concat();
        if !line.contains("pro") || line.contains("while") {
            continue;
        }
        for shell in
            ["/bin/sh", "/bin/bash"].into_iter().filter(|s| std::path::Path::new(s).exists())
        {
            let mut command = std::process::Command::new(shell);
            command.arg("-c").arg(&line).env_clear().env("PATH", &bin).current_dir(&work);
            command.stdin(std::process::Stdio::null()).output().unwrap();
            if std::fs::remove_file(&trace).is_ok() {
                ran += 1;
                let decision =
                    permissions.judge("run_shell", &serde_json::json!({ "command": line }));
                assert_ne!(
                    decision,
                    Decision::Allow,
                    "{shell} ran the probe in {line:?}, read as {:?}",
                    read_script(&line)
                );
            }
        }
    }
    println!("the probe ran {ran} times");
    assert!(ran > 10);
}
