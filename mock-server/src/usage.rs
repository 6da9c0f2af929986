//! What a request costs: tokens from its length, and cache reads and writes at its marks.
//!
//! An estimate, not a tokenizer: four characters are a token. It must come out the same on every
//! machine and in every run, so a run of digits counts as one character (process ids, durations
//! and dates differ in length), and the run's own folders are left out.
//!
//! Caching works as the real API's: tools, system and messages are one row of blocks; a
//! `cache_control` mark on a block asks to keep the prefix that ends there; a later request reads
//! the longest kept prefix that ends at one of its marks or up to twenty blocks before it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::{Content, content, list, messages};

/// As in a reply's `usage`. All input is the sum of the first three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub output_tokens: u64,
}

/// How far before a mark a kept prefix is looked for.
const LOOK_BACK: usize = 20;

/// The prefix that ends with a block.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    hash: u64,
    /// Characters so far.
    length: u64,
    /// How long it is kept, if the block is marked.
    kept: Option<Duration>,
}

/// A request as a row of prefixes.
pub struct Measured {
    prefixes: Vec<Prefix>,
    rooms: Vec<String>,
}

/// The prefixes that one API key has had kept: until when, and for how long a reading renews them.
#[derive(Debug, Default)]
pub struct Cache {
    kept: HashMap<u64, (Instant, Duration)>,
}

/// Tokens of a text that the model says.
pub fn tokens(text: &str) -> u64 {
    length(text).div_ceil(4)
}

/// Characters, a run of digits counted as one.
fn length(text: &str) -> u64 {
    let mut length = 0;
    let mut in_digits = false;
    for byte in text.bytes() {
        let digit = byte.is_ascii_digit();
        let continues = (digit && in_digits) || (byte & 0xC0) == 0x80;
        length += u64::from(!continues);
        in_digits = digit;
    }
    length
}

impl Measured {
    /// Measures the body of a request; `rooms` are the run's own folders.
    pub fn new(body: &Value, rooms: &[String]) -> Self {
        let mut measured = Self { prefixes: Vec::new(), rooms: rooms.to_vec() };
        let mut hasher = DefaultHasher::new();
        body["model"].as_str().hash(&mut hasher);
        for tool in list(body, "tools") {
            measured.block(&mut hasher, "tool", tool);
        }
        measured.content(&mut hasher, "system", &body["system"]);
        for message in messages(body) {
            let role = message["role"].as_str().unwrap_or_default();
            measured.content(&mut hasher, role, &message["content"]);
        }
        measured
    }

    /// All tokens of the request.
    pub fn total(&self) -> u64 {
        self.prefixes.last().map_or(0, |prefix| prefix.length.div_ceil(4))
    }

    fn content(&mut self, hasher: &mut DefaultHasher, role: &str, value: &Value) {
        match content(value) {
            Content::Text(_) => self.block(hasher, role, value),
            Content::Blocks(blocks) => {
                for block in blocks {
                    self.block(hasher, role, block);
                }
            }
        }
    }

    fn block(&mut self, hasher: &mut DefaultHasher, role: &str, block: &Value) {
        role.hash(hasher);
        let before = self.prefixes.last().map_or(0, |prefix| prefix.length);
        // A text is the same to the API as a string and as a block.
        let text = block.as_str().or(block["text"].as_str());
        let length = before
            + match text {
                Some(text) => {
                    text.hash(hasher);
                    self.length(text)
                }
                None => self.walk(hasher, block),
            };
        let control = block.get("cache_control").filter(|control| control.is_object());
        let kept = control.map(|control| {
            let minutes = if control["ttl"] == "1h" { 60 } else { 5 };
            Duration::from_secs(minutes * 60)
        });
        self.prefixes.push(Prefix { hash: hasher.finish(), length, kept });
    }

    /// Hashes a value byte for byte, and counts its characters without the run's folders.
    fn walk(&self, hasher: &mut DefaultHasher, value: &Value) -> u64 {
        match value {
            Value::String(text) => {
                text.hash(hasher);
                self.length(text)
            }
            Value::Array(items) => items.iter().map(|item| self.walk(hasher, item)).sum(),
            Value::Object(map) => map
                .iter()
                .filter(|(key, _)| *key != "cache_control")
                .map(|(key, value)| {
                    key.hash(hasher);
                    // The names that the API itself gives are not the model's to read.
                    let own = ["type", "text", "content"].contains(&key.as_str());
                    let key_length = if own { 0 } else { length(key) };
                    let skip = key == "type";
                    let inside = self.walk(hasher, value);
                    key_length + if skip { 0 } else { inside }
                })
                .sum(),
            other => {
                let text = other.to_string();
                text.hash(hasher);
                length(&text)
            }
        }
    }

    fn length(&self, text: &str) -> u64 {
        let room = self.rooms.iter().find(|room| !room.is_empty() && text.contains(room.as_str()));
        match room {
            None => length(text),
            Some(_) => {
                let bare = self
                    .rooms
                    .iter()
                    .filter(|room| !room.is_empty())
                    .fold(text.to_string(), |text, room| text.replace(room.as_str(), ""));
                length(&bare)
            }
        }
    }
}

impl Cache {
    /// Time passes for what is kept, as much as is said.
    pub fn grow_old(&mut self, by: Duration, now: Instant) {
        self.kept.retain(|_, (until, _)| until.duration_since(now) > by);
        self.kept.values_mut().for_each(|(until, _)| *until -= by);
    }

    /// What this request reads from the cache and writes into it; `minimum` in tokens.
    pub fn usage(&mut self, measured: &Measured, minimum: u64, now: Instant) -> Usage {
        let prefixes = &measured.prefixes;
        let tokens_at = |index: usize| prefixes[index].length.div_ceil(4);
        self.kept.retain(|_, (until, _)| *until > now);
        let marks: Vec<usize> =
            (0..prefixes.len()).filter(|i| prefixes[*i].kept.is_some()).collect();
        let read = marks.iter().flat_map(|mark| mark.saturating_sub(LOOK_BACK)..=*mark);
        let read = read.filter(|index| self.kept.contains_key(&prefixes[*index].hash)).max();
        if let Some((until, renewed)) = read.and_then(|i| self.kept.get_mut(&prefixes[i].hash)) {
            *until = now + *renewed;
        }
        let mut written = None;
        for mark in marks.into_iter().filter(|mark| tokens_at(*mark) >= minimum) {
            let Some(kept) = prefixes[mark].kept else { continue };
            self.kept.insert(prefixes[mark].hash, (now + kept, kept));
            written = Some(mark);
        }
        let read_tokens = read.map_or(0, tokens_at);
        let cached = read_tokens.max(written.map_or(0, tokens_at));
        Usage {
            input_tokens: measured.total() - cached,
            cache_creation_input_tokens: cached - read_tokens,
            cache_read_input_tokens: read_tokens,
            output_tokens: 0,
        }
    }
}
