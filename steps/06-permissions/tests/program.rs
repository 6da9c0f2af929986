//! The program as a whole, before a scripted model, on a terminal of its own: the question, and the
//! three ways to answer it.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use mock_server::{Options, Scene, ScriptedModel, Values};
use rexpect::session::{PtySession, spawn_command};
use tempfile::TempDir;

/// Of `you ▸ `: what comes is read byte by byte.
const PROMPT: &str = "you ";

struct Stage {
    runtime: tokio::runtime::Runtime,
    model: ScriptedModel,
    rooms: TempDir,
}

impl Stage {
    fn with(lines: &str) -> Self {
        let text =
            format!("title = \"t\"\nproves = \"requests\"\n{lines}\n[verify]\nrequests = 1\n");
        let scene = Scene::parse(&text, Path::new("scene.toml")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let values = Values::draw(&scene, 1);
        let options = Options { port: 0, values, pace: None, events: None, rooms: Vec::new() };
        let model = runtime.block_on(ScriptedModel::start(scene, options)).unwrap();
        Self { runtime, model, rooms: tempfile::tempdir().unwrap() }
    }

    fn terminal(&self) -> PtySession {
        let mut command = Command::new(env!("CARGO_BIN_EXE_step06"));
        command.current_dir(self.rooms.path());
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, self.rooms.path());
        }
        command.env("LESSON_AGENT", "1").env("ANTHROPIC_BASE_URL", self.model.url());
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
        command.env("NO_PROXY", "127.0.0.1").env("NO_COLOR", "1").env("TERM", "xterm");
        let mut program = spawn_command(command, Some(20_000)).unwrap();
        program.exp_string(PROMPT).unwrap();
        program
    }

    /// The session goes on, and the model had nothing to refuse.
    fn goes_on(&self, mut program: PtySession) -> String {
        program.send_line("And now?").unwrap();
        program.exp_string("All is well.").unwrap();
        program.exp_string(PROMPT).unwrap();
        program.send_control('d').unwrap();
        program.exp_eof().unwrap();
        assert_eq!(self.model.faults(), []);
        self.model.journal().last().unwrap().request["messages"].to_string()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.runtime.block_on(tokio::task::yield_now());
    }
}

const AND_NOW: &str = "
[[main]]
user = \"And now?\"
[[main]]
say = \"All is well.\"
";

/// A call that is asked about, and what the user does then.
fn asked(answer: impl FnOnce(&mut PtySession)) -> (String, bool) {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"touch here\"\n[[main]]\nsay = \"So be it.\"\n{AND_NOW}"
    ));
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    program.exp_string("no rule allows `touch here`").unwrap();
    program.exp_string("[y/n/a] ").unwrap();
    answer(&mut program);
    program.exp_string("So be it.").unwrap();
    program.exp_string(PROMPT).unwrap();
    let messages = stage.goes_on(program);
    (messages, stage.rooms.path().join("here").exists())
}

#[test]
fn yes_on_a_terminal_runs_the_command() {
    let (_, is_there) = asked(|program| _ = program.send_line("y").unwrap());
    assert!(is_there);
}

#[test]
fn no_on_a_terminal_goes_back_to_the_model() {
    let (messages, is_there) = asked(|program| _ = program.send_line("n").unwrap());
    assert!(messages.contains("the user said no") && !is_there, "{messages}");
}

#[test]
fn ctrl_c_at_the_question_ends_the_turn_and_the_session_goes_on() {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"touch here\"\n[[main.call]]\nrun_shell.command = \"ls\"\n{AND_NOW}"
    ));
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    program.exp_string("[y/n/a] ").unwrap();
    program.send_control('c').unwrap();
    program.exp_string(PROMPT).unwrap();
    let messages = stage.goes_on(program);
    assert_eq!(messages.matches("interrupted").count(), 2, "{messages}");
    assert!(!stage.rooms.path().join("here").exists());
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\nrun_shell.command = \"sleep 1\"\n\
         [[main.call]]\nrun_shell.command = \"touch here\"\n[[main]]\nsay = \"So be it.\"\n{AND_NOW}"
    ));
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    program.exp_string("sleep 1").unwrap();
    program.send_line("y").unwrap();
    program.exp_string("[y/n/a] ").unwrap();
    // A line that was typed ahead would be taken by now.
    std::thread::sleep(std::time::Duration::from_millis(500));
    program.send_line("n").unwrap();
    program.exp_string("So be it.").unwrap();
    program.exp_string(PROMPT).unwrap();
    let messages = stage.goes_on(program);
    assert!(messages.contains("the user said no"), "{messages}");
    assert!(!stage.rooms.path().join("here").exists());
}

#[test]
fn the_end_of_the_input_at_the_question_is_no_and_the_end() {
    let stage = Stage::with(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"touch here\"\n[[main]]\nsay = \"So be it.\"\n",
    );
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    program.exp_string("[y/n/a] ").unwrap();
    program.send_control('d').unwrap();
    program.exp_string("So be it.").unwrap();
    assert!(!stage.rooms.path().join("here").exists());
}

#[test]
fn an_always_is_forgotten_at_clear() {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\nrun_shell.command = \"touch here\"\n\
         [[main]]\nsay = \"So be it.\"\n[[main]]\nuser = \"Go again.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"touch here\"\n[[main]]\nsay = \"Well, no.\"\n{AND_NOW}"
    ));
    let mut program = stage.terminal();
    for (line, answer, end) in [("Go.", "a", "So be it."), ("Go again.", "n", "Well, no.")] {
        program.send_line("/clear").unwrap();
        program.exp_string("a new conversation begins").unwrap();
        program.exp_string(PROMPT).unwrap();
        program.send_line(line).unwrap();
        program.exp_string("[y/n/a] ").unwrap();
        program.send_line(answer).unwrap();
        program.exp_string(end).unwrap();
        program.exp_string(PROMPT).unwrap();
    }
    let messages = stage.goes_on(program);
    assert!(messages.contains("the user said no"), "{messages}");
}
