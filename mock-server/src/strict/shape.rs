//! The shape of a request: which fields there may be, and of which type each must be.
//!
//! Tried before all rules, which may then rely on it. Messages name the place as the API does:
//! `messages.1.content.0.tool_use.name: …`. Kinds of blocks that a scene never speaks of (images,
//! documents, the server's own tools) are known by name only.

use serde_json::{Map, Value};

use super::{Broken, is_tool_name};
use crate::request::list;

const FIELDS: [&str; 22] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "thinking",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "output_config",
    "output_format",
    "cache_control",
    "inference_geo",
    "speed",
];
const BLOCKS: [&str; 17] = [
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "container_upload",
    "document",
    "image",
    "mcp_tool_result",
    "mcp_tool_use",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text",
    "text_editor_code_execution_tool_result",
    "thinking",
    "tool_result",
    "tool_use",
    "web_fetch_tool_result",
    "web_search_tool_result",
];
const IN_RESULTS: [&str; 5] = ["document", "image", "search_result", "text", "tool_reference"];
const ONLY_ASSISTANT: [&str; 3] = ["redacted_thinking", "thinking", "tool_use"];

/// The first field that is not as it must be. `counted`: tokens are only counted, so that
/// `max_tokens` need not be there.
pub fn check(body: &Value, counted: bool) -> Broken {
    let body = object(body, "")?;
    if let Some(unknown) = body.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return wrong(unknown, "Extra inputs are not permitted");
    }
    if text(body, "model", "")?.is_empty() {
        return wrong("model", "String should have at least 1 character");
    }
    if !counted && !body.contains_key("max_tokens") {
        return wrong("max_tokens", "Field required");
    }
    all_messages(body)?;
    system(body)?;
    tools(body)?;
    choice(body)?;
    settings(body)?;
    optional(body, "cache_control", |mark| cache_mark(mark, "cache_control"))
}

fn wrong<T>(place: &str, what: &str) -> Result<T, String> {
    match place {
        "" => Err(what.to_string()),
        place => Err(format!("{place}: {what}")),
    }
}

/// The place of a field: `at` is `messages.0`, or empty at the top.
fn inside(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_string() } else { format!("{at}.{key}") }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().map_or_else(|| wrong(at, "Input should be a valid dictionary"), Ok)
}

fn array<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], String> {
    let items = value.as_array().map(Vec::as_slice);
    items.map_or_else(|| wrong(at, "Input should be a valid list"), Ok)
}

/// A text that must be there.
fn text<'a>(map: &'a Map<String, Value>, key: &str, at: &str) -> Result<&'a str, String> {
    match map.get(key) {
        None => wrong(&inside(at, key), "Field required"),
        Some(Value::String(text)) => Ok(text),
        Some(_) => wrong(&inside(at, key), "Input should be a valid string"),
    }
}

/// Looks at a field where it is there.
fn optional(map: &Map<String, Value>, key: &str, check: impl Fn(&Value) -> Broken) -> Broken {
    map.get(key).map_or(Ok(()), check)
}

/// `type` and what it may be.
fn kind<'a>(map: &'a Map<String, Value>, known: &[&str], at: &str) -> Result<&'a str, String> {
    let kind = text(map, "type", at)?;
    if known.contains(&kind) {
        return Ok(kind);
    }
    let quoted: Vec<String> = known.iter().map(|known| format!("'{known}'")).collect();
    let tags = quoted.join(", ");
    let what = format!(
        "Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
    );
    wrong(at, &what)
}

fn all_messages(body: &Map<String, Value>) -> Broken {
    let Some(all) = body.get("messages") else { return wrong("messages", "Field required") };
    let all = array(all, "messages")?;
    if all.is_empty() {
        return wrong("messages", "at least one message is required");
    }
    for (index, message) in all.iter().enumerate() {
        let at = format!("messages.{index}");
        let message = object(message, &at)?;
        if let Some(unknown) = message.keys().find(|key| *key != "role" && *key != "content") {
            return wrong(&inside(&at, unknown), "Extra inputs are not permitted");
        }
        let role = text(message, "role", &at)?;
        if role != "user" && role != "assistant" {
            return Err(format!(
                "messages: Unexpected role \"{role}\". The Messages API accepts a top-level \
                 `system` parameter, not \"system\" as an input message role."
            ));
        }
        match message.get("content") {
            None => return wrong(&inside(&at, "content"), "Field required"),
            Some(Value::String(_)) => {}
            Some(content) => blocks(content, role, &at)?,
        }
    }
    Ok(())
}

fn blocks(content: &Value, role: &str, message: &str) -> Broken {
    let at = inside(message, "content");
    for (index, value) in array(content, &at)?.iter().enumerate() {
        let at = format!("{at}.{index}");
        let kind = block(value, &BLOCKS, &at)?;
        let belongs_to = match kind {
            "tool_result" => "user",
            kind if ONLY_ASSISTANT.contains(&kind) => "assistant",
            _ => role,
        };
        if belongs_to != role {
            let what = format!("`{kind}` blocks can only be in `{belongs_to}` messages");
            return wrong(message, &what);
        }
    }
    Ok(())
}

