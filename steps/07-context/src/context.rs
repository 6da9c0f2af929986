//! Keeps the history inside the model's context window.
//!
//! Everything sent costs tokens, and everything is sent again with every call. So what is long or
//! old is made shorter, the cheapest loss first:
//! - `admit`: a long result goes to disk, whole, before the message gets a preview with the path;
//! - `budget`: the fuller the window, the shorter the results that are kept;
//! - `snip`: an old result that a call can bring back becomes a placeholder. What stands behind it
//!   leaves the cache, so while the cache is warm, snip waits;
//! - `idle`: after five minutes without a call the cache is gone anyway: snip now, at any fill;
//! - the last resort, a summary that the model writes, stands in `compaction.rs`.
//!
//! Two rules hold for all: no result is touched that the model has not seen yet (all that follows
//! its last message), nor one of the newest three. And no message is added or taken away here, so
//! each call keeps its result. Every part can be switched off, to see what happens without it:
//! `LOOPWRIGHT_OFF="disk, budgets, snip, idle, compaction"`.
//!
//! Left out on purpose: a real tokenizer. The usage that the API reported last is the truth, and
//! only what is new since then is estimated, by its length.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::message::{Block, Message, Role};
use crate::model::MAX_TOKENS;

/// Tokens that requests may have where no settings name another window.
const USUAL_WINDOW: u64 = 200_000;

/// Bytes of JSON that we count as a token. English takes about four, code and logs about three;
/// Cyrillic (two bytes a letter) and Chinese (three) come to less than a letter a token. Too low a
/// guess of the tokens means a refused request, too high a one a result shortened early.
const BYTES_PER_TOKEN: u64 = 3;

/// Bytes of a preview. Less than any result may have: a preview is never shortened again.
const PREVIEW: usize = 2_000;

/// Bytes that the line between a preview's head and tail may take, the path included.
const NOTICE: usize = 400;

/// Percent at which snip begins with a cold cache, and at which it waits no longer for a warm one.
const SNIP_COLD: u64 = 50;
const SNIP_WARM: u64 = 75;

/// Percent up to which a turn's results may fill the window. What lies above is for guesses that
/// were too low.
const FULL: u64 = 95;

/// How long the API keeps a cached prefix that is not used.
const CACHE_LIFE: Duration = Duration::from_secs(300);

/// Results at the end of the history that stay as they are.
const NEWEST: usize = 3;

/// Tools that only look: calling them again brings the result back.
const CAN_BE_HAD_AGAIN: [&str; 3] = ["read_file", "list_files", "grep_search"];

/// What one operation did, and the tokens of the whole request before and after. For the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub did: String,
    pub before: u64,
    pub after: u64,
}

#[derive(Default)]
pub struct Context {
    /// Tokens that a request and its reply may have together.
    pub window: u64,
    /// Parts that are switched off.
    pub off: String,
    /// Estimated tokens of what stands before the messages: system prompt and tools.
    base: u64,
    measured: Option<Measured>,
    /// When the last request went out, and whether it left a cached prefix.
    last_call: Option<SystemTime>,
    cached: bool,
    /// Where whole results are kept, and the number of the newest.
    folder: PathBuf,
    saved: usize,
    /// Tokens of what a compaction could not make shorter; see `compaction.rs`.
    pub(crate) in_vain: u64,
}

/// What a history really had, beside what was estimated for it.
struct Measured {
    tokens: u64,
    estimate: u64,
}

/// `"context": { "window": 20000, "off": "snip" }` in `~/.claude/settings.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    context: Section,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    window: Option<u64>,
    off: String,
}

