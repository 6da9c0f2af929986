//! Random conversations with the real program: a model that calls at random, some of whose
//! summaries are none, whose tokens are denser than we guess and whose window is smaller than we
//! think; Ctrl+C, kills and torn files in between. Whatever is sent is valid for the strict model
//! and within the window, the user's first line is in it word for word, and no line ends in an error.

use std::collections::HashMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use mock_server::scene::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What the files hold, again and again.
const SCRIPTS: [&str; 6] = [
    "2031-04-07 23:11:02 error[E0308]: mismatched types in src/watch.rs:118\n",
    "灯台の明かりは夜明けまで燃えていた。",
    "Маяк горел до утра, и смотритель записал это.\n",
    "🕯️🌊🧭 ",
    "\u{1b}[31mred\u{1b}[0m \"quoted\" \\ back\r\n",
    "x",
];

const FIRST: &str = "Why was the lamp dark?  Word for word.";

#[derive(Debug, Clone)]
struct Call {
    tool: usize,
    script: usize,
    size: usize,
}

/// What the model answers to a request.
#[derive(Debug, Clone)]
enum Answer {
    Calls(Vec<Call>),
    Words(usize, usize),
    /// Ctrl+C is pressed while it answers, or the program is killed.
    Interrupted(Vec<Call>),
    Killed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Summary {
    Short,
    Long,
    Empty,
    Cut,
    Call,
}

/// What it says of the tokens that it has read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Report {
    True,
    Nothing,
    One,
}

/// The program runs once, with some lines of so many bytes, and then loses so many of its file.
#[derive(Debug, Clone)]
struct Run {
    lines: Vec<(usize, usize)>,
    summaries: Summary,
    lost: usize,
    /// Seconds until the next run.
    pause: u64,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let size = prop_oneof![3 => 0..300usize, 4 => 300..12_000usize, 2 => 12_000..110_000usize];
    let tool =
        prop_oneof![3 => Just(0usize), 2 => Just(1), 2 => Just(2), 2 => Just(3), 1 => 4..6usize];
    let call = (tool, 0..SCRIPTS.len(), size);
    let call = call.prop_map(|(tool, script, size)| Call { tool, script, size });
    prop_oneof![8 => prop::collection::vec(call.clone(), 1..6), 1 => prop::collection::vec(call, 20..40)]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        16 => calls().prop_map(Answer::Calls),
        5 => (0..SCRIPTS.len(), 1..3_000usize).prop_map(|(script, size)| Answer::Words(script, size)),
        1 => calls().prop_map(Answer::Interrupted),
        1 => Just(Answer::Killed),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let size = prop_oneof![6 => 1..1_500usize, 1 => 1_500..4_000usize];
    let lines = prop::collection::vec((0..SCRIPTS.len(), size), 1..4);
    let summaries = prop_oneof![
        4 => Just(Summary::Short), 1 => Just(Summary::Long), 1 => Just(Summary::Empty),
        1 => Just(Summary::Cut), 1 => Just(Summary::Call)
    ];
    let pause = prop_oneof![3 => Just(0), 1 => 300..900u64];
    (lines, summaries, prop_oneof![Just(0), 1..200usize], pause)
        .prop_map(|(lines, summaries, lost, pause)| Run { lines, summaries, lost, pause })
}

fn text(script: usize, size: usize) -> String {
    let mut text = SCRIPTS[script].repeat(size / SCRIPTS[script].len() + 1);
    let end = (0..=size).rev().find(|end| text.is_char_boundary(*end)).unwrap();
    text.truncate(end);
    text
}

/// The model's side of the conversation.
struct Model {
    answers: Vec<Answer>,
    summaries: Summary,
    report: Report,
    /// Tokens that it really takes, and tenths of a byte that really make one.
    window: u64,
    density: u64,
    /// No request may be refused for its length: the program knows the window, and guesses enough.
    must_fit: bool,
    program: Option<Arc<Mutex<Child>>>,
    ids: usize,
    /// What each result was when it was first sent, whole.
    originals: HashMap<String, String>,
    faults: Vec<String>,
    sent: usize,
    refused: usize,
    summed_up: usize,
    has_ended: bool,
}

