//! What is said between us and the model, in the words of the Messages API.
//!
//! A conversation is a list of messages, and a message is a list of blocks. The model keeps nothing
//! between two calls: each request carries the whole list again. So what a model gets wrong in the form
//! of a reply is put right before it joins the list, or the API would refuse every request after it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    /// A block of a kind that we do not read, such as thinking. The API wants it back unchanged.
    #[serde(untagged)]
    Other(Value),
}

impl Message {
    /// What the user typed.
    pub fn from_user(text: &str) -> Self {
        Self { role: Role::User, content: vec![Block::Text { text: text.to_string() }] }
    }
}

/// The name under which an input that is no object stands in a call.
pub const UNREADABLE: &str = "unreadable_arguments";

impl Block {
    /// The block as a message of this role may hold it, if one may. Of the kinds that we do not read
    /// only thoughts may, with what proves that they are the model's own. The tool runner has an
    /// error for a name or an input that makes no sense.
    pub fn in_form(self, role: Role) -> Option<Self> {
        let is = |it: &Value, [kind, key]: &[&str; 2]| it["type"] == *kind && it[key].is_string();
        match self {
            Self::Text { text } if text.trim().is_empty() => None,
            Self::ToolUse { .. } | Self::Other(_) if role == Role::User => None,
            Self::ToolResult { .. } if role == Role::Assistant => None,
            Self::Other(it) if !THOUGHTS.iter().any(|thought| is(&it, thought)) => None,
            Self::ToolUse { id, name, input } => {
                let input = if input.is_object() { input } else { json!({ UNREADABLE: input }) };
                Some(Self::ToolUse { id: plain(&id), name: plain(&name), input })
            }
            fine => Some(fine),
        }
    }
}

/// Kinds of thoughts, and the field that proves each.
const THOUGHTS: [[&str; 2]; 2] = [["thinking", "signature"], ["redacted_thinking", "data"]];

/// An id or a name in the letters that the API takes.
pub fn plain(word: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    let word = if word.is_empty() { "_" } else { word };
    word.chars().take(128).map(letter).collect()
}

#[cfg(test)]
#[path = "../tests/message.rs"]
mod tests;
