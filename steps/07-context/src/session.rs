//! What outlives the process: the conversation on disk, and what it has cost.
//!
//! Each session is a file of JSON lines below `~/.loopwright/projects/`, in a folder of its project.
//! A line is only ever added, and it is handed to the system before the next request goes out, so a
//! process that is killed loses nothing that the model has seen. (When the machine itself dies, the
//! last lines may be lost: waiting for the disk at each message is left out on purpose.)
//!
//! Reading back trusts nothing. A line that is torn or makes no sense is left out and said, and
//! what is then missing around it is mended in memory: the API refuses a history in which a call
//! has no result. The file keeps what really happened.
//!
//! Left out on purpose: two processes in one session (each start makes a file of its own), and
//! deleting old sessions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::message::{Block, Message, Role};
use crate::model::Usage;
use crate::prompt;

/// One line of the file. A later version may write kinds that we do not know; we skip them.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    Message(Message),
    /// From here on the conversation is this one. What it was before still stands above.
    Compacted {
        messages: Vec<Message>,
    },
    Usage {
        model: String,
        usage: Usage,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Default)]
pub struct Session {
    pub messages: Vec<Message>,
    /// What each model was sent and has written, since the session began.
    pub usage: BTreeMap<String, Usage>,
    /// The project's folder of sessions.
    folder: PathBuf,
    /// Made when the first line is written, so that a look at `/help` leaves no empty session.
    file: Option<(PathBuf, File)>,
    /// The file does not end in a line feed: the next line must not be glued to its last.
    is_torn: bool,
}

impl Session {
    /// A new session of the project in `project`.
    pub fn start(home: &Path, project: &Path) -> Self {
        Self { folder: project_folder(home, project), ..Self::default() }
    }

    /// An earlier session of the project: the one whose name begins so, else the one begun last.
    /// Also gives what was wrong with it, for the user.
    pub fn resume(home: &Path, project: &Path, name: Option<&str>) -> Result<(Self, Vec<String>)> {
        let mut session = Self::start(home, project);
        let path = find(&session.folder, name)?;
        let cannot = || format!("the session {} cannot be opened", path.display());
        let bytes = fs::read(&path).with_context(cannot)?;
        let file = File::options().append(true).open(&path).with_context(cannot)?;
        session.is_torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
        let mut faults = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                Ok(Line::Message(message)) => session.messages.push(message),
                Ok(Line::Compacted { messages }) => session.messages = messages,
                Ok(Line::Usage { model, usage }) => session.count(&model, &usage),
                Ok(Line::Unknown) => {}
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(error) => {
                    let place = format!("{}:{}", path.display(), number + 1);
                    faults.push(format!("{place}: unreadable and so left out: {error}"));
                }
            }
        }
        session.messages = mend(session.messages);
        let blocks = session.messages.iter().flat_map(|message| &message.content);
        match blocks.filter(|block| is_interrupted(block)).count() {
            0 => {}
            open => faults.push(format!("calls without a result: {open}; the model is told so")),
        }
        session.file = Some((path, file));
        Ok((session, faults))
    }

    /// Where it is written; nowhere before the first message.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    /// Adds a message, on disk first. To be called before the request that sends it.
    pub fn push(&mut self, message: Message) -> Result<()> {
        self.write(&Line::Message(message.clone()))?;
        self.messages.push(message);
        Ok(())
    }

    /// The conversation has become shorter. The file keeps all that went before.
    pub fn compacted(&mut self) -> Result<()> {
        self.write(&Line::Compacted { messages: self.messages.clone() })
    }

    /// Adds the tokens of one call.
    pub fn used(&mut self, model: &str, usage: Usage) -> Result<()> {
        self.count(model, &usage);
        self.write(&Line::Usage { model: model.to_string(), usage })
    }

    fn count(&mut self, model: &str, usage: &Usage) {
        self.usage.entry(model.to_string()).or_default().add(usage);
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let (path, file) = match &mut self.file {
            Some(open) => open,
            none => none.insert(create_in(&self.folder, SystemTime::now())?),
        };
        let start = if self.is_torn { "\n" } else { "" };
        let text = format!("{start}{}\n", serde_json::to_string(line)?);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        self.is_torn = written.is_err(); // half of it may stand there, on a full disk for instance
        written.with_context(|| format!("the session {} cannot be written", path.display()))
    }

    /// What it has cost so far, in US dollars; nothing where a model's price is not known.
    pub fn cost(&self) -> Option<f64> {
        let mut all = 0.0;
        for (model, usage) in &self.usage {
            all += cost(model, usage)?;
        }
        Some(all)
    }
}

/// `~/.loopwright/projects/lantern-4af1…`: the name for people, the hash of the whole path because
/// many folders are called `app`.
fn project_folder(home: &Path, project: &Path) -> PathBuf {
    let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_path_buf());
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    // FNV-1a. The standard library's hasher may change with the compiler, and the folder must not.
    let hash = project.to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    home.join(".loopwright").join("projects").join(format!("{name}-{hash:016x}"))
}

/// A file named after this moment, so that names in order are sessions in order.
fn create_in(folder: &Path, mut now: SystemTime) -> Result<(PathBuf, File)> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    loop {
        let path = folder.join(format!("{}.jsonl", name_at(now)));
        match File::options().append(true).create_new(true).open(&path) {
            // Someone else began in the same moment.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                now += Duration::from_millis(1);
            }
            made => {
                let file = made.with_context(|| format!("cannot make {}", path.display()))?;
                return Ok((path, file));
            }
        }
    }
}

