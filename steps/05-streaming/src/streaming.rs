//! A reply while it comes: its events put together into blocks, and what to do when it fails.
//!
//! The stream names a block by its number: start, then deltas with pieces of it, then stop. What
//! can be used at once is handed out at once: text for the screen, and each block when it ends, so
//! that a tool that only reads may start while the model still speaks.
//!
//! Nothing in here waits or reads; the network part (in `model.rs`) feeds it, so every fault of a
//! stream can be played in a test. Left out on purpose: citations, and dates in `retry-after`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message::{Block, Role};
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
pub struct Failure {
    pub says: String,
    /// Another try may go better.
    pub passes: bool,
    /// How long the server wants us to wait before it.
    pub wait: Option<Duration>,
}

impl Failure {
    pub fn new(passes: bool, says: impl Into<String>) -> Self {
        Self { says: says.into(), passes, wait: None }
    }
}

/// The reply so far.
#[derive(Default)]
pub struct Assembly {
    /// In the order in which they began, each with its number.
    blocks: Vec<(u64, Growing)>,
    stop_reason: Option<String>,
    usage: Usage,
    /// Nothing more needs to be read.
    pub is_whole: bool,
    /// Some of it is on the screen, or runs: it must not come twice.
    pub was_used: bool,
}

/// A block that is being written. It is kept as JSON, so that kinds we do not know (thinking, with
/// its signature) go back to the API as they came.
struct Growing {
    block: Value,
    /// A tool's arguments: JSON in pieces, cut anywhere.
    arguments: String,
    has_ended: bool,
}

impl Assembly {
    /// Takes the next event. Events of kinds we do not know, and pings, mean nothing to us.
    pub fn take(&mut self, event: &Event) -> Result<Option<Piece>, Failure> {
        let nonsense =
            || Failure::new(false, format!("the model sent what makes no sense: {event:?}"));
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        self.usage.update(&data["message"]["usage"]); // at the start
        self.usage.update(&data["usage"]); // at the end: the whole reply's counts, not further ones
        let piece = match event.name.as_str() {
            "content_block_start" => {
                let block = data["content_block"].clone();
                block.as_object().ok_or_else(nonsense)?;
                let growing = Growing { block, arguments: String::new(), has_ended: false };
                self.blocks.push((data["index"].as_u64().ok_or_else(nonsense)?, growing));
                text_in(&data["content_block"]).map(Piece::Text)
            }
            "content_block_delta" => {
                let growing = self.growing(&data).ok_or_else(nonsense)?;
                growing.take(&data["delta"]).map(Piece::Text)
            }
            "content_block_stop" => {
                let growing = self.growing(&data).ok_or_else(nonsense)?;
                growing.has_ended = true;
                let block = growing.as_block().and_then(|block| block.in_form(Role::Assistant));
                block.map(Piece::Finished)
            }
            "error" => return Err(refusal(&data["error"])),
            other => {
                self.is_whole |= other == "message_stop";
                let reason = data["delta"]["stop_reason"].as_str().map(String::from);
                self.stop_reason = reason.or(self.stop_reason.take());
                None
            }
        };
        self.was_used |= piece.is_some();
        Ok(piece)
    }

    /// The open block that an event speaks of: the newest, where a number came twice.
    fn growing(&mut self, data: &Value) -> Option<&mut Growing> {
        let number = data["index"].as_u64()?;
        let (_, growing) = self.blocks.iter_mut().rfind(|(this, _)| *this == number)?;
        (!growing.has_ended).then_some(growing)
    }

    /// The reply as far as it came. Of blocks that have not ended, a text is in it, since it was
    /// shown, and a call if the reply has ended: some servers do not say the end of a block.
    pub fn into_reply(self) -> Reply {
        let open = [json!("text"), json!(if self.is_whole { "tool_use" } else { "text" })];
        let is_in = |it: &&Growing| it.has_ended || open.contains(&it.block["type"]);
        let blocks = self.blocks.iter().map(|(_, growing)| growing).filter(is_in);
        let content = blocks.filter_map(Growing::as_block).collect();
        Reply { content, stop_reason: self.stop_reason, usage: self.usage }
    }
}

