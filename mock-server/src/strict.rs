//! What a request must be, with the messages of the real API.
//!
//! First the shape (`shape.rs`): the fields and their types. Then rules are tried in a fixed order.
//! The first that is broken is answered with a 400, as the API does. Two things it only warns of
//! (a first message of the assistant, text before a tool_result) are not refused here either.

mod pairing;
mod shape;

use std::collections::HashSet;

use serde_json::Value;

use crate::reply::signature;
use crate::request::{Content, blocks, content, is_role, is_type, list, messages};
use crate::scene::Limits;

type Broken = Result<(), String>;

/// Rules that hold for requests of which tokens are only counted, too.
const RULES: [fn(&Value) -> Broken; 5] = [tools, cache_marks, texts, pairing::check, signatures];

/// The first broken rule. `tokens` are the request's, as estimated.
pub fn check(body: &Value, limits: &Limits, tokens: u64) -> Broken {
    shape::check(body, false)?;
    RULES.iter().try_for_each(|rule| rule(body))?;
    last_message(body)?;
    numbers(body, limits)?;
    if tokens > limits.context_window {
        return Err(format!(
            "prompt is too long: {tokens} tokens > {} maximum",
            limits.context_window
        ));
    }
    Ok(())
}

/// The first broken rule of a request of which only the tokens are counted.
pub fn check_counted(body: &Value) -> Broken {
    shape::check(body, true)?;
    RULES.iter().try_for_each(|rule| rule(body))
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
        // The server's own tools have no schema.
        let is_custom = tool.get("type").is_none_or(|kind| kind == "custom");
        if is_custom && tool["input_schema"]["type"] != "object" {
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

/// Whether the API takes this as the name of a tool.
pub fn is_tool_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(shape::is_of_a_name)
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
        let all = blocks(message)
            .iter()
            .flat_map(|block| [block].into_iter().chain(shape::nested(block)));
        for block in all.filter(|block| is_type(block, "text")) {
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
    let mut marks = count_marks("tools", list(body, "tools"))?;
    marks += count_marks("system", list(body, "system"))?;
    marks += usize::from(is_marked(body));
    for (index, message) in messages(body).iter().enumerate() {
        let place = format!("messages.{index}.content");
        marks += count_marks(&place, blocks(message))?;
        for (number, block) in blocks(message).iter().enumerate() {
            let place = format!("{place}.{number}.tool_result.content");
            marks += count_marks(&place, shape::nested(block))?;
        }
    }
    if marks > 4 {
        return Err(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        ));
    }
    Ok(())
}

fn count_marks(place: &str, blocks: &[Value]) -> Result<usize, String> {
    let mut marks = 0;
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| is_marked(block)) {
        marks += 1;
        if is_type(block, "text") && block["text"] == "" {
            return Err(format!(
                "{place}.{index}: cache_control cannot be set for empty text blocks"
            ));
        }
    }
    Ok(marks)
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
