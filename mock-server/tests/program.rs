//! The program `mock-server`: its commands, its output, and how it ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const HELLO: &str = "title = \"Says hello\"\n[[main]]\nuser = \"Hi\"\n[[main]]\nsay = \"Hello.\"\n";

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mock-server"))
}

fn scene(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn check_names_what_is_wrong_in_every_scene_and_ends_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = scene(folder.path(), "good.toml", HELLO);
    let bad = scene(folder.path(), "bad.toml", "title = \"x\"\ncolour = 1\n");
    let output = program().args(["check", &good, &bad]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, format!("{good}: fine: Says hello\n"));
    assert!(wrong.contains(&format!("{bad}:2: unknown key `colour`")), "{wrong}");
    assert_eq!(output.status.code(), Some(1));
    let output = program().args(["check", &good]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn without_a_scene_it_says_how_it_is_used() {
    let output = program().output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: mock-server"));
}

#[cfg(unix)]
#[test]
fn it_serves_with_its_seed_and_ctrl_c_stops_it_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let hello = scene(folder.path(), "hello.toml", HELLO);
    let mut child = program()
        .args([&hello, "--port", "0", "--seed", "7"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = output.lines().map(|line| line.expect("a line"));
    assert_eq!(lines.next().as_deref(), Some("Says hello · seed 7"));
    let listening = lines.next().expect("a line");
    let address = listening.strip_prefix("listening on http://").expect("an address");
    let address = address.split(' ').next().expect("an address");
    // An open connection does not hold it.
    let _open = std::net::TcpStream::connect(address).expect("it listens");
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    assert!(sent.success());
    assert_eq!(lines.last().as_deref(), Some("stopped"));
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
