//! The contract of a step, kept by a program in another language: `python/agent.py` passes scene
//! 00, and variants of it that break the contract fail with a word on what to mend.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The name of a Python 3, or `None` where these tests are skipped. CI must have one.
fn python() -> Option<&'static str> {
    let works = |name: &&str| {
        let version = Command::new(name).arg("--version").stdin(Stdio::null()).output();
        version.is_ok_and(|out| {
            out.status.success() && String::from_utf8_lossy(&out.stdout).starts_with("Python 3")
        })
    };
    let found = ["python3", "python"].into_iter().find(works);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI needs a python3 on the PATH");
        eprintln!("skipped: there is no python3 on the PATH");
    }
    found
}

fn agent() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("python").join("agent.py")
}

/// `lesson check 00 -- python3 agent.py`, in the agent's own folder.
fn check(python: &str, dir: &Path) -> (Option<i32>, String) {
    let out: Output = Command::new(env!("CARGO_BIN_EXE_lesson"))
        .args(["check", "00", "--seed", "7", "--", python, "agent.py"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .expect("the program is built");
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (out.status.code(), said.concat())
}

/// The agent with one piece of its code replaced.
fn check_broken(python: &str, piece: &str, instead: &str) -> (Option<i32>, String) {
    let whole = std::fs::read_to_string(agent()).expect("the agent is there");
    assert_eq!(whole.matches(piece).count(), 1, "{piece:?} must stand once in agent.py");
    let dir = tempfile::tempdir().expect("there is room for a temporary folder");
    std::fs::write(dir.path().join("agent.py"), whole.replace(piece, instead)).expect("it is ours");
    check(python, dir.path())
}

/// The line that names the rules that failed.
fn failed(said: &str) -> &str {
    said.lines().find(|line| line.starts_with("failed: ")).unwrap_or_default()
}

#[test]
fn an_agent_in_python_keeps_the_contract() {
    let Some(python) = python() else { return };
    let (code, said) = check(python, agent().parent().expect("it is in a folder"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("The program keeps the contract on this scene."), "{said}");
}

#[test]
fn an_agent_that_keeps_the_results_to_itself_is_told_so() {
    let Some(python) = python() else { return };
    let results = "        messages.append({\"role\": \"user\", \"content\": [run_tool(call) for call in calls]})\n";
    let (code, said) =
        check_broken(python, results, "        [run_tool(call) for call in calls]\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(failed(&said).contains("protocol"), "{said}");
    assert!(said.contains("tool_result"), "{said}");
}

#[test]
fn an_agent_that_ends_without_an_answer_is_told_what_is_missing() {
    let Some(python) = python() else { return };
    let (code, said) =
        check_broken(python, "        if not calls:\n            return\n", "        sys.exit()\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(failed(&said).contains("answer"), "{said}");
    assert!(failed(&said).contains("script"), "{said}");
}

#[test]
fn an_agent_that_makes_up_the_file_is_not_believed() {
    let Some(python) = python() else { return };
    let (code, said) = check_broken(python, "file.read()", "'dark_before_bell = 5'");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("settings.conf"), "{said}");
}

#[test]
fn an_agent_that_does_not_run_at_all_is_told_by_its_own_last_words() {
    let Some(python) = python() else { return };
    let (code, said) = check_broken(python, "import json\n", "import jason\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("jason"), "{said}");
}
