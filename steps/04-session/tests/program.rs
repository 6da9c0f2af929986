//! The program as a whole, before a scripted model: on a terminal of its own, and in a pipe.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use mock_server::scene::Limits;
use mock_server::{Options, Scene, ScriptedModel, Values, judge};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A model that plays this scene, and a home for the program.
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

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_step04"));
        command.args(arguments).current_dir(self.rooms.path());
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, self.rooms.path());
        }
        command.env("LESSON_AGENT", "1").env("ANTHROPIC_BASE_URL", self.model.url());
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "claude-haiku-4-5");
        command.env("NO_PROXY", "127.0.0.1").env("NO_COLOR", "1").env("TERM", "xterm");
        command
    }

    /// Runs it in a pipe: exit code and output.
    fn piped(&self, arguments: &[&str], input: &str) -> (Option<i32>, String) {
        let mut command = self.program(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// The user's texts in all requests so far.
    fn asked(&self) -> Vec<String> {
        let exchanges = self.model.journal().into_iter();
        let last = |request: &serde_json::Value| {
            request["messages"].as_array()?.last()?["content"][0]["text"].as_str().map(String::from)
        };
        exchanges.filter_map(|exchange| last(&exchange.request)).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The model's own thread ends with it; this only lets the runtime go in order.
        self.runtime.block_on(tokio::task::yield_now());
    }
}

const TWO_QUESTIONS: &str = "
[[main]]
user = \"How many lamps?\"
[[main]]
say = \"Two lamps.\"
[[main]]
user = \"And bells?\"
[[main]]
say = \"One bell.\"
";

#[test]
fn one_question_is_answered_without_reading_the_input() {
    let stage = Stage::with(TWO_QUESTIONS);
    let (code, output) = stage.piped(&["-p", "How many lamps?"], "And bells?\n");
    assert_eq!(code, Some(0));
    assert!(output.contains("Two lamps.") && !output.contains("One bell."), "{output}");
    assert_eq!(stage.asked(), ["How many lamps?"]);
}

#[test]
fn a_pipe_is_read_line_by_line_to_its_end() {
    let stage = Stage::with(TWO_QUESTIONS);
    let (code, output) = stage.piped(&[], "How many lamps?\r\n\nAnd bells?");
    assert_eq!(code, Some(0));
    assert!(output.contains("One bell.") && !output.contains("you ▸"), "{output}");
    assert_eq!(stage.asked(), ["How many lamps?", "And bells?"]);
}

#[test]
fn an_unknown_command_is_named_and_a_path_goes_to_the_model() {
    let stage = Stage::with("[[main]]\nuser = \"/etc/lamp is gone\"\n[[main]]\nsay = \"Oh.\"\n");
    let (code, output) = stage.piped(&[], "/lamp\n/etc/lamp is gone\n");
    assert_eq!(code, Some(0));
    assert!(output.contains("there is no /lamp\n    /help"), "{output}");
    assert_eq!(stage.asked(), ["/etc/lamp is gone"]);
}

#[test]
fn an_unknown_option_is_named_with_those_there_are() {
    let stage = Stage::with(TWO_QUESTIONS);
    for (arguments, named) in [
        (&["--resum"][..], "--resum makes no sense here"),
        (&["-p", "How many lamps?", "--resum"], "--resum makes no sense here"),
        (&["-p", ""], "-p makes no sense here"),
    ] {
        let (code, output) = stage.piped(arguments, "");
        assert_eq!(code, Some(2), "{output}");
        assert!(output.contains(named), "{output}");
        assert!(
            output.contains("-p QUESTION") && output.contains("--resume [SESSION]"),
            "{output}"
        );
    }
    assert_eq!(stage.asked(), Vec::<String>::new());
}

/// A server that answers whatever comes with these replies, one after another, and the messages that
/// came.
fn model_that_says(replies: Vec<Value>) -> (String, std::thread::JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let answer = |reply: Value| {
            let (mut connection, _) = listener.accept().unwrap();
            let request = read_request(&mut connection);
            let body = reply.to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}", body.len());
            write!(connection, "{head}\r\n\r\n{body}").unwrap();
            request
        };
        replies.into_iter().map(answer).collect()
    });
    (url, served)
}

