//! One call to the model: a POST of the whole conversation, and the whole reply at once.
//!
//! Whatever is wrong with a reply becomes an error in clear words here, so that the loop only ever
//! sees a reply it can use. Nothing is streamed and nothing is tried again; both come later.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::message::{Block, Message, Role};
use crate::tools::Tool;

/// The longest reply we accept, in tokens. The API wants a figure. Where it is too small, a long
/// file that the model writes is cut off.
const MAX_TOKENS: u32 = 16_000;

/// For the whole call. A reply of that length takes minutes; one that takes longer will not come.
const TIME_LIMIT: Duration = Duration::from_secs(600);

pub struct Model {
    http: reqwest::Client,
    url: String,
    key: String,
    pub name: String,
}

#[derive(Deserialize)]
struct Reply {
    content: Vec<Block>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
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
            http: reqwest::Client::builder().timeout(TIME_LIMIT).build()?,
            url: format!("{}/v1/messages", variable("ANTHROPIC_BASE_URL")?.trim_end_matches('/')),
            key: variable("ANTHROPIC_API_KEY")?,
            name: variable("ANTHROPIC_MODEL")?,
        })
    }

    /// Sends the conversation, and the tools the model may call; returns its message, and what it
    /// took.
    pub async fn ask(
        &self,
        system: &Value,
        messages: &[Value],
        tools: &[Tool],
    ) -> Result<(Message, Usage)> {
        let request = json!({
            "model": self.name, "max_tokens": MAX_TOKENS, "tools": tools, "system": system,
            "messages": messages,
        });
        let response = self
            .http
            .post(&self.url)
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .json(&request)
            .send()
            .await
            .with_context(|| format!("the model at {} cannot be reached", self.url))?;
        let status = response.status();
        let body = response.text().await.context("the model's reply broke off on the way")?;
        if !status.is_success() {
            bail!("the model answered {status}: {}", gist(&body));
        }
        let reply: Reply = serde_json::from_str(&body)
            .with_context(|| format!("the model's reply is not a message: {}", gist(&body)))?;
        let usage = reply.usage;
        Ok((usable(reply)?, usage))
    }
}

/// The reply as a message, or why the loop cannot go on with it.
fn usable(mut reply: Reply) -> Result<Message> {
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