impl Model {
    /// Status and body of the answer to a request.
    fn answer(&mut self, request: &Value) -> (u16, String) {
        let messages = &request["messages"];
        if let Err(fault) = self.judge(request) {
            self.faults.push(fault.clone());
            return (400, json!({ "error": { "type": "invalid", "message": fault } }).to_string());
        }
        let tokens = 2_000 + messages.to_string().len() as u64 * 10 / self.density;
        if tokens > self.window {
            self.refused += 1;
            if self.must_fit {
                self.faults.push(format!("{tokens} tokens in a window of {}", self.window));
            }
            return (400, too_long(tokens, self.window, self.refused));
        }
        let last = messages.as_array().and_then(|messages| messages.last()?["content"].as_array());
        let last = last.and_then(|content| content.last()?["text"].as_str()).unwrap_or_default();
        if last.starts_with("The context window is nearly full.") {
            self.summed_up += 1;
            return (200, self.summary(tokens));
        }
        self.sent += 1;
        let answer = self.answers.pop().unwrap_or(Answer::Words(0, 30));
        let blocks = match answer {
            Answer::Calls(calls) => self.blocks(&calls),
            Answer::Interrupted(calls) => {
                self.interrupt();
                self.blocks(&calls)
            }
            Answer::Words(script, size) => vec![words(script, size)],
            Answer::Killed => {
                let program = self.program.as_ref().unwrap();
                program.lock().unwrap().kill().unwrap();
                Vec::new()
            }
        };
        (200, self.reply(&blocks, "end_turn", tokens))
    }

    /// What is wrong with a request.
    fn judge(&mut self, request: &Value) -> Result<(), String> {
        let limits = Limits { context_window: u64::MAX, max_output: 64_000, cache_minimum: 1_024 };
        mock_server::judge(request, &limits)?;
        let first = &request["messages"][0]["content"];
        if !first.as_array().is_some_and(|blocks| blocks.iter().any(|it| it["text"] == FIRST)) {
            return Err(format!("the first line is gone: {first}"));
        }
        let messages = request["messages"].as_array().unwrap();
        for block in messages.iter().filter_map(|message| message["content"].as_array()).flatten() {
            if let (Some(id), Some(content)) =
                (block["tool_use_id"].as_str(), block["content"].as_str())
            {
                self.look_at(id, content)?;
            }
        }
        Ok(())
    }

    /// A result is whole, or names a file that has the rest, or is said to be gone.
    fn look_at(&mut self, id: &str, content: &str) -> Result<(), String> {
        if content.contains("bytes snipped; call again")
            || content.starts_with("error: interrupted")
        {
            return Ok(());
        }
        let mut whole = content.to_string();
        while let Some((_, rest)) = whole.split_once("; they are in ") {
            let path = rest.split_once("]\n").map_or(rest, |(path, _)| path);
            whole = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        }
        let original = self.originals.entry(id.to_string()).or_insert(whole.clone());
        if *original == whole {
            return Ok(());
        }
        Err(format!("the result of {id} was {} bytes, and is {}", original.len(), whole.len()))
    }

    fn interrupt(&self) {
        let id = self.program.as_ref().unwrap().lock().unwrap().id().to_string();
        if cfg!(unix) {
            assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        }
    }

    fn blocks(&mut self, calls: &[Call]) -> Vec<Value> {
        let mut blocks = vec![words(0, 20)];
        for Call { tool, script, size } in calls {
            self.ids += 1;
            let file = format!("{script}.txt");
            let (name, input) = match tool {
                0 => ("read_file", json!({ "path": file, "offset": 2, "limit": size / 40 + 1 })),
                1 => ("run_shell", json!({ "command": format!("head -c {size} {file}") })),
                2 => {
                    ("write_file", json!({ "path": "out.txt", "content": text(*script, size / 8) }))
                }
                3 => ("grep_search", json!({ "pattern": ".", "path": file })),
                4 => ("list_files", json!({})),
                _ => ("lamp", json!({})),
            };
            let id = format!("toolu_{:05}", self.ids);
            blocks.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
        }
        blocks
    }

