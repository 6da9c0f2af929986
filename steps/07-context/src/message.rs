//! What is said between us and the model, in the words of the Messages API.
//!
//! A conversation is a list of messages, and a message is a list of blocks. The model keeps nothing
//! between two calls: each request carries the whole list again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// The model wants a tool to be run.
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// What the tool gave. Every `ToolUse` needs one in the next message, or the API answers 400.
    ToolResult {
        tool_use_id: String,
        content: String,
        is_error: bool,
    },
    /// A block of a kind we do not know, such as thinking. The API wants it back unchanged.
    #[serde(untagged)]
    Other(Value),
}

impl Message {
    /// What the user typed.
    pub fn from_user(text: &str) -> Self {
        Self { role: Role::User, content: vec![Block::Text { text: text.to_string() }] }
    }

    /// What it says, without its calls.
    pub fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text } => Some(text.clone()),
            _ => None,
        };
        self.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
#[path = "../tests/message.rs"]
mod tests;