/// One block; its kind.
fn block<'a>(value: &'a Value, known: &[&str], at: &str) -> Result<&'a str, String> {
    let block = object(value, at)?;
    let kind = kind(block, known, at)?;
    let at = inside(at, kind);
    match kind {
        "text" => drop(text(block, "text", &at)?),
        "thinking" => {
            text(block, "thinking", &at)?;
            text(block, "signature", &at)?;
        }
        "redacted_thinking" => drop(text(block, "data", &at)?),
        "tool_use" => call(block, &at)?,
        "tool_result" => result(block, &at)?,
        "image" | "document" => match block.get("source") {
            Some(source) => drop(object(source, &inside(&at, "source"))?),
            None => return wrong(&inside(&at, "source"), "Field required"),
        },
        _ => {}
    }
    optional(block, "cache_control", |mark| cache_mark(mark, &inside(&at, "cache_control")))?;
    Ok(kind)
}

fn call(block: &Map<String, Value>, at: &str) -> Broken {
    let id = text(block, "id", at)?;
    if id.is_empty() || !id.bytes().all(is_of_a_name) {
        return wrong(&inside(at, "id"), "String should match pattern '^[a-zA-Z0-9_-]+$'");
    }
    let name = text(block, "name", at)?;
    if !is_tool_name(name) {
        let what = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
        return wrong(&inside(at, "name"), what);
    }
    match block.get("input") {
        Some(input) => object(input, &inside(at, "input")).map(drop),
        None => wrong(&inside(at, "input"), "Field required"),
    }
}

pub fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn result(result: &Map<String, Value>, at: &str) -> Broken {
    text(result, "tool_use_id", at)?;
    optional(result, "is_error", |is_error| boolean(is_error, &inside(at, "is_error")))?;
    let at = inside(at, "content");
    match result.get("content") {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) => {
            for (index, value) in blocks.iter().enumerate() {
                block(value, &IN_RESULTS, &format!("{at}.{index}"))?;
            }
        }
        Some(_) => return wrong(&at, "Input should be a valid string or list"),
    }
    Ok(())
}

fn boolean(value: &Value, at: &str) -> Broken {
    if value.is_boolean() { Ok(()) } else { wrong(at, "Input should be a valid boolean") }
}

/// A mark may be null: then there is none.
fn cache_mark(mark: &Value, at: &str) -> Broken {
    if mark.is_null() {
        return Ok(());
    }
    let mark = object(mark, at)?;
    kind(mark, &["ephemeral"], at)?;
    optional(mark, "ttl", |ttl| match ttl.as_str() {
        Some("5m" | "1h") => Ok(()),
        _ => wrong(&inside(at, "ephemeral.ttl"), "Input should be '5m' or '1h'"),
    })
}

fn system(body: &Map<String, Value>) -> Broken {
    optional(body, "system", |system| {
        if system.is_string() {
            return Ok(());
        }
        for (index, value) in array(system, "system")?.iter().enumerate() {
            block(value, &["text"], &format!("system.{index}"))?;
        }
        Ok(())
    })
}

fn tools(body: &Map<String, Value>) -> Broken {
    optional(body, "tools", |tools| {
        for (index, tool) in array(tools, "tools")?.iter().enumerate() {
            let at = format!("tools.{index}");
            let tool = object(tool, &at)?;
            let mark = inside(&at, "cache_control");
            optional(tool, "cache_control", |control| cache_mark(control, &mark))?;
            optional(tool, "description", |description| {
                let is_text = description.is_string();
                let place = inside(&at, "custom.description");
                if is_text { Ok(()) } else { wrong(&place, "Input should be a valid string") }
            })?;
        }
        Ok(())
    })
}

fn choice(body: &Map<String, Value>) -> Broken {
    optional(body, "tool_choice", |choice| {
        let choice = object(choice, "tool_choice")?;
        if kind(choice, &["any", "auto", "none", "tool"], "tool_choice")? != "tool" {
            return Ok(());
        }
        let name = text(choice, "name", "tool_choice.tool")?;
        let tools = body.get("tools").and_then(Value::as_array);
        if tools.is_some_and(|tools| tools.iter().any(|tool| tool["name"] == name)) {
            return Ok(());
        }
        Err(format!("Tool '{name}' not found in provided tools"))
    })
}

fn settings(body: &Map<String, Value>) -> Broken {
    optional(body, "stream", |stream| boolean(stream, "stream"))?;
    optional(body, "thinking", |thinking| {
        let thinking = object(thinking, "thinking")?;
        kind(thinking, &["adaptive", "disabled", "enabled"], "thinking").map(drop)
    })?;
    optional(body, "metadata", |metadata| object(metadata, "metadata").map(drop))?;
    optional(body, "stop_sequences", |stops| {
        let is_text = |stop: &Value| stop.is_string();
        match array(stops, "stop_sequences")?.iter().position(|stop| !is_text(stop)) {
            Some(at) => wrong(&format!("stop_sequences.{at}"), "Input should be a valid string"),
            None => Ok(()),
        }
    })?;
    for key in ["temperature", "top_p"] {
        optional(body, key, |number| match number.as_f64() {
            None => wrong(key, "Input should be a valid number"),
            Some(number) if number < 0.0 => {
                wrong(key, "Input should be greater than or equal to 0")
            }
            Some(number) if number > 1.0 => wrong(key, "Input should be less than or equal to 1"),
            Some(_) => Ok(()),
        })?;
    }
    optional(body, "top_k", |number| match number.as_u64() {
        None => wrong("top_k", "Input should be a valid integer"),
        Some(_) => Ok(()),
    })
}

/// The blocks inside a tool result: they, too, hold texts and cache marks.
pub fn nested(block: &Value) -> &[Value] {
    if block["type"] == "tool_result" { list(block, "content") } else { &[] }
}
