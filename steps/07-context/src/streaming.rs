//! A reply while it comes: its events put together into blocks, and what to do when it fails.
//!
//! The stream names a block by its number: start, then deltas with pieces of it, then stop. What
//! can be used at once is handed out at once: text for the screen, and each block when it ends, so
//! that a tool that only reads may start while the model still speaks.
//!
//! Nothing in here waits or reads; the network part (in `model.rs`) feeds it, so every fault of a
//! stream can be played in a test. Left out on purpose: citations, and dates in `retry-after`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::message::{Block, Message, Role};
use crate::model::{Reply, Usage};
use crate::sse::Event;

/// What can be used before the reply is whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// To be shown. The same text comes once more, whole, in its block.
    Text(String),
    /// A block that has ended.
    Finished(Block),
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The server said no: by status, or by an error event in the middle of the stream.
    Refused {
        status: u16,
        message: String,
        /// From the headers, see [`retry_after`].
        retry_after: Option<Duration>,
        /// The header `x-should-retry`.
        should_retry: Option<bool>,
    },
    /// The connection was reset, or the stream ended before the reply did.
    Broken(String),
    /// Nothing came for too long.
    TimedOut(Duration),
    /// What came is not what the API sends.
    Nonsense(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Refused { status, message, .. } => {
                write!(out, "the model answered {status}: {message}")
            }
            Self::Broken(how) => write!(out, "the connection to the model broke: {how}"),
            Self::TimedOut(time) => write!(out, "the model said nothing for {} s", time.as_secs()),
            Self::Nonsense(what) => write!(out, "the model's reply cannot be understood: {what}"),
        }
    }
}

impl std::error::Error for Failure {}

/// The reply so far.
#[derive(Default)]
pub struct Assembly {
    blocks: BTreeMap<u64, Growing>,
    stop_reason: Option<String>,
    usage: Usage,
    is_whole: bool,
}

/// A block that is being written. It is kept as JSON, so that kinds we do not know (thinking, with
/// its signature) go back to the API as they came.
struct Growing {
    block: Value,
    /// A tool's arguments: JSON in pieces, cut anywhere.
    arguments: String,
    finished: Option<Block>,
}

impl Assembly {
    /// Takes the next event. Events of kinds we do not know, and pings, mean nothing to us.
    pub fn take(&mut self, event: &Event) -> Result<Option<Piece>, Failure> {
        let name = event.name.as_str();
        let is_ours = name.starts_with("message_") || name.starts_with("content_block_");
        if self.is_whole || !(is_ours || name == "error") {
            return Ok(None);
        }
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| Failure::Nonsense(format!("{name} holds no JSON: {error}")))?;
        match name {
            "message_start" => self.usage.update(&data["message"]["usage"]),
            "content_block_start" => return self.start(&data),
            "content_block_delta" => return self.grow(&data),
            "content_block_stop" => {
                let block = self.growing(&data)?.finish(true)?;
                return Ok(Some(Piece::Finished(block)));
            }
            "message_delta" => {
                let reason = data["delta"]["stop_reason"].as_str().map(String::from);
                self.stop_reason = reason.or(self.stop_reason.take());
                self.usage.update(&data["usage"]); // the whole reply's counts, not further ones
            }
            "message_stop" => self.is_whole = true,
            "error" => return Err(refusal_in(&data)),
            _ => {}
        }
        Ok(None)
    }

    /// Whether a text of it was shown, or a call of it handed out: what was used must not come twice.
    pub fn was_handed_out(&self) -> bool {
        let is_used =
            |growing: &Growing| shown(&growing.block).is_some() || growing.finished.is_some();
        self.blocks.values().any(is_used)
    }

    /// What has come when the user breaks in: blocks that have ended, and a text as far as it came.
    /// A call in the making is forgotten.
    pub fn so_far(self) -> (Message, Usage) {
        let mut content = Vec::new();
        for growing in self.blocks.into_values() {
            let text = shown(&growing.block).and_then(|_| growing.block["text"].as_str());
            let text = text.map(|text| Block::Text { text: text.to_string() });
            content.extend(growing.finished.or(text));
        }
        let is_empty =
            |block: &Block| matches!(block, Block::Text { text } if text.trim().is_empty());
        content.retain(|block| !is_empty(block));
        if content.iter().all(|block| matches!(block, Block::Other(_))) {
            content.clear();
        }
        (Message { role: Role::Assistant, content }, self.usage)
    }

    /// Whether the reply has come to its end, and nothing more needs to be read.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The reply. Blocks that never ended (one cut by `max_tokens`) are in it as far as they came.
    pub fn finish(self) -> Result<Reply, Failure> {
        if !self.is_whole {
            return Err(Failure::Broken("it ended without message_stop".to_string()));
        }
        let mut content = Vec::new();
        for mut growing in self.blocks.into_values() {
            let block = growing.finished.take();
            content.push(block.map_or_else(|| growing.finish(false), Ok)?);
        }
        Ok(Reply { content, stop_reason: self.stop_reason, usage: self.usage })
    }

    fn start(&mut self, data: &Value) -> Result<Option<Piece>, Failure> {
        let block = data["content_block"].clone();
        let shown = shown(&block);
        let index = data["index"].as_u64().filter(|index| !self.blocks.contains_key(index));
        let Some(index) = index else {
            return Err(Failure::Nonsense(format!("a block begins twice, or nowhere: {data}")));
        };
        self.blocks.insert(index, Growing { block, arguments: String::new(), finished: None });
        Ok(shown)
    }

    fn grow(&mut self, data: &Value) -> Result<Option<Piece>, Failure> {
        let growing = self.growing(data)?;
        let delta = &data["delta"];
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match delta["type"].as_str() {
            Some("text_delta") => {
                append(&mut growing.block, "text", piece("text"));
                return Ok(shown(delta));
            }
            Some("input_json_delta") => growing.arguments.push_str(piece("partial_json")),
            Some("thinking_delta") => append(&mut growing.block, "thinking", piece("thinking")),
            Some("signature_delta") => append(&mut growing.block, "signature", piece("signature")),
            _ => {}
        }
        Ok(None)
    }

    /// The open block that an event speaks of.
    fn growing(&mut self, data: &Value) -> Result<&mut Growing, Failure> {
        let found = data["index"].as_u64().and_then(|index| self.blocks.get_mut(&index));
        found
            .filter(|growing| growing.finished.is_none())
            .ok_or_else(|| Failure::Nonsense(format!("no open block for {data}")))
    }
}

