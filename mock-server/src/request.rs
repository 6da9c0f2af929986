//! Looking into a request's body without copying it.
//!
//! `content` and `system` may be a string or a list of blocks; here both read the same.

use std::collections::HashMap;

use serde_json::Value;

/// A message's `content` or a request's `system`, as blocks or as one text.
pub enum Content<'a> {
    Text(&'a str),
    Blocks(&'a [Value]),
}

pub fn content(value: &Value) -> Content<'_> {
    match value {
        Value::String(text) => Content::Text(text),
        Value::Array(blocks) => Content::Blocks(blocks),
        _ => Content::Blocks(&[]),
    }
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub fn messages(body: &Value) -> &[Value] {
    list(body, "messages")
}

/// The blocks of a message; none where the content is a string.
pub fn blocks(message: &Value) -> &[Value] {
    list(message, "content")
}

pub fn is_role(message: &Value, role: &str) -> bool {
    message["role"] == role
}

pub fn is_type(block: &Value, kind: &str) -> bool {
    block["type"] == kind
}

/// The texts of a content: the string, or its text blocks.
pub fn texts(value: &Value) -> Vec<&str> {
    match content(value) {
        Content::Text(text) => vec![text],
        Content::Blocks(blocks) => blocks
            .iter()
            .filter(|block| is_type(block, "text"))
            .filter_map(|block| block["text"].as_str())
            .collect(),
    }
}

/// Everything that can be read in a request: the system prompt, texts, and tool results.
pub fn all_texts(body: &Value) -> Vec<&str> {
    let mut all = texts(&body["system"]);
    for message in messages(body) {
        all.extend(texts(&message["content"]));
        for block in blocks(message).iter().filter(|block| is_type(block, "tool_result")) {
            all.extend(texts(&block["content"]));
        }
    }
    all
}

pub fn holds(body: &Value, wanted: &str) -> bool {
    all_texts(body).iter().any(|text| text.contains(wanted))
}

/// The tool results of a request by the id of their call; of two, the first.
pub fn results(body: &Value) -> HashMap<&str, &Value> {
    let mut results = HashMap::new();
    for block in messages(body).iter().flat_map(blocks).filter(|b| is_type(b, "tool_result")) {
        if let Some(id) = block["tool_use_id"].as_str() {
            results.entry(id).or_insert(block);
        }
    }
    results
}

/// The newest text of the user, cut to one line for messages.
pub fn last_user_text(body: &Value) -> Option<String> {
    let last = messages(body).iter().rev().find(|message| is_role(message, "user"))?;
    texts(&last["content"]).last().map(|text| short(text))
}

/// The first line of a text, at most 80 characters of it.
pub fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    if line.chars().count() <= 80 {
        return line.to_string();
    }
    line.chars().take(79).chain(['…']).collect()
}
