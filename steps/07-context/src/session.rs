//! What outlives the process: the conversation on disk, and what it has cost.
//!
//! Each session is a file of JSON lines below `~/.loopwright/projects/`, in a folder of its project.
//! A line is only ever added, and it is handed to the system before the next request goes out, so a
//! process that is killed loses nothing that the model has seen. (When the machine itself dies, the
//! last lines may be lost: waiting for the disk at each message is left out on purpose.)
//!
//! Reading back trusts nothing. A line that is torn or makes no sense is left out and said. The API
//! refuses a history in which a call has no result, or an id stands twice, and would refuse it in
//! every request after that. So each request is made of the history as `mend` puts it right, whether
//! a line is missing, a disk was full or a model erred. The file keeps what really happened.
//!
//! Left out on purpose: two processes in one session (each start makes a file of its own), deleting
//! old sessions, and two projects whose paths differ in signs alone (`a/b`, `a-b`).

use std::collections::HashSet;
use std::fs::{self, DirEntry, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::message::{Block, Message, Role, plain};
use crate::model::Usage;
use crate::prompt;

/// One line of the file.
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
}

#[derive(Default)]
pub struct Session {
    pub messages: Vec<Message>,
    /// The tokens of all calls since the session began.
    pub usage: Usage,
    /// What they cost, in US dollars; nothing once a model was used whose price is not known.
    pub cost: Option<f64>,
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
        let folder = project_folder(home, project);
        Self { cost: Some(0.0), folder, ..Self::default() }
    }

    /// An earlier session of the project: the one of that name, else the newest.
    /// Also says which it is, and what was wrong with it, for the user.
    pub fn resume(home: &Path, project: &Path, name: Option<&str>) -> Result<(Self, Vec<String>)> {
        let mut session = Self::start(home, project);
        let names = names_in(&session.folder);
        let newest = names.last().context("this folder has no session that could go on")?;
        let path = session.folder.join(name.unwrap_or(newest)).with_extension("jsonl");
        let cannot = || format!("cannot read {}; there are {}", path.display(), names.join(", "));
        let bytes = fs::read(&path).with_context(cannot)?;
        let file = File::options().append(true).open(&path).with_context(cannot)?;
        session.is_torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
        let mut notes = vec![format!("session {} goes on", name.unwrap_or(newest))];
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                Ok(Line::Message(message)) => session.messages.push(message),
                Ok(Line::Compacted { messages }) => session.messages = messages,
                Ok(Line::Usage { model, usage }) => session.count(&model, &usage),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(error) => {
                    let line = number + 1;
                    notes.push(format!("its line {line} is unreadable and left out: {error}"));
                }
            }
        }
        let mended = mend(&session.messages);
        if mended != session.messages {
            notes.push("mended: a call without its result counts as interrupted".to_string());
        }
        session.messages = mended;
        session.file = Some((path, file));
        Ok((session, notes))
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
        self.usage.add(usage);
        self.cost = self.cost.zip(cost(model, usage)).map(|(so_far, more)| so_far + more);
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
}

/// `~/.loopwright/projects/-home-ines-lantern`: the whole path, since many folders are called `app`.
fn project_folder(home: &Path, project: &Path) -> PathBuf {
    let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    let name: String = project.to_string_lossy().chars().map(plain).collect();
    home.join(".loopwright").join("projects").join(name)
}

/// A file named after this moment, so that names in order are sessions in order, and after this
/// process, since another may begin in the same moment.
fn create_in(folder: &Path, now: SystemTime) -> Result<(PathBuf, File)> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % 86_400;
    let time = (second / 3600) * 10_000 + (second / 60 % 60) * 100 + second % 60;
    let (day, part, process) = (prompt::date(now), since.subsec_micros(), std::process::id());
    let path = folder.join(format!("{day}-{time:06}-{part:06}-{process}.jsonl"));
    let cannot = || format!("the session {} cannot be made", path.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    let file = File::options().append(true).create_new(true).open(&path).with_context(cannot)?;
    Ok((path, file))
}

/// The names of all sessions in the folder, the newest last.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |it: DirEntry| Some(it.file_name().to_str()?.strip_suffix(".jsonl")?.to_string());
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

/// What stands for a result that never came.
pub const INTERRUPTED: &str = "error: interrupted before there was a result. What the call should do \
    may be done, half done or not done: look before you call again.";

/// Makes a history that the strict API takes, out of whatever came and whatever is left. Each call
/// has an id of its own and its result, or is said to be interrupted; a result whose call is lost is
/// lost too. Of a longer history it makes the same and more, so that a cache can keep the beginning.
pub fn mend(history: &[Message]) -> Vec<Message> {
    // Of the calls of the message before: the id that each came with, and the one that it has now.
    let (mut mended, mut taken, mut calls) = (Vec::new(), HashSet::new(), Vec::new());
    let end = Message { role: Role::Assistant, content: Vec::new() };
    for Message { role, content } in history.iter().chain([&end]) {
        let in_form = content.iter().cloned().filter_map(|block| block.in_form(*role));
        let (results, mut said): (Vec<_>, Vec<_>) =
            in_form.partition(|block| matches!(block, Block::ToolResult { .. }));
        let mut user = answered(std::mem::take(&mut calls), results);
        said.sort_by_key(|block| matches!(block, Block::ToolUse { .. }));
        for block in &mut said {
            let Block::ToolUse { id, .. } = block else { continue };
            let came_as = id.clone();
            while !taken.insert(id.clone()) {
                *id = format!("{came_as}_{}", taken.len());
            }
            calls.push((came_as, id.clone()));
        }
        if *role == Role::User {
            user.append(&mut said);
        }
        mended.push(Message { role: Role::User, content: user });
        mended.push(Message { role: Role::Assistant, content: said });
    }
    mended.retain(|message| !message.content.is_empty());
    if mended.first().is_some_and(|first| first.role == Role::Assistant) {
        mended.insert(0, Message::from_user("[what came before is lost]"));
    }
    mended
}

/// One result for each call: the one that came for it, or else that it was interrupted.
fn answered(calls: Vec<(String, String)>, mut results: Vec<Block>) -> Vec<Block> {
    let answer = |(came_as, tool_use_id)| {
        let is_it = |block: &Block| matches!(block, Block::ToolResult { tool_use_id, .. } if plain(tool_use_id) == came_as);
        let found = results.iter().position(is_it).map(|at| results.remove(at));
        let (content, is_error) = match found {
            Some(Block::ToolResult { content, is_error, .. }) => (content, is_error),
            _ => (INTERRUPTED.to_string(), true),
        };
        Block::ToolResult { tool_use_id, content, is_error }
    };
    calls.into_iter().map(answer).collect()
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
fn cost(model: &str, usage: &Usage) -> Option<f64> {
    let is_it = |name: &str| model == name || model.starts_with(&format!("{name}-20"));
    let (_, [input, write, read, output]) = PRICES.iter().find(|(name, _)| is_it(name))?;
    let millionths = usage.input_tokens as f64 * input
        + usage.cache_creation_input_tokens as f64 * write
        + usage.cache_read_input_tokens as f64 * read
        + usage.output_tokens as f64 * output;
    Some(millionths / 1e6)
}

#[cfg(test)]
#[path = "../tests/session.rs"]
mod tests;
