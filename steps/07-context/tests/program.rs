//! The program as a whole, before a scripted model, with its input and output in pipes.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use mock_server::{Options, Scene, ScriptedModel, Values};
use tempfile::TempDir;

mod histories;

struct Stage {
    runtime: tokio::runtime::Runtime,
    model: ScriptedModel,
    rooms: TempDir,
}

/// A program that runs, and what it says, line by line.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    said: String,
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
        let rooms = tempfile::tempdir().unwrap();
        std::fs::create_dir(rooms.path().join(".claude")).unwrap();
        let settings = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
        std::fs::write(rooms.path().join(".claude/settings.json"), settings).unwrap();
        Self { runtime, model, rooms }
    }

    fn start(&self, window: u64, arguments: &[&str]) -> Running {
        let mut command = program_in(self.rooms.path(), &self.model.url());
        command.args(arguments).env("LOOPWRIGHT_WINDOW", window.to_string());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Running { child, lines, said: String::new() }
    }

    /// The last request that the model received.
    fn last_request(&self) -> String {
        self.model.journal().last().unwrap().request["messages"].to_string()
    }
}

/// The program in a folder that is its home as well, before the model at this address.
fn program_in(rooms: &Path, url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_step07"));
    command.current_dir(rooms).env("HOME", rooms).env("USERPROFILE", rooms);
    command.env("LESSON_AGENT", "1").env("ANTHROPIC_BASE_URL", url);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
    command.env("NO_PROXY", "127.0.0.1").env("NO_COLOR", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.runtime.block_on(tokio::task::yield_now());
    }
}

impl Running {
    fn types(&mut self, line: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{line}").unwrap();
    }

    /// Reads on until this stands there.
    fn says(&mut self, wanted: &str) {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let Ok(line) = line else {
                let _ = self.child.kill();
                panic!("no {wanted}, but {}", self.said);
            };
            self.said += &format!("{line}\n");
            if line.contains(wanted) {
                return;
            }
        }
    }

    fn ends(&mut self) -> bool {
        drop(self.child.stdin.take());
        for line in self.lines.iter() {
            self.said += &format!("{line}\n");
        }
        self.child.wait().unwrap().success()
    }
}

/// A result of so many bytes for each of so many calls, and then the answer.
fn calls(number: usize, bytes: usize) -> String {
    let mut text = "[[main]]\nuser = \"Count the nights\"\n".to_string();
    for _ in 0..number {
        text += &format!("[[main]]\ncall.run_shell.command = \"yes night | head -c {bytes}\"\n");
    }
    text + "[[main]]\nsay = \"All are counted.\"\n"
}

const PARTS: &str = "[parts]\nsummary = \"Write a summary from which you can go on\"\n";

#[test]
fn a_prompt_that_is_too_long_leads_to_a_compaction_and_a_retry() {
    let summary = "[[summary]]\nsay = \"Some are counted. <<mark>>\"\n".repeat(2);
    let model = "[model]\ncontext_window = 8000\n";
    let stage = Stage::with(&format!("{model}{PARTS}{}{summary}", calls(3, 10_000)));
    let mut program = stage.start(200_000, &[]);
    program.types("Count the nights");
    program.says("All are counted.");
    assert!(program.ends(), "{}", program.said);
    let statuses: Vec<u16> = stage.model.journal().iter().map(|exchange| exchange.status).collect();
    assert_eq!(statuses, [200, 200, 200, 400, 200, 200, 200]);
    let last = stage.last_request();
    assert!(last.contains("Count the nights") && last.contains("Some are counted."), "{last}");
    assert!(last.contains("toolu_main_0003_1") && !last.contains("toolu_main_0002_1"), "{last}");
}

#[test]
fn a_first_result_that_is_denser_than_was_guessed_becomes_a_preview_and_the_work_goes_on() {
    let model = "[model]\ncontext_window = 8000\n";
    let stage = Stage::with(&format!("{model}{}", calls(1, 29_000)));
    let mut program = stage.start(200_000, &[]);
    program.types("Count the nights");
    program.says("squeeze: 1 of the longest results saved and made shorter");
    program.says("All are counted.");
    assert!(program.ends(), "{}", program.said);
    let statuses: Vec<u16> = stage.model.journal().iter().map(|exchange| exchange.status).collect();
    assert_eq!(statuses, [200, 400, 200]);
    assert!(stage.last_request().contains("; they are in "), "{}", stage.last_request());
}

#[test]
fn a_line_that_is_too_long_is_refused_before_it_is_kept_or_sent() {
    let stage = Stage::with("[[main]]\nuser = \"Count\"\n[[main]]\nsay = \"One.\"");
    let mut program = stage.start(8_000, &[]);
    program.types(&"night ".repeat(3_000));
    assert!(!program.ends());
    let said = program.said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("takes 18,001 bytes, and one may take 3,999 here put it into a file"),
        "{said}"
    );
    assert_eq!(stage.model.journal().len(), 0);
    assert!(!stage.rooms.path().join(".loopwright/projects").exists());
}

