//! The program as a whole, before a scripted model, on a terminal of its own: Ctrl+C where it may
//! come, and what the model is told afterwards.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mock_server::{Options, Scene, ScriptedModel, Values};
use rexpect::session::{PtySession, spawn_command};
use tempfile::TempDir;

/// The tool sleeps for a minute, so what comes back within this time was called off.
const AT_ONCE: Duration = Duration::from_secs(10);

/// The prompt is to be back within half a second. The median of several presses must hold twice
/// that and more on a machine that is busy with other tests; the test prints what it was.
const MEDIAN: Duration = Duration::from_secs(2);

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_step05"));
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

    /// Ctrl+C, and the prompt is back at once.
    fn interrupt(&self, program: &mut PtySession) -> Duration {
        // The editor writes its prompt anew with each key.
        while program.try_read().is_some() {}
        let pressed = Instant::now();
        program.send_control('c').unwrap();
        program.exp_string(PROMPT).unwrap();
        let took = pressed.elapsed();
        println!("the prompt is back after {} ms", took.as_millis());
        assert!(took < AT_ONCE, "{took:?}");
        took
    }

    /// What the one session's file holds.
    fn session_file(&self) -> String {
        let only = |folder: PathBuf| std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
        let project = only(self.rooms.path().join(".loopwright").join("projects"));
        std::fs::read_to_string(only(project.path()).path()).unwrap()
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

#[test]
fn ctrl_c_in_a_reply_keeps_what_was_heard() {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\nsay = \"One two three four five six seven eight.\"\n{AND_NOW}"
    ));
    // The reply stops after its second piece, and would never go on.
    let gate = stage.model.hold("main", 1, 5).unwrap();
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    program.exp_string("One two").unwrap();
    stage.interrupt(&mut program);
    let messages = stage.goes_on(program);
    assert!(messages.contains("One two") && !messages.contains("eight"), "{messages}");
    drop(gate);
}

#[test]
fn ctrl_c_before_a_reply_leaves_the_users_line() {
    let stage = Stage::with(&format!("[[main]]\nuser = \"Go.\"\n[[main]]\nsay = \"x\"\n{AND_NOW}"));
    let gate = stage.model.hold("main", 1, 0).unwrap();
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    while stage.model.journal().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    stage.interrupt(&mut program);
    assert!(stage.goes_on(program).contains("Go."));
    drop(gate);
}

#[test]
fn ctrl_c_in_a_tool_ends_it_and_answers_every_call() {
    let stage = Stage::with(&format!(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"(while sleep 0.05; do echo >> beat; done) & sleep 60\"\n[[main.call]]\n\
         run_shell.command = \"touch never\"\n[[main]]\nsay = \"x\"\n{AND_NOW}"
    ));
    let mut program = stage.terminal();
    program.send_line("Go.").unwrap();
    let beat = stage.rooms.path().join("beat");
    while !beat.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    stage.interrupt(&mut program);
    let beaten = std::fs::metadata(&beat).unwrap().len();
    let messages = stage.goes_on(program);
    for told in [messages, stage.session_file()] {
        assert_eq!(told.matches("interrupted before there was a result").count(), 2, "{told}");
    }
    assert!(!stage.rooms.path().join("never").exists());
    std::thread::sleep(Duration::from_secs(1));
    let now = std::fs::metadata(&beat).unwrap().len();
    assert!(now <= beaten + 1, "what the tool started still runs");
}

#[test]
fn after_ctrl_c_in_a_tool_the_prompt_is_soon_back() {
    let turn = |number: usize| {
        format!(
            "[[main]]\nuser = \"Go {number}.\"\n[[main]]\n[[main.call]]\n\
             run_shell.command = \"touch begun{number}; sleep 60\"\n"
        )
    };
    let stage = Stage::with(&format!("{}{AND_NOW}", (1..=5).map(turn).collect::<String>()));
    let mut program = stage.terminal();
    let mut times: Vec<Duration> = Vec::new();
    for number in 1..=5 {
        program.send_line(&format!("Go {number}.")).unwrap();
        while !stage.rooms.path().join(format!("begun{number}")).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        times.push(stage.interrupt(&mut program));
    }
    times.sort();
    println!("after Ctrl+C the prompt is back in the median of five after {:?}", times[2]);
    assert!(times[2] < MEDIAN, "{times:?}");
    stage.goes_on(program);
}

#[test]
fn ctrl_c_at_the_prompt_throws_the_line_away() {
    let stage = Stage::with(AND_NOW);
    let mut program = stage.terminal();
    program.send("never sent").unwrap();
    program.flush().unwrap();
    program.exp_char('s').unwrap();
    stage.interrupt(&mut program);
    assert!(!stage.goes_on(program).contains("never sent"));
}
