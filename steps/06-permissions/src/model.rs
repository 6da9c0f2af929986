//! One call to the model: a POST of the whole conversation, and the reply piece by piece.
//!
//! Whatever is wrong with a reply becomes an error in clear words here, so that the loop only ever
//! sees a reply it can use. What may go better a second time is tried again, as long as nothing of
//! the reply has been used.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use lesson::screen;
use reqwest::{ClientBuilder, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::{Block, Message, Role};
use crate::sse::{Event, EventReader, LIMIT};
use crate::streaming::{Assembly, Failure, LONGEST_WAIT, Piece};
use crate::streaming::{as_events, passes, retry_after, wait_before_retry};
use crate::tools::Tool;

/// The longest reply we accept, in tokens. The API wants a figure. Where it is too small, a long
/// file that the model writes is cut off.
const MAX_TOKENS: u32 = 16_000;

/// A connection that brings no byte for so long is dead. A server that only thinks sends pings or
/// comments, and bytes they are.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);

pub struct Model {
    http: reqwest::Client,
    url: String,
    key: String,
    pub name: String,
}

/// A reply, put together from its pieces.
#[derive(Debug, PartialEq)]
pub struct Reply {
    pub content: Vec<Block>,
    pub stop_reason: Option<String>,
    pub usage: Usage,
}

/// The tokens of one call, or of many added up. All input is the sum of three: `input_tokens`
/// counts only what was neither read from the cache nor written to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value")]
pub struct Usage {
    pub input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub output_tokens: u64,
}

impl From<Value> for Usage {
    fn from(value: Value) -> Self {
        let mut usage = Self::default();
        usage.update(&value);
        usage
    }
}

impl Usage {
    /// Takes over the counts that stand in `value`. Some servers leave some out or send `null`.
    pub fn update(&mut self, value: &Value) {
        // No model takes 2⁴⁰ tokens; a server that counts more must not make our sums overflow.
        let new = |name: &str, old: u64| value[name].as_u64().unwrap_or(old).min(1 << 40);
        self.input_tokens = new("input_tokens", self.input_tokens);
        self.cache_creation_input_tokens =
            new("cache_creation_input_tokens", self.cache_creation_input_tokens);
        self.cache_read_input_tokens = new("cache_read_input_tokens", self.cache_read_input_tokens);
        self.output_tokens = new("output_tokens", self.output_tokens);
    }

    pub fn add(&mut self, other: &Usage) {
        self.input_tokens += other.input_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.output_tokens += other.output_tokens;
    }

    /// All that the model read, each token counted once.
    pub fn all_input(&self) -> u64 {
        self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens
    }
}

impl Model {
    /// The model that the environment names.
    pub fn from_env() -> Result<Self> {
        let variable = |name| std::env::var(name).with_context(|| format!("{name} is not set"));
        Ok(Self {
            http: patient(reqwest::Client::builder(), LONGEST_SILENCE).build()?,
            url: format!("{}/v1/messages", variable("ANTHROPIC_BASE_URL")?.trim_end_matches('/')),
            key: variable("ANTHROPIC_API_KEY")?,
            name: variable("ANTHROPIC_MODEL")?,
        })
    }

    /// Sends the conversation, and the tools the model may call, until `reply` is whole; hands out
    /// its pieces as they come. It is the caller's, who may stop waiting and keep what has come.
    pub async fn ask(
        &self,
        system: &Value,
        messages: &[Value],
        tools: &[Tool],
        reply: &mut Assembly,
        hand_out: &mut dyn FnMut(Piece),
    ) -> Result<()> {
        let request = json!({
            "model": self.name, "max_tokens": MAX_TOKENS, "tools": tools, "system": system,
            "messages": messages, "stream": true,
        });
        for tried_again in 0.. {
            *reply = Assembly::default();
            let Err(failure) = self.listen(&request, reply, hand_out).await else { break };
            let wait = wait_before_retry(&failure, tried_again, dice()).filter(|_| !reply.was_used);
            let Some(wait) = wait else { bail!(failure.says) };
            screen::notes(&format!("{}; again in {:.1} s", failure.says, wait.as_secs_f64()));
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// One attempt.
    async fn listen(
        &self,
        request: &Value,
        reply: &mut Assembly,
        hand_out: &mut dyn FnMut(Piece),
    ) -> Result<(), Failure> {
        let post = self.http.post(&self.url).header("x-api-key", &self.key);
        let post = post.header("anthropic-version", "2023-06-01").json(request);
        let mut response = post.send().await.map_err(broken)?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| !kind.to_lowercase().starts_with("text/event-stream")) {
            for event in whole_message(response).await? {
                reply.take(&event)?.into_iter().for_each(&mut *hand_out);
            }
            return Ok(());
        }
        let mut events = EventReader::default();
        while !reply.is_whole {
            let bytes = response.chunk().await.map_err(broken)?;
            let bytes = bytes.ok_or_else(|| Failure::new(true, "the model broke off"))?;
            let events = events.feed(&bytes);
            for event in events.map_err(|error| Failure::new(false, error.to_string()))? {
                reply.take(&event)?.into_iter().for_each(&mut *hand_out);
            }
        }
        Ok(())
    }
}

/// A message that comes whole, from a server that knows no streams, as the events it would have been.
async fn whole_message(mut response: Response) -> Result<Vec<Event>, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&bytes);
        if body.len() > LIMIT {
            return Err(Failure::new(false, "the model's message is longer than 8 MiB: given up"));
        }
    }
    let body = String::from_utf8_lossy(&body);
    let events = as_events(&serde_json::from_str(&body).unwrap_or_default());
    let says = || format!("the model sent neither a stream nor a message: {}", gist(&body));
    events.ok_or_else(|| Failure::new(false, says()))
}

