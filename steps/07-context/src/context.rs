//! Keeps the history inside the model's context window.
//!
//! Everything sent costs tokens, and everything is sent again with every call. So what is long or
//! old is made shorter, the cheapest loss first:
//! - disk: a long result is saved before the message gets a preview that names the file;
//! - budgets: the fuller the window, the shorter the results that are kept;
//! - snip: an old result that its call would bring back becomes a placeholder. What stands behind
//!   it leaves the cache, so while the cache is warm, snip waits;
//! - idle: after five minutes without a call the cache is gone anyway: snip now, at any fill;
//! - compaction, a summary that the model writes, stands in `compaction.rs`;
//! - squeeze, the last resort: where all this is not enough, the longest results go to disk, too.
//!
//! Between disk and squeeze no result is touched that the model has not seen yet (all that follows
//! its last message), nor one of the newest three. No message is added or taken away here, so each call
//! keeps its result. What the user writes is never shortened, and so has a limit of its own.
//!
//! Each can be switched off, to see what happens without it: `LOOPWRIGHT_OFF="snip, idle"`, or
//! `"context": { "off": "snip, idle" }` in `~/.claude/settings.json`; the window is set by
//! `LOOPWRIGHT_WINDOW` or `"window"` there. Squeeze goes with disk.
//!
//! Left out on purpose: a real tokenizer. The usage that the API reported last is the truth, and
//! only what is new since then is estimated, by its length. And nobody empties the folder of saved
//! results: a session that is resumed may still name them.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use lesson::screen::count;
use serde_json::Value;

use crate::message::{Block, Message, Role};
use crate::model::MAX_TOKENS;

/// Tokens of the window where nobody names another.
const USUAL_WINDOW: u64 = 200_000;

/// Bytes of JSON that we count as a token. English takes about four, code and logs about three;
/// Cyrillic (two bytes a letter) and Chinese (three) come to less than a letter a token. Too low a
/// guess of the tokens means a refused request, too high a one a result shortened early.
const BYTES_PER_TOKEN: u64 = 3;

/// Tokens that we suppose for system prompt and tools.
const PREFIX: u64 = 2_500;

/// The smallest window that a server is believed to have, and the largest that we reckon with.
const SMALLEST: u64 = 3 * PREFIX;
const LARGEST: u64 = 1 << 32;

/// Bytes of a preview. Less than any result may have: no budget shortens a preview again.
const PREVIEW: usize = 2_000;

/// Bytes that the line between a preview's head and tail may take, the folder's name aside.
const NOTICE: usize = 400;

/// Percent at which snip begins with a cold cache, and at which it waits no longer for a warm one.
const SNIP_COLD: u64 = 50;
const SNIP_WARM: u64 = 75;

/// Percent that squeeze leaves full, so that the next call does not need it again.
const SQUEEZED: u64 = 80;

/// The part of what is usable that a line of the user may take.
const LINE: u64 = 4;

/// How long the API keeps a cached prefix that is not used.
const CACHE_LIFE: Duration = Duration::from_secs(300);

/// Results at the end of the history that stay as they are.
const NEWEST: usize = 3;

/// Tools that only look: calling them again brings the result back.
const CAN_BE_HAD_AGAIN: [&str; 3] = ["read_file", "list_files", "grep_search"];

pub struct Context {
    /// Tokens that a request and its reply may have together.
    pub window: u64,
    /// Parts that are switched off.
    pub off: String,
    /// Where whole results are kept.
    folder: PathBuf,
    /// Tokens that a history really had, and the estimate for it.
    measured: (u64, u64),
    /// When the last request went out, and whether it left a cached prefix.
    last_call: Option<SystemTime>,
    cached: bool,
    /// Tokens of a history of which no summary could be had; see `compaction.rs`.
    pub(crate) in_vain: u64,
}