impl Growing {
    /// Takes a delta: `text` in a `text_delta`, `thinking` in a `thinking_delta`, and so on, each
    /// for the field of its name. Gives the text that is to be shown.
    fn take(&mut self, delta: &Value) -> Option<String> {
        let name = delta["type"].as_str()?.strip_suffix("_delta")?;
        if name == "input_json" {
            self.arguments += delta["partial_json"].as_str()?;
            return None;
        }
        let piece = delta[name].as_str()?;
        match &mut self.block[name] {
            Value::String(text) => text.push_str(piece),
            other => *other = json!(piece),
        }
        text_in(delta)
    }

    /// The block as our own type. A call gets its arguments, or where they are torn, their text.
    fn as_block(&self) -> Option<Block> {
        let mut block = self.block.clone();
        if block["type"] == "tool_use" {
            block["input"] = match serde_json::from_str(&self.arguments) {
                Ok(arguments) => Value::Object(arguments),
                Err(_) if !self.arguments.is_empty() => json!(self.arguments),
                // Without pieces it is as it came with the start, or without arguments.
                Err(_) if block["input"].is_null() => json!({}),
                Err(_) => block["input"].take(),
            };
        }
        serde_json::from_value(block).ok()
    }
}

/// The text in a block's start or in a delta. An empty one shows nothing.
fn text_in(value: &Value) -> Option<String> {
    value["text"].as_str().filter(|text| !text.is_empty()).map(String::from)
}

/// An error event comes in the middle of a stream, after a status of 200.
fn refusal(error: &Value) -> Failure {
    let [kind, message] = ["type", "message"].map(|name| error[name].as_str().unwrap_or_default());
    let passes = matches!(kind, "rate_limit_error" | "api_error" | "overloaded_error");
    Failure::new(passes, format!("the model broke off: {kind}: {message}"))
}

/// A request is sent again three times; the waits between come to 3.5 seconds at the most, unless
/// the server asks for longer ones.
const RETRIES: u32 = 3;

/// A server that wants us to wait longer than this is not waited for.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before the request is sent again, or nothing where that would be wrong. `dice` is
/// any byte that differs from client to client, so that not all come back in the same moment; it
/// takes up to a quarter off.
pub fn wait_before_retry(failure: &Failure, tried_again: u32, dice: u8) -> Option<Duration> {
    if !failure.passes || tried_again >= RETRIES || failure.wait > Some(LONGEST_WAIT) {
        return None;
    }
    let wait = Duration::from_millis(500) * 2_u32.pow(tried_again);
    Some(failure.wait.unwrap_or(wait - wait * u32::from(dice) / 1024))
}

/// Whether a status says that another try may go better. The server's own word (`x-should-retry`)
/// counts more, save where we did something wrong: that stays wrong.
pub fn passes(status: u16, should_retry: Option<bool>) -> bool {
    let is_ours = matches!(status, 400 | 401);
    !is_ours && should_retry.unwrap_or(matches!(status, 429 | 500 | 503 | 529))
}

/// The wait that the headers `retry-after-ms` and `retry-after` (in seconds) ask for.
pub fn retry_after(milliseconds: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<f64>().ok());
    let asked = [number(milliseconds).map(|number| number / 1000.0), number(seconds)];
    // What is no span of time (`-1`, `inf`) is none.
    let mut waits = asked.into_iter().flatten().flat_map(Duration::try_from_secs_f64);
    waits.find(|wait| !wait.is_zero())
}

/// A message that came whole as the events it would have been.
pub fn as_events(message: &Value) -> Option<Vec<Event>> {
    let blocks = message["content"].as_array()?.iter().enumerate();
    let blocks = blocks.flat_map(|(index, block)| {
        let start = json!({ "index": index, "content_block": block });
        [("content_block_start", start), ("content_block_stop", json!({ "index": index }))]
    });
    let end = json!({ "delta": message, "usage": message["usage"] });
    let ends = [("message_delta", end), ("message_stop", json!({}))];
    let event = |(name, data): (&str, Value)| Event { name: name.into(), data: data.to_string() };
    Some(blocks.chain(ends).map(event).collect())
}

#[cfg(test)]
#[path = "../tests/streaming.rs"]
mod tests;
