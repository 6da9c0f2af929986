//! What a request must be, with the messages of the real API.
//!
//! Rules are tried in a fixed order, and the first that is broken is answered with a 400, as the
//! API does. Two things it only warns of (a first message of the assistant, text before a
//! tool_result) are not refused here either.

use std::collections::HashSet;

use serde_json::Value;

use crate::reply::signature;
use crate::request::{Content, blocks, content, is_role, is_type, list, messages};
use crate::scene::Limits;

type Broken = Result<(), String>;

/// The first broken rule. `tokens` are the request's, as estimated.
pub fn check(body: &Value, limits: &Limits, tokens: u64) -> Broken {
    for rule in [shape, tools, cache_marks, texts, pairing, signatures, last_message] {
        rule(body)?;
    }
    numbers(body, limits)?;
    if tokens > limits.context_window {
        return Err(format!(
            "prompt is too long: {tokens} tokens > {} maximum",
            limits.context_window
        ));
    }
    Ok(())
}

fn shape(body: &Value) -> Broken {
    if !body.is_object() {
        return Err("Input should be a valid dictionary".into());
    }
    if !body["model"].is_string() {
        return Err("model: Field required".into());
    }
    if body.get("max_tokens").is_none() {
        return Err("max_tokens: Field required".into());
    }
    let Some(all) = body["messages"].as_array() else {
        return Err("messages: Field required".into());
    };
    if all.is_empty() {
        return Err("messages: at least one message is required".into());
    }
    for (index, message) in all.iter().enumerate() {
        if !is_role(message, "user") && !is_role(message, "assistant") {
            let role = message["role"].as_str().unwrap_or_default();
            return Err(format!(
                "messages: Unexpected role \"{role}\". The Messages API accepts a top-level \
                 `system` parameter, not \"system\" as an input message role."
            ));
        }
        if !message["content"].is_string() && !message["content"].is_array() {
            return Err(format!("messages.{index}.content: Field required"));
        }
    }
    Ok(())
}

fn tools(body: &Value) -> Broken {
    let mut names = HashSet::new();
    for (index, tool) in list(body, "tools").iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_tool_name(name) {
            return Err(format!(
                "tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".into());
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!(
                "tools.{index}.custom.input_schema.type: Input should be 'object'"
            ));
        }
    }
    let calls = |block: &Value| is_type(block, "tool_use") || is_type(block, "tool_result");
    if names.is_empty() && messages(body).iter().flat_map(blocks).any(calls) {
        return Err(
            "Requests which include `tool_use` or `tool_result` blocks must define tools".into()
        );
    }
    Ok(())
}

fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn texts(body: &Value) -> Broken {
    let count = messages(body).len();
    for (index, message) in messages(body).iter().enumerate() {
        let last_assistant = index + 1 == count && is_role(message, "assistant");
        let is_empty = match content(&message["content"]) {
            Content::Text(text) => text.is_empty(),
            Content::Blocks(blocks) => blocks.is_empty(),
        };
        if is_empty && !last_assistant {
            return Err(format!(
                "messages.{index}: all messages must have non-empty content except for the \
                 optional final assistant message"
            ));
        }
        if let Content::Text(text) = content(&message["content"])
            && !text.is_empty()
        {
            has_text(text, "messages")?;
        }
        for block in blocks(message).iter().filter(|block| is_type(block, "text")) {
            has_text(block["text"].as_str().unwrap_or_default(), "messages")?;
        }
    }
    for block in list(body, "system") {
        has_text(block["text"].as_str().unwrap_or_default(), "system")?;
    }
    Ok(())
}

fn has_text(text: &str, place: &str) -> Broken {
    if text.is_empty() {
        return Err(format!("{place}: text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        return Err(format!("{place}: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

/// Messages of one role in a row are one message to the API.
fn merged(body: &Value) -> Vec<(usize, &str, Vec<&Value>)> {
    let mut merged: Vec<(usize, &str, Vec<&Value>)> = Vec::new();
    for (index, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        // A string stands for a text block; its text does not matter here.
        let all: Vec<&Value> = match content(&message["content"]) {
            Content::Text(_) => vec![&message["content"]],
            Content::Blocks(blocks) => blocks.iter().collect(),
        };
        match merged.last_mut() {
            Some((_, last, blocks)) if *last == role => blocks.extend(all),
            _ => merged.push((index, role, all)),
        }
    }
    merged
}

/// Every call has its result in the next message, every result its call in the one before.
fn pairing(body: &Value) -> Broken {
    let all = merged(body);
    let mut seen = HashSet::new();
    for (position, (index, role, blocks)) in all.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| &all[before]);
        results_have_calls(*index, blocks, before.map_or(&[], |(_, _, blocks)| blocks))?;
        if *role != "assistant" {
            continue;
        }
        for (number, block) in blocks.iter().enumerate().filter(|(_, b)| is_type(b, "tool_use")) {
            let id = block["id"].as_str().unwrap_or_default();
            if !seen.insert(id) {
                return Err(format!(
                    "messages.{index}.content.{number}: `tool_use` ids must be unique"
                ));
            }
            if !block["input"].is_object() {
                return Err(format!(
                    "messages.{index}.content.{number}.tool_use.input: Input should be a valid dictionary"
                ));
            }
        }
        let next = all.get(position + 1).map_or(&[][..], |(_, _, blocks)| blocks);
        calls_have_results(*index, blocks, next)?;
    }
    Ok(())
}

fn calls_have_results(index: usize, blocks: &[&Value], next: &[&Value]) -> Broken {
    let calls: Vec<usize> = (0..blocks.len()).filter(|i| is_type(blocks[*i], "tool_use")).collect();
    let Some(last) = calls.last() else { return Ok(()) };
    let text_follows = blocks[*last..].iter().any(|block| is_text(block))
        || blocks[calls[0]..*last].iter().any(|block| is_text(block));
    let answered = |id: &Value| {
        next.iter().any(|block| is_type(block, "tool_result") && block["tool_use_id"] == *id)
    };
    let missing: Vec<&str> = calls
        .iter()
        .map(|call| &blocks[*call]["id"])
        .filter(|id| text_follows || !answered(id))
        .map(|id| id.as_str().unwrap_or_default())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        missing.join(", ")
    ))
}