impl Context {
    /// Window and switches from the environment, or else from the user's settings.
    pub fn load(home: &Path) -> Result<Self> {
        let file = home.join(".claude").join("settings.json");
        let text = fs::read_to_string(&file).unwrap_or("{}".to_string());
        let settings: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} holds no valid settings", file.display()))?;
        let setting = |variable, name| {
            let text = settings["context"][name].to_string();
            std::env::var(variable).unwrap_or(text.trim_matches('"').to_string())
        };
        let window = match setting("LOOPWRIGHT_WINDOW", "window").as_str() {
            "null" => USUAL_WINDOW,
            text => text.parse().with_context(|| format!("the window takes tokens, not {text}"))?,
        };
        let context = Self::new(window.min(LARGEST), home.join(".loopwright").join("results"));
        Ok(Self { off: setting("LOOPWRIGHT_OFF", "off"), ..context })
    }

    pub fn new(window: u64, folder: PathBuf) -> Self {
        let (off, measured) = (String::new(), (PREFIX, 0));
        Self { window, off, folder, measured, last_call: None, cached: false, in_vain: 0 }
    }

    /// Another conversation begins, and what the old one has taught may not hold for it.
    pub fn forget(&mut self) {
        (self.measured, self.in_vain) = ((PREFIX, 0), 0);
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

    /// How every conversation begins must leave half of what is usable to the work.
    pub fn can_hold(&self, beginning: &[Message]) -> Result<()> {
        let (window, used) = (count(self.window), self.used(beginning));
        ensure!(
            self.fill(beginning) <= 50,
            "a window of {window} tokens is too small: system prompt, tools and the project's \
             instructions take about {used}, and may take half of them\n\
             set LOOPWRIGHT_WINDOW to more, or make the instructions shorter"
        );
        Ok(())
    }

    /// What the user writes stays in the history as it is, so it must leave room for the rest.
    pub fn can_take(&self, line: &str) -> Result<()> {
        let most = self.usable() / LINE * BYTES_PER_TOKEN;
        let bytes = Value::from(line).to_string().len() as u64;
        let (long, most_long) = (count(bytes), count(most));
        ensure!(
            bytes <= most,
            "this line takes {long} bytes, and one may take {most_long} here\n\
             put it into a file and name the file: it can be read part by part"
        );
        Ok(())
    }

    /// The usage of a request with this history has come: all input, cached or not. The cache's
    /// life is counted from the moment that it was asked.
    pub fn measure(&mut self, history: &[Message], tokens: u64, cached: bool, asked: SystemTime) {
        // Some servers report nothing.
        if tokens > 0 {
            self.settle(history, credible(history, tokens));
        }
        (self.last_call, self.cached) = (Some(asked), cached);
    }

    /// From here on only what differs from this history is estimated.
    pub(crate) fn settle(&mut self, history: &[Message], tokens: u64) {
        self.measured = (tokens, estimate(history));
    }

    /// Tokens of a request with this history: the last reported usage, and a length estimate of
    /// what is new since. Where something was taken away, what is left counts as it was measured.
    pub fn tokens(&self, history: &[Message]) -> u64 {
        let ((tokens, before), now) = (self.measured, estimate(history));
        match now.checked_sub(before) {
            Some(new) => tokens + new,
            None => tokens * (now + PREFIX) / (before + PREFIX),
        }
    }

    /// Whether a request with this history would be taken. Where not, it is not sent.
    pub fn fits(&self, history: &[Message]) -> bool {
        self.tokens(history) <= self.usable()
    }

    /// For the user: `13,023 of 13,334 tokens`.
    pub fn used(&self, history: &[Message]) -> String {
        format!("{} of {} tokens", count(self.tokens(history)), count(self.usable()))
    }

    /// Percent of what is usable.
    pub fn fill(&self, history: &[Message]) -> u64 {
        self.tokens(history) * 100 / self.usable()
    }

    /// The API has counted, and its numbers are better than ours: "prompt is too long: 212230
    /// tokens > 200000 maximum", or "input length and `max_tokens` exceed context limit: 190000 +
    /// 16000 > 200000". False for any other answer.
    pub fn was_too_long(&mut self, history: &[Message], answer: &anyhow::Error) -> bool {
        let answer = format!("{answer:#}");
        let after = |mark| answer.split_once(mark).map(|(_, numbers)| numbers);
        let found = after("prompt is too long").or_else(|| after("exceed context limit"));
        let Some(numbers) = found else { return false };
        let (tokens, window) = numbers.split_once('>').unwrap_or((numbers, ""));
        let window = first_number(window).unwrap_or(self.window).max(SMALLEST);
        self.window = window.min(self.window);
        // Without a number our own was too low, and nobody knows by how much.
        let tokens = first_number(tokens).unwrap_or(self.usable() * 2);
        self.settle(history, credible(history, tokens).max(self.usable() + 1));
        true
    }

    /// Has new results saved that are longer than one may be at this fill, before they join the
    /// history. Says what it did, for the screen.
    pub fn admit(&self, history: &[Message], results: &mut [Block]) -> Option<String> {
        let (tokens, longest) = (self.tokens(history), self.longest(self.fill(history)));
        let of_all = |results: &[Block]| tokens + results.iter().map(weight).sum::<u64>();
        let (before, mut moved) = (of_all(results), 0);
        for result in results.iter_mut() {
            let Block::ToolResult { content, .. } = result else { continue };
            moved += usize::from(content.len() > longest && self.shorten(content, PREVIEW));
        }
        let did = format!("disk: {moved} saved, the model gets a preview");
        (moved > 0).then(|| report(&did, before, of_all(results)))
    }

    /// Makes old results shorter before a request goes out, where it is worth it. Says what it did.
    pub fn tidy(&mut self, history: &mut [Message], now: SystemTime) -> Vec<String> {
        // A clock that was set back has nothing to say.
        let idle = now.duration_since(self.last_call.unwrap_or(now)).unwrap_or_default();
        let is_idle = idle >= CACHE_LIFE;
        let longest = self.longest(self.fill(history));
        let budgets = self.rewrite("budgets", history, |context, _, content| {
            content.len() > longest && context.shorten(content, PREVIEW)
        });
        let begin = if self.cached && !is_idle { SNIP_WARM } else { SNIP_COLD };
        let is_full = self.fill(history) >= begin;
        let full = is_full.then(|| self.rewrite("snip", history, snip)).flatten();
        let idle = is_idle.then(|| self.rewrite("idle", history, snip)).flatten();
        [budgets, full, idle].into_iter().flatten().collect()
    }

    /// Where a request would not fit whatever was done: the longest results become previews, and
    /// where that is not enough, no more than the names of their files; last of all what the model
    /// has not seen.
    pub fn squeeze(&mut self, history: &mut [Message]) -> Option<String> {
        if self.fits(history) || !self.is_on("disk") {
            return None;
        }
        let (before, mut shortened) = (self.tokens(history), 0);
        let (seen, all) = (last_reply(history), history.len());
        for (end, size) in [(seen, PREVIEW), (seen, 0), (all, PREVIEW), (all, 0)] {
            while self.fill(history) > SQUEEZED
                && longest_result(&mut history[..end]).is_some_and(|text| self.shorten(text, size))
            {
                shortened += 1;
            }
        }
        let did = format!("squeeze: {shortened} of the longest results saved and made shorter");
        (shortened > 0).then(|| self.shorter(history, before, &did))
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

    /// Changes old results in place. `change` is told whether the result can be had again, and says
    /// whether it has changed it.
    fn rewrite(
        &mut self,
        part: &str,
        history: &mut [Message],
        change: impl Fn(&Context, bool, &mut String) -> bool,
    ) -> Option<String> {
        let (before, mut changed) = (self.tokens(history), 0);
        let old = if self.is_on(part) { old_results(history) } else { Vec::new() };
        for (_, again, content) in old {
            changed += usize::from(change(self, again, content));
        }
        let did = format!("{part}: {changed} of the old results made shorter");
        (changed > 0).then(|| self.shorter(history, before, &did))
    }

    /// The history has become shorter in place: what was done, for the screen.
    fn shorter(&mut self, history: &[Message], before: u64, did: &str) -> String {
        let after = self.tokens(history);
        self.settle(history, after);
        report(did, before, after)
    }

    /// Writes the text to disk, and only then puts a preview of so many bytes in its place. The
    /// file has what the preview leaves out; what a tool lost before stands in neither, and the tool
    /// says so. False where the preview would not be shorter.
    fn shorten(&self, text: &mut String, size: usize) -> bool {
        if text.len() <= size + NOTICE + self.folder.as_os_str().len() {
            return false;
        }
        let place = match self.save(text) {
            Ok(path) => format!("they are in {}", path.display()),
            Err(error) => format!("they could not be saved ({error}), ask for a smaller part"),
        };
        let (head, tail) = (boundary(text, size / 3 * 2), boundary(text, text.len() - size / 3));
        let (head, between, tail) = (&text[..head], tail - head, &text[tail..]);
        let (first, lines) = (head.lines().count(), text.lines().count());
        let last = lines + 1 - tail.lines().count();
        *text = format!(
            "{head}\n[{between} bytes left out in lines {first} to {last}; {place}]\n{tail}"
        );
        true
    }

    /// The file is named after its content, so that none is written over by another.
    fn save(&self, text: &str) -> io::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let path = self.folder.join(format!("{:016x}.txt", hasher.finish()));
        fs::create_dir_all(&self.folder)?;
        fs::write(&path, text).map(|()| path)
    }
}

