//! What a scene is: the story that the scripted model plays, read from a TOML file.
//!
//! These are the shapes after reading; `read.rs` reads them and refuses, with file and line, what
//! it does not know. The crate's front page documents every key with an example.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

/// One story: what the user says, what the model says, and what must be true afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// The file it was read from, for messages.
    pub path: PathBuf,
    pub title: String,
    /// The name of the verify rule that must fail when the previous step plays this scene.
    /// `None` only where there is no previous step.
    pub proves: Option<String>,
    /// Arguments for the program at its first start.
    pub args: Vec<String>,
    /// How long the whole scene may take. Default 60 s.
    pub time_limit: Duration,
    /// Wait between two streamed events. Default 0.
    pub pace: Duration,
    pub limits: Limits,
    /// Values drawn anew for each run, in the file's order: name and kind.
    pub random: Vec<(String, Draw)>,
    /// Files of the workspace (`~/…`: of the home) in which `<<name>>` is filled in.
    pub fill: Vec<String>,
    /// The conversations; `main` is the first.
    pub parts: Vec<Part>,
    pub verify: Vec<Rule>,
    /// What a learner may try next, one line each.
    pub next: Vec<String>,
}

/// What the played model can take (`[model]` in the file).
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Tokens of input and output together. Default 200,000.
    pub context_window: u64,
    /// Largest `max_tokens`. Default 64,000.
    pub max_output: u64,
    /// Fewest tokens of a prefix that is cached. Default 1,024.
    pub cache_minimum: u64,
}

/// How a random value is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Draw {
    /// `int:A..B`: A or more, less than B.
    Int(i64, i64),
    /// `hex:N`: N hexadecimal digits.
    Hex(usize),
    /// `word`: a short lower-case word.
    Word,
    /// `one of: a | b | c`.
    OneOf(Vec<String>),
}

/// One conversation: the main one, a summariser, a judge, a sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: String,
    /// Text that the request's system prompt or messages must hold to belong here
    /// (`[parts] NAME = "text"`). `None` for `main`, which takes what no other part takes.
    pub when: Option<String>,
    pub lines: Vec<Line>,
}

/// A line of a conversation, with its line number in the file for messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub at: usize,
    pub kind: LineKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LineKind {
    /// `user = "…"`: typed into the program, and sent by it to the model.
    User(String),
    /// `answer = "y"`: the answer to the next question that ends in `[y/n/a] `.
    Answer(String),
    /// `types = "/status"`: typed into the program, which handles it without the model. The next
    /// line follows when `until` stands in the output after it.
    Types { text: String, until: String },
    /// What the model says.
    Reply(Box<Reply>),
}

/// A model's reply, with what its request must hold and what happens around it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub speech: Speech,
    /// Said instead when an expectation of this line was missed: a result of the calls before it
    /// that is not as it should be, or a part of `expect`.
    pub otherwise: Option<Speech>,
    /// What the request must hold.
    pub expect: Expect,
    /// Regular expressions run over the request's system prompt and messages (the last match
    /// counts); the first group, or the whole match, is the value.
    pub capture: Vec<(String, String)>,
    /// What the stage does when this request has come for the first time, before its reply.
    pub stage: Vec<StageAction>,
    pub fault: Fault,
    /// This reply's own pace.
    pub pace: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Speech {
    pub thinking: Option<String>,
    pub say: Option<String>,
    pub calls: Vec<Call>,
    /// The stop reason, where it is not `tool_use` (with calls) or `end_turn` (without).
    pub stop: Option<String>,
}

/// One tool call, and what its result must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub at: usize,
    pub tool: String,
    pub input: Map<String, Value>,
    /// Texts the result must hold.
    pub returns: Vec<String>,
    /// Texts the result must not hold.
    pub lacks: Vec<String>,
    /// Whether the result must be marked as an error; `None`: either.
    pub error: Option<bool>,
    /// Regular expressions run over the result: name and pattern, the first group or the whole match.
    pub capture: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expect {
    /// Texts that the system prompt or messages must hold.
    pub holds: Vec<String>,
    pub lacks: Vec<String>,
    /// Names of tools that must be offered.
    pub tools: Vec<String>,
}

/// What the stage does from outside the program.
#[derive(Debug, Clone, PartialEq)]
pub enum StageAction {
    /// A file of the workspace gets this text.
    Write {
        path: String,
        text: String,
    },
    Remove {
        path: String,
    },
    /// The program is killed.
    Kill,
    /// The last `bytes` bytes of the one file that the pattern names are cut off.
    Cut {
        path: String,
        bytes: u64,
    },
    /// The program is started again with these arguments.
    Restart(Vec<String>),
    /// Ctrl+C, at once.
    Interrupt,
    /// Ctrl+C as soon as this text stands on the screen.
    InterruptAt(String),
    /// The program's clock is moved on.
    Clock(Duration),
}

/// What goes wrong on the wire.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fault {
    /// HTTP statuses of the first attempts, in order.
    pub status: Vec<u16>,
    /// Sent as `retry-after-ms` with each of `status`.
    pub retry_after: Option<Duration>,
    /// Nothing is sent for this long, after this many events.
    pub stall: Option<(usize, Duration)>,
    /// Byte offsets in the body at which a network chunk ends, through a character if need be.
    pub cut: Vec<usize>,
    /// The connection is dropped after this many bytes of the body.
    pub drop_at: Option<usize>,
    /// The tool arguments end in the middle.
    pub malformed: bool,
    /// An `error` event of this type comes before the message ends.
    pub error_event: Option<String>,
    /// How many attempts `stall`, `drop_at` and `error_event` strike. Default 1.
    pub attempts: usize,
}

/// One thing that must be true when the story has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub at: usize,
    pub name: String,
    /// What the screen says when it holds; made from the rule where the scene gives none.
    pub says: Option<String>,
    pub check: Check,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// What the program wrote after the last request had come.
    Answer(Text),
    /// How many requests the main part received.
    Requests { at_least: u64, at_most: u64 },
    /// A file of the workspace, or of the home (`~/…`).
    File { path: String, file: FileCheck },
    /// A command run in the workspace afterwards: words, not a shell line.
    Command { words: Vec<String>, exit: i32, output: Text },
    /// Everything the program wrote. Left out where another program than ours is judged.
    Screen(Text),
    /// The bodies of requests that the model received.
    Request { which: Which, part: String, text: Text },
    /// Input tokens that requests read from the cache.
    CacheRead { which: Which, part: String, at_least: u64, at_most: u64 },
    /// Input tokens of requests, whether cached or not.
    Tokens { which: Which, part: String, at_least: u64, at_most: u64 },
    /// Every request of this part begins with the one before it: the same tools, the same system
    /// prompt, and its messages first. (Cache marks are no part of that.)
    Prefix { part: String },
    /// Events in this order; see `Moment`.
    Order(Vec<Moment>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum FileCheck {
    Text(Text),
    Equals(String),
    Absent,
    /// As it was at the start, byte for byte.
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Text {
    pub holds: Vec<String>,
    pub lacks: Vec<String>,
    /// A regular expression.
    pub matches: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Which {
    /// Counted from 1.
    Number(usize),
    Last,
    Any,
    Every,
}

/// A moment of the run.
#[derive(Debug, Clone, PartialEq)]
pub enum Moment {
    /// `request N`: the Nth request of the main part has come.
    Request(usize),
    /// `reply N`: its reply has gone out whole.
    Reply(usize),
    /// `screen TEXT`: the text stands on the screen.
    Screen(String),
}