impl Context {
    /// With the window and the parts that the environment names (`LOOPWRIGHT_WINDOW`,
    /// `LOOPWRIGHT_OFF`), or else the user's settings.
    pub fn load(home: &Path) -> Result<Self> {
        let file = home.join(".claude").join("settings.json");
        let text = fs::read_to_string(&file).unwrap_or("{}".to_string());
        let settings: Settings = serde_json::from_str(&text)
            .with_context(|| format!("{} holds no valid settings", file.display()))?;
        let mut window = settings.context.window;
        if let Ok(named) = std::env::var("LOOPWRIGHT_WINDOW") {
            window = Some(named.parse().context("LOOPWRIGHT_WINDOW takes a number of tokens")?);
        }
        let off = std::env::var("LOOPWRIGHT_OFF").unwrap_or(settings.context.off);
        let folder = home.join(".loopwright").join("results");
        Ok(Self { off, ..Self::new(window.unwrap_or(USUAL_WINDOW), folder) })
    }

    pub fn new(window: u64, folder: PathBuf) -> Self {
        let saved = fs::read_dir(&folder).map_or(0, Iterator::count);
        Self { window, folder, saved, ..Self::default() }
    }

    pub fn is_on(&self, part: &str) -> bool {
        !self.off.split(',').any(|name| name.trim() == part)
    }

    /// The longest reply that is asked for, in tokens. This much is kept free.
    pub fn max_output(&self) -> u64 {
        (self.window / 3).clamp(1, MAX_TOKENS)
    }

    /// Tokens of input that leave room for the reply.
    pub fn usable(&self) -> u64 {
        self.window.saturating_sub(self.max_output()).max(1)
    }

    /// What a request holds before its messages, in bytes of JSON.
    pub fn set_prefix(&mut self, bytes: usize) {
        self.base = bytes as u64 / BYTES_PER_TOKEN;
    }

    /// Another history: what was measured and tried belonged to the old one.
    pub fn forget(&mut self) {
        (self.measured, self.last_call, self.cached, self.in_vain) = (None, None, false, 0);
    }

    /// The usage of a request with this history has come: all input, cached or not. The cache's
    /// life is counted from the moment that it was asked.
    pub fn measure(&mut self, history: &[Message], tokens: u64, cached: bool, asked: SystemTime) {
        // Some servers report nothing.
        if tokens > 0 {
            self.settle(history, tokens);
        }
        (self.last_call, self.cached) = (Some(asked), cached);
    }

    /// From here on only what differs from this history is estimated.
    pub(crate) fn settle(&mut self, history: &[Message], tokens: u64) {
        let estimate = (self.base + estimate(history)).max(1);
        self.measured = Some(Measured { tokens: tokens.min(u64::from(u32::MAX)), estimate });
    }

    /// Tokens of a request with this history: the last reported usage, and a length estimate of
    /// what has changed since. What was taken away counts for no more than it was measured with.
    pub fn tokens(&self, history: &[Message]) -> u64 {
        let estimate = self.base + estimate(history);
        let Some(last) = &self.measured else { return estimate };
        if estimate >= last.estimate {
            return last.tokens + (estimate - last.estimate);
        }
        let freed = last.estimate - estimate;
        last.tokens.saturating_sub(freed.min(freed * last.tokens / last.estimate))
    }

    /// Whether a request with this history would be taken. Where not, it is not sent.
    pub fn fits(&self, history: &[Message]) -> bool {
        self.tokens(history) <= self.usable()
    }

    /// Percent of what is usable.
    pub fn fill(&self, history: &[Message]) -> u64 {
        self.tokens(history) * 100 / self.usable()
    }

    /// The API's answer was "prompt is too long: 212230 tokens > 200000 maximum": it has counted,
    /// so its numbers are better than ours. False for any other answer.
    pub fn was_too_long(&mut self, history: &[Message], answer: &str) -> bool {
        let Some((_, numbers)) = answer.split_once("prompt is too long") else { return false };
        let number = |at| numbers.split_whitespace().nth(at)?.parse::<u64>().ok();
        self.window = number(4).unwrap_or(self.window).min(self.window);
        self.settle(history, number(1).unwrap_or(0).max(self.usable() + 1));
        true
    }

    /// Tokens of new results, none longer than it may be at this fill.
    pub fn incoming(&self, history: &[Message], results: &[Block]) -> u64 {
        let longest = self.longest(self.fill(history)) as u64 / BYTES_PER_TOKEN;
        results.iter().map(|result| weight(result).min(longest)).sum()
    }