    fn summary(&mut self, tokens: u64) -> String {
        let (blocks, stop) = match self.summaries {
            Summary::Short => (vec![words(0, 600)], "end_turn"),
            Summary::Long => (vec![words(1, self.window as usize * 2)], "end_turn"),
            Summary::Empty => (vec![json!({ "type": "text", "text": " \n" })], "end_turn"),
            Summary::Cut => (vec![words(0, 300)], "max_tokens"),
            Summary::Call => (self.blocks(&[Call { tool: 4, script: 0, size: 0 }]), "tool_use"),
        };
        self.reply(&blocks, stop, tokens)
    }

    /// The events of a reply.
    fn reply(&self, blocks: &[Value], stop: &str, tokens: u64) -> String {
        let tokens = match self.report {
            Report::True => tokens,
            Report::Nothing => 0,
            Report::One => 1,
        };
        let usage = json!({ "input_tokens": tokens, "output_tokens": 1 });
        let mut events =
            vec![json!({ "type": "message_start", "message": { "content": [], "usage": usage } })];
        for (index, block) in blocks.iter().enumerate() {
            let mut empty = block.clone();
            let delta = match block["type"].as_str() {
                Some("text") => {
                    empty["text"] = json!("");
                    json!({ "type": "text_delta", "text": block["text"] })
                }
                _ => {
                    empty["input"] = json!({});
                    let input = block["input"].to_string();
                    json!({ "type": "input_json_delta", "partial_json": input })
                }
            };
            events.push(
                json!({ "type": "content_block_start", "index": index, "content_block": empty }),
            );
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        events.push(
            json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": usage }),
        );
        events.push(json!({ "type": "message_stop" }));
        let line = |event: &Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
        };
        events.iter().map(line).collect()
    }
}

fn words(script: usize, size: usize) -> Value {
    json!({ "type": "text", "text": format!("> {}", text(script, size)) })
}

/// The API has two ways to say it.
fn too_long(tokens: u64, window: u64, time: usize) -> String {
    let message = match time % 2 {
        0 => format!("prompt is too long: {tokens} tokens > {window} maximum"),
        _ => format!(
            "input length and `max_tokens` exceed context limit: {tokens} + 9 > {window}, decrease \
             input length or `max_tokens` and try again"
        ),
    };
    json!({ "error": { "type": "invalid_request_error", "message": message } }).to_string()
}