/// `2026-11-30-194118-042`, in UTC.
fn name_at(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % 86_400;
    let time = (second / 3600) * 10_000 + (second / 60 % 60) * 100 + second % 60;
    format!("{}-{time:06}-{:03}", prompt::date(now), since.subsec_millis())
}

/// The newest session in the folder, or the one whose name begins with `name`.
fn find(folder: &Path, name: Option<&str>) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".jsonl")?.to_string())).collect();
    names.sort();
    let (wanted, known) = (name.unwrap_or_default(), names.join(", "));
    names.retain(|name| name.starts_with(wanted));
    match names.as_slice() {
        [.., newest] if name.is_none() => Ok(folder.join(format!("{newest}.jsonl"))),
        [one] => Ok(folder.join(format!("{one}.jsonl"))),
        _ if known.is_empty() => bail!("this folder has no session to resume: start a new one"),
        [] => bail!("no session of this folder begins with {wanted:?}; there are: {known}"),
        _ => bail!("more than one session of this folder begins with {wanted:?}: {known}"),
    }
}

/// What stands for a result that never came.
const INTERRUPTED: &str = "error: interrupted before there was a result. What the call should do \
    may be done, half done or not done: look before you call again.";

/// Makes a history that the strict API takes, out of whatever lines could be read: roles in turn,
/// each call answered once in the next message, no result without its call, nothing empty. Leaves
/// a history alone that is so already.
pub fn mend(messages: Vec<Message>) -> Vec<Message> {
    let (mut mended, mut calls, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
    let end = Message { role: Role::Assistant, content: Vec::new() };
    for Message { role, mut content } in messages.into_iter().chain([end]) {
        content.retain(|block| is_sound(role, block, &mut ids));
        if role == Role::User {
            content = answered(std::mem::take(&mut calls), content);
        } else {
            add(&mut mended, Role::User, answered(calls, Vec::new()));
            // A text behind a call would hide the call from its result.
            content.sort_by_key(|block| matches!(block, Block::ToolUse { .. }));
            calls = content.iter().filter_map(call_id).collect();
        }
        add(&mut mended, role, content);
    }
    if mended.first().is_some_and(|first| first.role == Role::Assistant) {
        mended.insert(0, Message::from_user("(The beginning of this conversation is lost.)"));
    }
    mended
}

/// Adds to the last message where that has the same role.
fn add(messages: &mut Vec<Message>, role: Role, content: Vec<Block>) {
    match messages.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => messages.push(Message { role, content }),
    }
}

/// Whether a block may stand in a message of that role. Remembers the ids of calls.
fn is_sound(role: Role, block: &Block, ids: &mut HashSet<String>) -> bool {
    match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::ToolUse { id, input, .. } => {
            role == Role::Assistant && input.is_object() && ids.insert(id.clone())
        }
        Block::ToolResult { .. } => role == Role::User,
        Block::Other(_) => !block.is_damaged(),
    }
}

fn call_id(block: &Block) -> Option<String> {
    if let Block::ToolUse { id, .. } = block { Some(id.clone()) } else { None }
}

fn is_interrupted(block: &Block) -> bool {
    matches!(block, Block::ToolResult { content, .. } if content == INTERRUPTED)
}

/// One result for each call, then the rest of `content`; all other results are dropped.
fn answered(calls: Vec<String>, mut content: Vec<Block>) -> Vec<Block> {
    let mut results = HashMap::new();
    content.retain(|block| match block {
        Block::ToolResult { tool_use_id, .. } => {
            results.entry(tool_use_id.clone()).or_insert(block.clone());
            false
        }
        _ => true,
    });
    let interrupted = |id| {
        let content = INTERRUPTED.to_string();
        Block::ToolResult { tool_use_id: id, content, is_error: true }
    };
    let answers =
        calls.into_iter().map(|id| results.remove(&id).unwrap_or_else(|| interrupted(id)));
    answers.chain(content).collect()
}

/// US dollars for a million tokens: input, written to the cache (for five minutes), read from the
/// cache, output. From <https://platform.claude.com/docs/en/about-claude/pricing>; prices change,
/// so look there before you rely on a figure.
const PRICES: &[(&str, [f64; 4])] = &[
    ("claude-opus-4-8", [5.0, 6.25, 0.5, 25.0]),
    ("claude-opus-4-7", [5.0, 6.25, 0.5, 25.0]),
    ("claude-opus-4-6", [5.0, 6.25, 0.5, 25.0]),
    ("claude-opus-4-5", [5.0, 6.25, 0.5, 25.0]),
    ("claude-sonnet-4-6", [3.0, 3.75, 0.3, 15.0]),
    ("claude-sonnet-4-5", [3.0, 3.75, 0.3, 15.0]),
    ("claude-haiku-4-5", [1.0, 1.25, 0.1, 5.0]),
];

/// What these tokens cost, in US dollars; nothing where the model's price is not known. A name may
/// end in a date. A name that only begins like a known one is another model, at another price.
pub fn cost(model: &str, usage: &Usage) -> Option<f64> {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_model = |(name, _): &&(&str, _)| {
        model == *name
            || model.strip_prefix(name).and_then(|end| end.strip_prefix('-')).is_some_and(is_date)
    };
    let (_, [input, write, read, output]) = PRICES.iter().find(is_model)?;
    let millionths = usage.input_tokens as f64 * input
        + usage.cache_creation_input_tokens as f64 * write
        + usage.cache_read_input_tokens as f64 * read
        + usage.output_tokens as f64 * output;
    Some(millionths / 1e6)
}

/// A cost for people.
pub fn dollars(cost: Option<f64>) -> String {
    cost.map_or("unknown".to_string(), |cost| format!("${cost:.4}"))
}

#[cfg(test)]
#[path = "../tests/session.rs"]
mod tests;