/// Gives a connection up when no byte comes for so long, and not when all of it takes longer.
fn patient(client: ClientBuilder, longest_silence: Duration) -> ClientBuilder {
    client.read_timeout(longest_silence)
}

fn broken(error: reqwest::Error) -> Failure {
    Failure::new(true, format!("no connection to the model: {:#}", anyhow::Error::from(error)))
}

/// What the server says with a status that is no success.
async fn refusal(response: Response) -> Failure {
    let status = response.status().as_u16();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let wait = retry_after(header("retry-after-ms"), header("retry-after"));
    let should_retry = header("x-should-retry").and_then(|value| value.parse().ok());
    let body = response.text().await.unwrap_or_default();
    let too_long = wait.filter(|wait| *wait > LONGEST_WAIT).map(|wait| wait.as_secs());
    let later = too_long.map(|seconds| format!("; it wants to be left alone for {seconds} s"));
    let says = format!("the model answered {status}: {}{}", gist(&body), later.unwrap_or_default());
    Failure { says, passes: passes(status, should_retry), wait }
}

/// Any byte that differs from client to client.
fn dice() -> u8 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_micros() as u8)
}

/// The reply as a message, or why the loop cannot go on with it.
pub fn usable(mut reply: Reply) -> Result<Message> {
    let reason = reply.stop_reason.unwrap_or_default();
    if matches!(reason.as_str(), "max_tokens" | "model_context_window_exceeded" | "refusal") {
        bail!("the model's reply broke off ({reason}), and a call in it may be torn: ask for less");
    }
    // The API refuses an empty text when it is sent back, but some models produce one.
    reply.content.retain(|block| !matches!(block, Block::Text { text } if text.trim().is_empty()));
    let is_whole = |block: &Block| matches!(block, Block::Text { .. } | Block::ToolUse { .. });
    let is_torn = |block: &Block| matches!(block, Block::Other(it) if it["type"] == "tool_use");
    if !reply.content.iter().any(is_whole) || reply.content.iter().any(is_torn) {
        bail!("the model's reply is empty, no text and no whole call ({reason}): ask again");
    }
    let in_form = reply.content.into_iter().filter_map(|block| block.in_form(Role::Assistant));
    let mut content: Vec<Block> = in_form.collect();
    // A text behind a call would part it from its result.
    content.sort_by_key(|block| matches!(block, Block::ToolUse { .. }));
    Ok(Message { role: Role::Assistant, content })
}

/// Type and message of an error body; the beginning of a body that has another form.
fn gist(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    match (value["error"]["type"].as_str(), value["error"]["message"].as_str()) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        _ => body.chars().take(300).collect(),
    }
}

#[cfg(test)]
#[path = "../tests/model.rs"]
mod tests;