/// Answers each request on a connection of its own.
fn serve(listener: &TcpListener, model: &Mutex<Model>) {
    for connection in listener.incoming() {
        let mut connection = connection.unwrap();
        if model.lock().unwrap().has_ended {
            return;
        }
        // A program that was stopped may have asked half a question.
        let Some(request) = request_on(&mut connection) else { continue };
        let (status, body) = model.lock().unwrap().answer(&request);
        let head = format!(
            "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        // Nobody may listen any more.
        let _ = connection.write_all((head + &body).as_bytes());
    }
}

fn request_on(connection: &mut TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(connection);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).ok()? > 0 && line != "\r\n" {
        let (name, value) = line.trim().split_once(": ").unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

struct World {
    rooms: TempDir,
    model: Arc<Mutex<Model>>,
    address: std::net::SocketAddr,
    /// The window that the program supposes.
    supposed: u64,
    seconds: u64,
    /// What the program said last.
    said: String,
}

impl World {
    fn new(supposed: u64, window: u64, density: u64, report: Report, answers: Vec<Answer>) -> Self {
        let rooms = tempfile::tempdir().unwrap();
        std::fs::create_dir(rooms.path().join(".claude")).unwrap();
        let settings = r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#;
        std::fs::write(rooms.path().join(".claude/settings.json"), settings).unwrap();
        for script in 0..SCRIPTS.len() {
            std::fs::write(rooms.path().join(format!("{script}.txt")), text(script, 110_000))
                .unwrap();
        }
        // A guess of three bytes a token, and a third of the window for a reply.
        let must_fit = supposed <= window && density >= 20 && report == Report::True;
        let model = Arc::new(Mutex::new(Model {
            answers,
            summaries: Summary::Short,
            report,
            window,
            density,
            must_fit,
            program: None,
            ids: 0,
            originals: HashMap::new(),
            faults: Vec::new(),
            sent: 0,
            refused: 0,
            summed_up: 0,
            has_ended: false,
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = model.clone();
        std::thread::spawn(move || serve(&listener, &served));
        Self { rooms, model, address, supposed, seconds: 0, said: String::new() }
    }

    /// Lets the program run with these lines to its end.
    fn run(&mut self, lines: &[String], is_first: bool) {
        std::fs::write(self.rooms.path().join("clock"), self.seconds.to_string()).unwrap();
        let mut command = program_in(self.rooms.path(), &format!("http://{}", self.address));
        command.env("LOOPWRIGHT_WINDOW", self.supposed.to_string());
        command.env("LESSON_CLOCK_FILE", self.rooms.path().join("clock"));
        command.args((!is_first).then_some("--resume"));
        let mut child = command.spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let child = Arc::new(Mutex::new(child));
        self.model.lock().unwrap().program = Some(child.clone());
        // One that is killed takes no more.
        let _ = input.write_all((lines.join("\n") + "\n").as_bytes());
        drop(input);
        let mut said = Vec::new();
        output.read_to_end(&mut said).unwrap();
        self.said = String::from_utf8_lossy(&said).into_owned();
        let status = child.lock().unwrap().wait().unwrap();
        let was_killed = status.code().is_none() || cfg!(windows);
        assert!(status.success() || was_killed, "{status}: {}", self.end());
        assert_eq!(self.model.lock().unwrap().faults, [""; 0], "{}", self.end());
    }

    fn end(&self) -> String {
        let lines: Vec<&str> = self.said.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// The end of the newest session's last line is lost.
    fn lose(&self, lost: usize) {
        let folder = std::fs::read_dir(self.rooms.path().join(".loopwright/projects")).unwrap();
        let folder = folder.map(|entry| entry.unwrap().path()).next().unwrap();
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let newest = files.max().unwrap();
        let bytes = std::fs::read(&newest).unwrap();
        // The first line of the user is what everything is checked by.
        let first = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        let left = bytes.len().saturating_sub(lost).max(first);
        std::fs::write(&newest, &bytes[..left]).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        drop(TcpStream::connect(self.address));
    }
}

/// Some seconds' worth; `CASES=2000` for a long run.
fn cases() -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    let none = None;
    ProptestConfig { cases, max_shrink_iters: 40, failure_persistence: none, ..Default::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn whatever_happens_every_request_is_valid_and_fits_and_the_work_goes_on(
        supposed in 20_000..60_000u64,
        shrinks in prop_oneof![3 => Just(100u64), 1 => 50..100u64],
        density in prop_oneof![1 => 12..20u64, 4 => 20..60u64],
        report in prop_oneof![6 => Just(Report::True), 1 => Just(Report::Nothing), 1 => Just(Report::One)],
        answers in prop::collection::vec(answer(), 4..24),
        runs in prop::collection::vec(run(), 1..4),
    ) {
        let mut world = World::new(supposed, supposed * shrinks / 100, density, report, answers);
        for (number, run) in runs.iter().enumerate() {
            world.model.lock().unwrap().summaries = run.summaries;
            let mut lines: Vec<String> = run.lines.iter().map(|(script, size)| {
                format!("> {}", text(*script, *size).replace(['\n', '\r'], " "))
            }).collect();
            if number == 0 {
                lines.insert(0, FIRST.to_string());
            }
            world.run(&lines, number == 0);
            world.lose(run.lost);
            world.seconds += run.pause;
        }
    }
}

/// The property above would hold for a history that is never compacted: this one is, many times.
#[test]
fn a_long_session_is_compacted_again_and_again() {
    let call = |tool, script, size| Call { tool, script, size };
    let answers = (0..40).map(|at| {
        Answer::Calls(vec![call(1, at % 6, 3_000 + at * 37 % 9_000), call(0, 0, 40_000)])
    });
    let mut world = World::new(30_000, 30_000, 30, Report::True, answers.collect());
    world.run(&[FIRST.to_string()], true);
    let model = world.model.lock().unwrap();
    assert_eq!((model.sent, model.refused), (41, 0));
    assert!(model.summed_up > 3, "{} compactions", model.summed_up);
}
