//! One call to the model: a POST of the whole conversation, and the reply piece by piece.
//!
//! Whatever is wrong with a reply becomes an error in clear words here, so that the loop only ever
//! sees a reply it can use. What may go better a second time is tried again, as long as nothing of
//! the reply has been used.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use lesson::screen;
use reqwest::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::{Block, Message, Role};
use crate::sse::EventReader;
use crate::streaming::{Assembly, Failure, Piece, retry_after, wait_before_retry};
use crate::tools::Tool;

/// The longest reply we accept, in tokens. The API wants a figure; too small a one cuts a file that
/// is being written in the middle.
pub const MAX_TOKENS: u64 = 16_000;

/// A connection that brings no byte for so long is dead. A server that only thinks sends pings or
/// comments, and bytes they are.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);

pub struct Model {
    http: reqwest::Client,
    url: String,
    key: String,
    pub name: String,
    /// The longest reply that is asked for, in tokens.
    pub max_tokens: u64,
    longest_silence: Duration,
}

/// A whole reply, put together from its pieces.
#[derive(Debug, PartialEq)]
pub struct Reply {
    pub content: Vec<Block>,
    pub stop_reason: Option<String>,
    pub usage: Usage,
}

/// The tokens of one call, or of many added up. All input is the sum of three: `input_tokens` counts only what was
/// neither read from the cache nor written to it.
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
        let set =
            |count: &mut u64, name| *count = value[name].as_u64().unwrap_or(*count).min(1 << 40);
        set(&mut self.input_tokens, "input_tokens");
        set(&mut self.cache_creation_input_tokens, "cache_creation_input_tokens");
        set(&mut self.cache_read_input_tokens, "cache_read_input_tokens");
        set(&mut self.output_tokens, "output_tokens");
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
        let base = variable("ANTHROPIC_BASE_URL")?;
        Ok(Self {
            http: reqwest::Client::new(),
            url: format!("{}/v1/messages", base.trim_end_matches('/')),
            key: variable("ANTHROPIC_API_KEY")?,
            name: variable("ANTHROPIC_MODEL")?,
            max_tokens: MAX_TOKENS,
            longest_silence: LONGEST_SILENCE,
        })
    }

    /// Sends the conversation, and the tools the model may call; hands out the pieces of its reply
    /// as they come, and returns it whole, with what it took. `reply` is the caller's, who may stop
    /// waiting at any time and keep what has come.
    pub async fn ask(
        &self,
        system: &Value,
        messages: &[Value],
        tools: &[Tool],
        reply: &mut Assembly,
        hand_out: &mut dyn FnMut(Piece),
    ) -> Result<(Message, Usage)> {
        let request = json!({
            "model": self.name, "max_tokens": self.max_tokens, "tools": tools, "system": system,
            "messages": messages, "stream": true,
        });
        for tried_again in 0.. {
            *reply = Assembly::default();
            let Err(failure) = self.listen(&request, reply, hand_out).await else { break };
            let was_used = reply.was_handed_out();
            let Some(wait) = wait_before_retry(&failure, tried_again, was_used, dice()) else {
                return Err(failure.into());
            };
            let (next, wait_for) = (tried_again + 2, wait.as_secs_f64());
            screen::notes(&format!("{failure}; try {next} follows in {wait_for:.1} s"));
            tokio::time::sleep(wait).await;
        }
        let reply = std::mem::take(reply).finish()?;
        let usage = reply.usage;
        Ok((usable(reply)?, usage))
    }

    /// One attempt.
    async fn listen(
        &self,
        request: &Value,
        reply: &mut Assembly,
        hand_out: &mut dyn FnMut(Piece),
    ) -> Result<(), Failure> {
        let post = self.http.post(&self.url).header("x-api-key", &self.key);
        let sent = post.header("anthropic-version", "2023-06-01").json(request).send();
        let mut response = self.in_time(sent).await?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let mut events = EventReader::default();
        while !reply.is_whole() {
            let Some(bytes) = self.in_time(response.chunk()).await? else {
                return Err(Failure::Broken("it ended in the middle".to_string()));
            };
            let events =
                events.feed(&bytes).map_err(|error| Failure::Nonsense(error.to_string()))?;
            for event in events {
                if let Some(piece) = reply.take(&event)? {
                    hand_out(piece);
                }
            }
        }
        Ok(())
    }

    /// Waits for bytes, but not for ever.
    async fn in_time<T>(
        &self,
        bytes: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, Failure> {
        let waited = tokio::time::timeout(self.longest_silence, bytes).await;
        let came = waited.map_err(|_| Failure::TimedOut(self.longest_silence))?;
        came.map_err(|error| Failure::Broken(format!("{:#}", anyhow::Error::from(error))))
    }
}

/// What the server says with a status that is no success.
async fn refusal(response: Response) -> Failure {
    let status = response.status().as_u16();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after = retry_after(header("retry-after-ms"), header("retry-after"));
    let should_retry = header("x-should-retry").and_then(|value| value.parse().ok());
    let message = gist(&response.text().await.unwrap_or_default());
    Failure::Refused { status, message, retry_after, should_retry }
}

/// Any byte that differs from client to client.
fn dice() -> u8 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| (now.subsec_nanos() / 1000) as u8)
}

/// The reply as a message, or why the loop cannot go on with it.
fn usable(mut reply: Reply) -> Result<Message> {
    let reason = reply.stop_reason.unwrap_or_default();
    if matches!(reason.as_str(), "max_tokens" | "model_context_window_exceeded") {
        bail!("the model's reply is cut ({reason}), and a call in it may be torn: ask for less");
    }
    // The API refuses an empty text when it is sent back, but some models produce one.
    reply.content.retain(|block| !matches!(block, Block::Text { text } if text.trim().is_empty()));
    if reply.content.is_empty() {
        bail!("the model's reply is empty, no text and no call ({reason}): ask again");
    }
    Ok(Message { role: Role::Assistant, content: reply.content })
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