/// What was done, and the tokens of the whole request before and after.
pub(crate) fn report(did: &str, before: u64, after: u64) -> String {
    format!("{did} · {} → {} tokens", count(before), count(after))
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

/// The tokens that a server reports, as far as its word can be true. A token is no less than a byte,
/// and seldom more than twelve; servers that leave out what came from their cache report less.
fn credible(history: &[Message], tokens: u64) -> u64 {
    let guess = PREFIX + estimate(history);
    tokens.clamp(guess / 4, guess * BYTES_PER_TOKEN)
}

fn first_number(text: &str) -> Option<u64> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    numbers.find(|digits| !digits.is_empty())?.parse().ok()
}

fn longest_result(history: &mut [Message]) -> Option<&mut String> {
    let blocks = history.iter_mut().flat_map(|message| &mut message.content);
    let results = blocks.filter_map(|block| match block {
        Block::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    results.max_by_key(|content| content.len())
}

/// Where the model's last message stands. It has seen what comes before, and nothing else.
fn last_reply(history: &[Message]) -> usize {
    history.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0)
}

/// Every result that the model has seen, but for the newest three: its message, whether its call
/// would bring it back, and its text.
fn old_results(history: &mut [Message]) -> Vec<(usize, bool, &mut String)> {
    let seen = last_reply(history);
    let (mut calls, mut found) = (HashMap::new(), Vec::new());
    for (at, message) in history.iter_mut().enumerate() {
        for block in &mut message.content {
            match block {
                // Ids may repeat: a call's results stand in the message after it and nowhere else.
                Block::ToolUse { id, name, .. } => {
                    let again = calls.entry((at + 1, id.clone())).or_insert(true);
                    *again &= CAN_BE_HAD_AGAIN.contains(&&**name);
                }
                Block::ToolResult { tool_use_id, content, .. } => {
                    let again = calls.get(&(at, tool_use_id.clone())) == Some(&true);
                    found.push((at, again, content));
                }
                _ => {}
            }
        }
    }
    found.truncate(found.len().saturating_sub(NEWEST));
    found.retain(|(at, ..)| *at < seen);
    found
}

/// Puts a placeholder in the place of a result that its call, which stands before it, would bring
/// back. Half as long at least, or the cache is lost for little.
fn snip(_: &Context, again: bool, content: &mut String) -> bool {
    let text = format!("[{} bytes snipped; call again if they are needed]", content.len());
    let is_gain = again && text.len() * 2 < content.len();
    if is_gain {
        *content = text;
    }
    is_gain
}

/// The last place up to this one that cuts through no character.
fn boundary(text: &str, place: usize) -> usize {
    (0..=place).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

#[cfg(test)]
#[path = "../tests/context.rs"]
mod tests;