    /// Makes new results fit before they join the history.
    pub fn admit(&mut self, history: &[Message], results: &mut [Block]) -> Option<Report> {
        let tokens = self.tokens(history);
        let of_all = |results: &[Block]| results.iter().map(weight).sum::<u64>();
        let before = tokens + of_all(results);
        let mut room = (self.usable() * FULL / 100).saturating_sub(tokens);
        let longest = self.longest(tokens * 100 / self.usable());
        // The short ones first: what they leave of their share falls to the long ones.
        let mut order: Vec<usize> = (0..results.len()).collect();
        order.sort_by_key(|&at| weight(&results[at]));
        let mut moved = 0;
        for (done, &at) in order.iter().enumerate() {
            let (share, now) = (room / (order.len() - done) as u64, weight(&results[at]));
            if let Block::ToolResult { content, .. } = &mut results[at] {
                let fit = (content.len() as u64 * share / now) as usize;
                let most = if self.is_on("disk") { longest.min(fit) } else { longest };
                if content.len() > most && self.shorten(content, most.saturating_sub(NOTICE)) {
                    moved += 1;
                }
            }
            room = room.saturating_sub(weight(&results[at]));
        }
        let did = format!("disk: {moved} saved whole, the model gets a preview instead");
        (moved > 0).then(|| Report { did, before, after: tokens + of_all(results) })
    }

    /// Budget, snip and idle, in this order, before a request goes out.
    pub fn tidy(&mut self, history: &mut [Message], now: SystemTime) -> Vec<Report> {
        let budget = self.budget(history);
        let snip = self.snip(history, now);
        [budget, snip, self.idle(history, now)].into_iter().flatten().collect()
    }

    /// Old results that are longer than the fill allows go to disk, too.
    pub fn budget(&mut self, history: &mut [Message]) -> Option<Report> {
        let longest = self.longest(self.fill(history));
        self.rewrite("budgets", history, |context, _, content| {
            content.len() > longest && context.shorten(content, PREVIEW)
        })
    }

    /// Old results that can be had again become placeholders, when it is worth the cache.
    pub fn snip(&mut self, history: &mut [Message], now: SystemTime) -> Option<Report> {
        let is_warm = self.cached && self.idle_for(now) < CACHE_LIFE;
        let begin = if is_warm { SNIP_WARM } else { SNIP_COLD };
        if self.fill(history) < begin {
            return None;
        }
        self.rewrite("snip", history, |_, call, content| snip_one(call, content))
    }

    /// A light cleaning after a pause that has outlived the cache.
    pub fn idle(&mut self, history: &mut [Message], now: SystemTime) -> Option<Report> {
        if self.idle_for(now) < CACHE_LIFE {
            return None;
        }
        self.rewrite("idle", history, |_, call, content| snip_one(call, content))
    }

    fn idle_for(&self, now: SystemTime) -> Duration {
        // A clock that was set back has nothing to say.
        now.duration_since(self.last_call.unwrap_or(now)).unwrap_or_default()
    }

    /// Bytes that a result may have at this fill.
    fn longest(&self, fill: u64) -> usize {
        match fill {
            70.. if self.is_on("budgets") => 4_000,
            50.. if self.is_on("budgets") => 10_000,
            _ if self.is_on("disk") => 30_000,
            _ => usize::MAX,
        }
    }

    /// Changes old results in place. `change` gets the call that each one answers, and says
    /// whether it has changed the result.
    fn rewrite(
        &mut self,
        part: &str,
        history: &mut [Message],
        change: impl Fn(&mut Context, &Block, &mut String) -> bool,
    ) -> Option<Report> {
        if !self.is_on(part) {
            return None;
        }
        let (before, mut changed) = (self.tokens(history), 0);
        for (message, block) in old_results(history) {
            let (earlier, later) = history.split_at_mut(message);
            if let Block::ToolResult { tool_use_id, content, .. } = &mut later[0].content[block]
                && let Some(call) = earlier.last().and_then(|calls| find_call(calls, tool_use_id))
                && change(self, call, content)
            {
                changed += 1;
            }
        }
        if changed == 0 {
            return None;
        }
        let after = self.tokens(history);
        self.settle(history, after);
        Some(Report {
            did: format!("{part}: {changed} of the old results made shorter"),
            before,
            after,
        })
    }