fn is_text(block: &Value) -> bool {
    block.is_string() || is_type(block, "text")
}

fn results_have_calls(index: usize, blocks: &[&Value], before: &[&Value]) -> Broken {
    let mut seen = HashSet::new();
    for (number, block) in blocks.iter().enumerate().filter(|(_, b)| is_type(b, "tool_result")) {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        let called = before.iter().any(|call| is_type(call, "tool_use") && call["id"] == id);
        if !called {
            return Err(format!(
                "messages.{index}.content.{number}: unexpected `tool_use_id` found in \
                 `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding \
                 `tool_use` block in the previous message."
            ));
        }
        if !seen.insert(id) {
            return Err(format!(
                "messages.{index}.content.{number}: each tool_use must have a single result. \
                 Found multiple `tool_result` blocks with id: {id}"
            ));
        }
    }
    Ok(())
}

fn signatures(body: &Value) -> Broken {
    for (index, message) in messages(body).iter().enumerate() {
        let thoughts = blocks(message).iter().enumerate().filter(|(_, b)| is_type(b, "thinking"));
        for (number, block) in thoughts {
            let thinking = block["thinking"].as_str().unwrap_or_default();
            if block["signature"] != signature(thinking).as_str() {
                return Err(format!(
                    "messages.{index}.content.{number}: Invalid `signature` in `thinking` block"
                ));
            }
        }
    }
    Ok(())
}

fn cache_marks(body: &Value) -> Broken {
    let mut marks = 0;
    let places = ["tools".to_string(), "system".to_string()].into_iter();
    let lists = places.zip([list(body, "tools"), list(body, "system")]);
    let in_messages = messages(body).iter().enumerate();
    let in_messages = in_messages.map(|(n, m)| (format!("messages.{n}.content"), blocks(m)));
    for (place, blocks) in lists.chain(in_messages) {
        for (index, block) in blocks.iter().enumerate().filter(|(_, block)| is_marked(block)) {
            marks += 1;
            if is_type(block, "text") && block["text"] == "" {
                return Err(format!(
                    "{place}.{index}: cache_control cannot be set for empty text blocks"
                ));
            }
        }
    }
    if marks > 4 {
        return Err(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        ));
    }
    Ok(())
}

fn is_marked(block: &Value) -> bool {
    block.get("cache_control").is_some_and(|mark| !mark.is_null())
}

fn last_message(body: &Value) -> Broken {
    let Some(last) = messages(body).last() else { return Ok(()) };
    if is_role(last, "assistant") {
        return Err(
            "This model does not support assistant message prefill. The conversation must \
                    end with a user message."
                .into(),
        );
    }
    Ok(())
}

fn numbers(body: &Value, limits: &Limits) -> Broken {
    let Some(max_tokens) = body["max_tokens"].as_u64() else {
        return Err("max_tokens: Input should be a valid integer".into());
    };
    if max_tokens == 0 {
        return Err("max_tokens: Input should be greater than or equal to 1".into());
    }
    if max_tokens > limits.max_output {
        let model = body["model"].as_str().unwrap_or_default();
        return Err(format!(
            "max_tokens: {max_tokens} > {}, which is the maximum allowed number of output tokens \
             for {model}",
            limits.max_output
        ));
    }
    if body["thinking"]["type"] == "enabled" {
        thinking(body, max_tokens)?;
    }
    Ok(())
}

fn thinking(body: &Value, max_tokens: u64) -> Broken {
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 {
        return Err(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".into(),
        );
    }
    if max_tokens <= budget {
        return Err("`max_tokens` must be greater than `thinking.budget_tokens`".into());
    }
    let mut assistants = messages(body).iter().enumerate().filter(|(_, m)| is_role(m, "assistant"));
    let Some((index, last)) = assistants.next_back() else { return Ok(()) };
    let Some(first) = blocks(last).first() else { return Ok(()) };
    let calls = blocks(last).iter().any(|block| is_type(block, "tool_use"));
    let begins_thinking = is_type(first, "thinking") || is_type(first, "redacted_thinking");
    if calls && !begins_thinking {
        let found = first["type"].as_str().unwrap_or_default();
        return Err(format!(
            "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but \
             found `{found}`."
        ));
    }
    Ok(())
}