#[test]
fn a_window_that_is_too_small_is_said_at_the_start() {
    let stage = Stage::with("[[main]]\nuser = \"Count\"\n[[main]]\nsay = \"One.\"");
    let mut program = stage.start(4_000, &[]);
    assert!(!program.ends());
    assert!(program.said.contains("a window of 4,000 tokens is too small"), "{}", program.said);
}

#[test]
fn a_useless_summary_is_told_to_the_user_and_not_asked_for_with_each_call() {
    let summary = "[[summary]]\nsay = \"Hm.\"\nstop = \"max_tokens\"\n";
    let stage = Stage::with(&format!("{PARTS}{}{summary}", calls(6, 3_900)));
    let mut program = stage.start(12_000, &[]);
    program.types("Count the nights");
    program.says("All are counted.");
    assert!(program.ends());
    let said = program.said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches("a summary is due").count(), 1, "{said}");
    assert_eq!(
        said.matches("there is no summary, the model's reply broke off").count(),
        1,
        "{said}"
    );
}

#[test]
fn without_any_summary_the_work_goes_on_and_what_is_left_out_is_said() {
    let summary = "[[summary]]\nsay = \"Hm.\"\nstop = \"max_tokens\"\n".repeat(20);
    // A call that no preview makes shorter.
    let long = format!("3900 # {}", "all of the nights ".repeat(20));
    let calls = calls(45, 3_900).replace("3900", &long);
    let stage = Stage::with(&format!("{PARTS}{calls}{summary}"));
    let mut program = stage.start(9_000, &[]);
    program.types("Count the nights");
    program.says("left out without a summary");
    program.says("All are counted.");
    assert!(program.ends(), "{}", program.said);
    assert!(stage.last_request().contains("Count the nights"), "{}", stage.last_request());
}

#[cfg(unix)]
#[test]
fn ctrl_c_during_a_summary_leaves_a_session_that_goes_on() {
    let lines = "[[main]]\nuser = \"And now?\"\n[[main]]\nsay = \"All is well.\"\n";
    let summary = "[[summary]]\nsay = \"Some are counted. <<mark>>\"\n".repeat(2);
    let stage = Stage::with(&format!("{PARTS}{}{lines}{summary}", calls(6, 3_900)));
    let gate = stage.model.hold("summary", 0, 1).unwrap();
    let mut program = stage.start(12_000, &[]);
    program.types("Count the nights");
    program.says("a summary is due");
    let id = program.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    program.says("interrupted");
    drop(gate);
    program.types("And now?");
    program.says("All is well.");
    assert!(program.ends(), "{}", program.said);
    assert_eq!(stage.model.faults(), []);
}

/// Time and memory of a turn at turn 10, 100 and 1,000. Each is a question, a command with 3 kB of
/// output, and an answer. `cargo test --release -p step07 -- --ignored --nocapture a_thousand`
#[test]
#[ignore = "a measurement"]
fn a_thousand_turns() {
    let mut text = PARTS.to_string();
    for turn in 1..=1_000 {
        text += &format!("[[main]]\nuser = \"Question {turn:04}\"\n");
        text += "[[main]]\ncall.run_shell.command = \"yes night | head -c 3000\"\n";
        text += &format!("[[main]]\nsay = \"Answer {turn:04}\"\n");
    }
    text += &"[[summary]]\nsay = \"Much was asked. <<mark>>\"\n".repeat(300);
    let stage = Stage::with(&text);
    let mut program = stage.start(60_000, &[]);
    let (mut last, mut before) = (1, figures(&program));
    for turn in 1..=1_000 {
        program.types(&format!("Question {turn:04}"));
        program.says(&format!("Answer {turn:04}"));
        if [10, 20, 100, 110, 990, 1_000].contains(&turn) {
            let now = figures(&program);
            let turns = turn - last;
            let (cpu, memory) = ((now.0 - before.0) as f64 * 10.0 / f64::from(turns), now.1);
            println!("turns {last} to {turn}: {cpu:.1} ms of CPU a turn, {memory} KiB");
            (last, before) = (turn, now);
        }
    }
    assert!(program.ends());
    println!("compactions: {}", program.said.matches("became a summary").count());
}

/// Hundredths of a second of CPU, and KiB of memory, where Linux tells them.
fn figures(program: &Running) -> (u64, u64) {
    let read = |file: &str| {
        std::fs::read_to_string(format!("/proc/{}/{file}", program.child.id())).unwrap_or_default()
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let cpu = number(fields.get(12).copied()) + number(fields.get(13).copied());
    let status = read("status");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    (cpu, number(memory.and_then(|line| line.split_whitespace().next())))
}