    /// Writes the whole text to disk, and only then puts a preview in its place. False where the
    /// preview would not be shorter.
    fn shorten(&mut self, text: &mut String, size: usize) -> bool {
        let size = size.min(PREVIEW);
        if text.len() <= size + NOTICE {
            return false;
        }
        let place = match self.save(text) {
            Ok(path) => format!("all of it is in {}", path.display()),
            Err(error) => format!("it could not be saved ({error}), call again for a smaller part"),
        };
        let (head, tail) = (head(text, size / 3 * 2), tail(text, size / 3));
        let bytes = text.len() - head.len() - tail.len();
        let (seen, lines) = (head.lines().count(), text.lines().count());
        *text = format!(
            "{head}\n[{bytes} bytes left out after line {seen} of {lines}; {place}]\n{tail}"
        );
        true
    }

    fn save(&mut self, text: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        loop {
            self.saved += 1;
            let path = self.folder.join(format!("result-{:04}.txt", self.saved));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path),
                // An earlier run's file is never written over.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Tokens that these messages will have, guessed from the length of what is sent.
pub(crate) fn estimate(history: &[Message]) -> u64 {
    let weigh = |message: &Message| message.content.iter().map(weight).sum::<u64>() + 10;
    history.iter().map(weigh).sum()
}

fn weight(block: &Block) -> u64 {
    let json = serde_json::to_string(block).unwrap_or_default();
    json.len() as u64 / BYTES_PER_TOKEN + 1
}

/// Message and block of every result that the model has seen, but for the newest three.
fn old_results(history: &[Message]) -> Vec<(usize, usize)> {
    let seen = history.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
    let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
    let mut found = Vec::new();
    for (at, message) in history.iter().enumerate() {
        let blocks = (0..message.content.len()).filter(|&block| is_result(&message.content[block]));
        found.extend(blocks.map(|block| (at, block)));
    }
    found.truncate(found.len().saturating_sub(NEWEST));
    found.retain(|(at, _)| *at < seen);
    found
}

fn find_call<'a>(message: &'a Message, wanted: &str) -> Option<&'a Block> {
    let answers = |block: &&Block| matches!(block, Block::ToolUse { id, .. } if id == wanted);
    message.content.iter().find(answers)
}

/// Puts a placeholder in the place of a result that its call would bring back. False where the
/// call would not, or where little would be gained.
fn snip_one(call: &Block, content: &mut String) -> bool {
    let Block::ToolUse { name, input, .. } = call else { return false };
    let (input, size) = (input.to_string(), content.len());
    let input = head(&input, 200);
    let text = format!("[{size} bytes snipped; call {name} {input} again if they are needed]");
    // Half as long at least, or the cache is lost for little.
    let is_gain = CAN_BE_HAD_AGAIN.contains(&name.as_str()) && text.len() * 2 < size;
    if is_gain {
        *content = text;
    }
    is_gain
}

/// At most so many bytes of the beginning: whole lines where lines are short, and whole characters
/// always.
fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text[..end].rfind('\n') {
        Some(line) if end < text.len() && line >= end / 2 => &text[..line],
        _ => &text[..end],
    }
}

/// The same of the end.
fn tail(text: &str, most: usize) -> &str {
    let mut start = text.len() - most.min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    match text[start..].find('\n') {
        Some(line) if start > 0 && line < (text.len() - start) / 2 => &text[start + line + 1..],
        _ => &text[start..],
    }
}

#[cfg(test)]
#[path = "../tests/context.rs"]
mod tests;