/// The body of a request.
fn read_request(connection: &mut TcpStream) -> Value {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn a_reply_in_a_wrong_form_does_not_spoil_the_session() {
    let stage = Stage::with(TWO_QUESTIONS);
    let call =
        |id: &str| json!({ "type": "tool_use", "id": id, "name": "list files", "input": [] });
    let content = json!([call("x"), call("x"), call(""), { "type": "text", "text": "I look." }]);
    let wrong = json!({ "content": content, "stop_reason": "tool_use" });
    let done =
        json!({ "content": [{ "type": "text", "text": "Done." }], "stop_reason": "end_turn" });
    let (url, served) = model_that_says(vec![wrong.clone(), wrong, done.clone(), done]);
    let mut program = stage.program(&["-p", "Go."]);
    assert!(program.env("ANTHROPIC_BASE_URL", &url).status().unwrap().success());
    let mut program = stage.program(&["--resume", "-p", "More."]);
    assert!(program.env("ANTHROPIC_BASE_URL", &url).status().unwrap().success());
    let limits = Limits { context_window: 100_000, max_output: 64_000, cache_minimum: 1 };
    for request in served.join().unwrap() {
        assert_eq!(judge(&request, &limits).map(drop), Ok(()), "{request}");
    }
}

#[test]
fn clear_begins_a_new_conversation_and_exit_ends_the_program() {
    let stage = Stage::with(TWO_QUESTIONS);
    let input = "How many lamps?\n/clear\n/status\n/exit\nAnd bells?\n";
    let (code, output) = stage.piped(&[], input);
    assert_eq!(code, Some(0));
    assert!(output.contains("session  none yet"), "{output}");
    assert_eq!(stage.asked(), ["How many lamps?"]);
}

#[test]
fn a_session_goes_on_in_another_process_and_its_cost_is_known() {
    let stage = Stage::with(TWO_QUESTIONS);
    stage.piped(&["-p", "How many lamps?"], "");
    let (_, output) = stage.piped(&["--resume"], "/status\nAnd bells?\n");
    assert!(output.contains("goes on") && output.contains("One bell."), "{output}");
    assert!(output.contains("cost     $0.00"), "{output}");
    let messages = &stage.model.journal()[1].request["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 3);
}

#[test]
fn a_call_is_on_disk_before_it_runs() {
    let stage = Stage::with(
        "[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\n\
         run_shell.command = \"grep -c toolu_main_0001_1 .loopwright/projects/*/*.jsonl\"\n\
         returns = \"exit code 0\"\n[[main]]\nsay = \"It is.\"\n",
    );
    let (code, output) = stage.piped(&["-p", "Go."], "");
    assert_eq!(code, Some(0), "{output}");
    assert_eq!(stage.model.faults(), []);
}

#[cfg(unix)]
mod on_a_terminal {
    use super::*;
    use rexpect::session::{PtySession, spawn_command};

    /// Of `you ▸ `: what comes is read byte by byte.
    const PROMPT: &str = "you ";

    fn terminal(stage: &Stage) -> PtySession {
        let mut program = spawn_command(stage.program(&[]), Some(20_000)).unwrap();
        program.exp_string(PROMPT).unwrap();
        program
    }

    #[test]
    fn on_a_terminal_lines_are_edited_and_come_back() {
        let stage = Stage::with(TWO_QUESTIONS);
        let mut program = terminal(&stage);
        let (left, delete, up) = ("\x1b[D", "\x7f", "\x1b[A");
        // Typed wrongly, and mended: back over the `?`, the `z` deleted, an `s` in its place.
        program.send_line(&format!("How many lampz?{left}{delete}s")).unwrap();
        program.exp_string("Two lamps.").unwrap();
        program.exp_string(PROMPT).unwrap();
        program.send_line("And bells?").unwrap();
        program.exp_string("One bell.").unwrap();
        program.exp_string(PROMPT).unwrap();
        // Twice up: the first question again, which the scene does not know a second time.
        program.send(&format!("{up}{up}")).unwrap();
        program.flush().unwrap();
        program.exp_string("How many lamps?").unwrap();
        // Ctrl+U empties the line.
        program.send_line("\x15/exit").unwrap();
        program.exp_eof().unwrap();
        assert_eq!(stage.asked(), ["How many lamps?", "And bells?"]);
        let history =
            std::fs::read_to_string(stage.rooms.path().join(".loopwright_history")).unwrap();
        assert!(history.contains("And bells?"), "{history}");
    }

    #[test]
    fn ctrl_c_throws_the_line_away_and_ctrl_d_ends() {
        let stage = Stage::with(TWO_QUESTIONS);
        let mut program = terminal(&stage);
        program.send("never sent").unwrap();
        program.flush().unwrap();
        program.exp_char('s').unwrap();
        program.send_control('c').unwrap();
        program.exp_string(PROMPT).unwrap();
        program.send_control('d').unwrap();
        program.exp_eof().unwrap();
        assert_eq!(stage.asked(), Vec::<String>::new());
    }

    #[test]
    fn on_a_terminal_a_failed_line_is_not_the_end() {
        let stage = Stage::with(TWO_QUESTIONS);
        let mut program = terminal(&stage);
        program.send_line("This the scene does not know.").unwrap();
        program.exp_string("the model answered 400").unwrap();
        program.exp_string(PROMPT).unwrap();
        program.send_line("/exit").unwrap();
        program.exp_eof().unwrap();
    }
}
