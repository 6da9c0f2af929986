//! `lesson matrix` and `lesson mutate` as whole programs, on a repository of two tiny steps that
//! stand on nothing but the standard library.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A step that asks the model once for each line.
const PROGRAM: &str = r##"
use std::io::{Read, Write};

fn main() {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        println!("{}", ask(&line));
    }
}

fn ask(line: &str) -> String {
    let var = |name: &str| std::env::var(name).expect("the contract sets it");
    let address = var("ANTHROPIC_BASE_URL").replace("http://", "");
    let (key, model) = (var("ANTHROPIC_API_KEY"), var("ANTHROPIC_MODEL"));
    let messages = format!(r#"[{{"role":"user","content":"{line}"}}]"#);
    let body = format!(r#"{{"model":"{model}","max_tokens":9,"messages":{messages}}}"#);
    let mut model = std::net::TcpStream::connect(&address).expect("the model is there");
    let head = format!("host: {address}\r\nx-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n\
                        content-type: application/json\r\ncontent-length: {}\r\n\
                        connection: close\r\n", body.len());
    write!(model, "POST /v1/messages HTTP/1.1\r\n{head}\r\n{body}").expect("it is sent");
    let mut reply = String::new();
    model.read_to_string(&mut reply).expect("it answers");
    let text = reply.split("\"text\":\"").nth(1).expect("there is a text");
    text.split('"').next().unwrap_or_default().to_string()
}
"##;

/// What the second step adds.
const ADDED: &str = r#"
        // The note that it leaves.
        std::fs::write("done.txt", words(1)).expect("it can be written");
"#;

const WORDS: &str = r#"
fn words(count: usize) -> String {
    vec!["done"; count].join(" ")
}

#[test]
fn words_are_joined() {
    assert_eq!(words(2), "done done");
}
"#;

const SCENE: &str = r#"
title = "Answer"
proves = "note"

[[main]]
user = "Go."

[[main]]
say = "Gone."

[verify]
answer = "Gone."
"#;

const NOTE: &str = "note = { file = \"done.txt\", holds = \"done\" }\n";

const MUTATIONS: &str = r#"
[[mutation]]
claim = "a note is left"
file = "src/main.rs"
find = "done.txt"
replace = "gone.txt"
noticed_by = "scene"

[[mutation]]
claim = "words are joined by a blank"
file = "src/main.rs"
find = 'join(" ")'
replace = 'join("")'
noticed_by = "test words_are_joined"
"#;

const UNNOTICED: &str = r#"
[[mutation]]
claim = "the comment says what it leaves"
file = "src/main.rs"
find = "The note"
replace = "The noise"
noticed_by = "scene"
"#;

fn write(root: &Path, file: &str, text: &str) {
    let file = root.join(file);
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("it can be made");
    std::fs::write(file, text).expect("it can be written");
}

/// A clone with two steps. The second leaves a note, and its scene looks for it.
fn clone() -> TempDir {
    let dir = tempfile::tempdir().expect("there is room for a temporary folder");
    let root = dir.path();
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"steps/*\", \"tools/*\"]\n\
                     [profile.dev]\ndebug = false\n";
    write(root, "Cargo.toml", workspace);
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
    write(root, "tools/lesson/Cargo.toml", &manifest("lesson"));
    write(root, "tools/lesson/src/lib.rs", "");
    write(root, "steps/00-ask/Cargo.toml", &manifest("step00"));
    write(root, "steps/00-ask/src/main.rs", PROGRAM);
    write(root, "steps/00-ask/scene.toml", &SCENE.replace("proves = \"note\"\n", ""));
    let second = PROGRAM.replace("ask(&line));\n", &format!("ask(&line));\n{ADDED}")) + WORDS;
    write(root, "steps/01-note/Cargo.toml", &manifest("step01"));
    write(root, "steps/01-note/src/main.rs", &second);
    write(root, "steps/01-note/scene.toml", &format!("{SCENE}{NOTE}"));
    write(root, "steps/01-note/mutations.toml", MUTATIONS);
    write(root, ".gitignore", "/target\n");
    let git = Command::new("git").args(["init", "-q"]).current_dir(root).status();
    assert!(git.expect("git is there").success());
    dir
}

fn command(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lesson"));
    command.args(words).current_dir(root).stdin(Stdio::null()).env("CARGO_NET_OFFLINE", "true");
    for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_BUILD_DIR", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}

/// The exit code, and what was said.
fn lesson(root: &Path, words: &[&str]) -> (Option<i32>, String) {
    let out = command(root, words).output().expect("the program is built");
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (out.status.code(), said.concat())
}

#[test]
fn the_matrix_is_broken_where_a_scene_holds_on_the_step_before() {
    let clone = clone();
    let (code, said) = lesson(clone.path(), &["matrix"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("✗ note"), "{said}");

    let weak = "note = { screen = \"Gone.\" }\n";
    write(clone.path(), "steps/01-note/scene.toml", &format!("{SCENE}{weak}"));
    let (code, said) = lesson(clone.path(), &["matrix"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("scene 01-note on step00 must fail, and it holds"), "{said}");
}

#[test]
fn a_mutation_that_nobody_notices_is_exit_1() {
    let clone = clone();
    let (code, said) = lesson(clone.path(), &["mutate"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 mutations, 2 noticed"), "{said}");

    write(clone.path(), "steps/01-note/mutations.toml", UNNOTICED);
    let (code, said) = lesson(clone.path(), &["mutate"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("✗ the comment says what it leaves"), "{said}");
    assert!(said.contains("1 mutations, 0 noticed"), "{said}");
}

/// A cargo that never ends where a step's source holds `is`, and is the real one elsewhere.
#[cfg(unix)]
fn slow_cargo(root: &Path, is: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let real = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" != metadata ] && grep -q '{is}' steps/01-note/src/main.rs; then\n\
         setsid sleep 7781 & echo $! > '{building}'; wait\nfi\nexec '{real}' \"$@\"\n",
        building = root.join("building").display()
    );
    write(root, "slow-cargo", &script);
    let file = root.join("slow-cargo");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&file, executable).expect("it is ours");
    file
}

/// Sends a signal while a build runs; the exit code, and whether what the build started lives on.
#[cfg(unix)]
fn ended_by(signal: &str, root: &Path, words: &[&str], cargo: &Path) -> (Option<i32>, bool) {
    let mut command = command(root, words);
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lesson = quiet.env("CARGO", cargo).spawn().expect("the program is built");
    let kill = |signal: &str, id: &str| {
        let sent = Command::new("kill").args([signal, id]).stderr(Stdio::null()).status();
        sent.expect("kill runs").success()
    };
    let file = root.join("building");
    let sleeper = loop {
        let ended = lesson.try_wait().expect("it is ours");
        assert!(ended.is_none(), "{words:?} did not wait for the build: {ended:?}");
        match std::fs::read_to_string(&file) {
            Ok(id) if id.ends_with('\n') => break id.trim().to_string(),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    std::fs::remove_file(&file).expect("it is there");
    kill(signal, &lesson.id().to_string());
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        match lesson.try_wait().expect("it is ours") {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            ended => break ended,
        }
    };
    let lives = kill("-0", &sleeper);
    let _ = lesson.kill();
    kill("-KILL", &sleeper);
    (status.and_then(|status| status.code()), lives)
}

#[cfg(target_os = "linux")]
#[test]
fn a_request_to_end_ends_a_build_and_all_below_it() {
    let clone = clone();
    let cargo = slow_cargo(clone.path(), "fn main");
    for words in [&["mutate"][..], &["matrix"], &["picture", "01"]] {
        for signal in ["-TERM", "-HUP", "-INT"] {
            let ended = ended_by(signal, clone.path(), words, &cargo);
            assert_eq!(ended, (Some(130), false), "{words:?} {signal}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_request_to_end_is_heard_after_a_play_too() {
    let clone = clone();
    let cargo = slow_cargo(clone.path(), "gone.txt");
    let ended = ended_by("-TERM", clone.path(), &["mutate"], &cargo);
    assert_eq!(ended, (Some(130), false));
}