impl Growing {
    /// The block as our own type. A call gets its arguments, or where they are torn, their text.
    fn finish(&mut self, has_ended: bool) -> Result<Block, Failure> {
        if self.block["type"] == "tool_use" {
            let given = self.block["input"].as_object().cloned().unwrap_or_default();
            self.block["input"] = match serde_json::from_str(&self.arguments) {
                Ok(arguments) if has_ended => Value::Object(arguments),
                // A call without arguments has no pieces, or an empty one.
                Err(_) if has_ended && self.arguments.is_empty() => Value::Object(given),
                _ => json!({ UNREADABLE: self.arguments }),
            };
        }
        match serde_json::from_value::<Block>(self.block.clone()) {
            Ok(block) if !block.is_damaged() => {
                self.finished = Some(block.clone());
                Ok(block)
            }
            _ => Err(Failure::Nonsense(format!("a block lacks what it needs: {}", self.block))),
        }
    }
}

/// The name under which arguments that are no JSON object stand in a call. The API wants an object
/// back, the model wants to know what it wrote, and the call must not be run with half of it.
const UNREADABLE: &str = "unreadable_arguments";

/// The text of arguments that could not be read. The tool runner answers them with an error.
pub fn unreadable(input: &Value) -> Option<&str> {
    input.get(UNREADABLE)?.as_str()
}

fn append(block: &mut Value, name: &str, piece: &str) {
    if let Some(Value::String(text)) = block.get_mut(name) {
        text.push_str(piece);
    } else if let Some(block) = block.as_object_mut() {
        block.insert(name.to_string(), json!(piece));
    }
}

/// The text in a block's start or in a delta, unless there is none: an empty one is not yet shown.
fn shown(from: &Value) -> Option<Piece> {
    let text = from["text"].as_str().filter(|text| !text.is_empty())?;
    Some(Piece::Text(text.to_string()))
}

/// An error event comes after a status of 200, so its kind has to tell which status it would be.
fn refusal_in(data: &Value) -> Failure {
    let kind = data["error"]["type"].as_str().unwrap_or("error");
    let status = match kind {
        "rate_limit_error" => 429,
        "api_error" => 500,
        "overloaded_error" => 529,
        "authentication_error" => 401,
        _ => 400,
    };
    let message = format!("{kind}: {}", data["error"]["message"].as_str().unwrap_or_default());
    Failure::Refused { status, message, retry_after: None, should_retry: None }
}

/// A request is tried again three times; the waits between come to 3.5 seconds at the most, unless
/// the server asks for longer ones.
const RETRIES: u32 = 3;

/// How long to wait before the request is sent again, or nothing where that would be wrong: a reply
/// whose text was shown must not be told twice, and what we did wrong stays wrong. `tried_again` is
/// how often that was done already. `dice` is any byte that differs from client to client, so that
/// not all come back in the same moment; it takes up to a quarter off.
pub fn wait_before_retry(
    failure: &Failure,
    tried_again: u32,
    text_was_shown: bool,
    dice: u8,
) -> Option<Duration> {
    if text_was_shown || tried_again >= RETRIES {
        return None;
    }
    let asked_for = match failure {
        Failure::Refused { status: 400 | 401, .. } => return None,
        Failure::Refused { status, retry_after, should_retry, .. } => {
            let is_passing = matches!(status, 429 | 500 | 503 | 529);
            should_retry.unwrap_or(is_passing).then_some(*retry_after)?
        }
        Failure::Broken(_) | Failure::TimedOut(_) => None,
        Failure::Nonsense(_) => return None,
    };
    let wait = Duration::from_millis(500) * 2_u32.pow(tried_again);
    Some(asked_for.unwrap_or(wait - wait * u32::from(dice) / 1024))
}

/// The wait that the headers `retry-after-ms` and `retry-after` (in seconds) ask for. More than a
/// minute, or none at all, is not taken at its word.
pub fn retry_after(milliseconds: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<f64>().ok());
    [number(milliseconds).map(|number| number / 1000.0), number(seconds)]
        .into_iter()
        .flatten()
        .find(|seconds| *seconds > 0.0 && *seconds <= 60.0)
        .map(Duration::from_secs_f64)
}

#[cfg(test)]
#[path = "../tests/streaming.rs"]
mod tests;
