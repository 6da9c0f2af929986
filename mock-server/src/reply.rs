//! What the model says at a line, as the API's JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::place::tool_use_id;
use crate::scene::{Reply, Speech};
use crate::usage::{Usage, tokens};
use crate::values::Values;

/// What the front tells the inner server of a request: all that a reply line needs to speak.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cue {
    /// Counted over all requests.
    pub number: usize,
    pub attempt: usize,
    pub model: String,
    pub values: Values,
    /// An expectation was missed.
    pub missed: bool,
    pub usage: Usage,
    /// For a request that no line expects: what came, and what was expected.
    pub surprise: String,
}

/// The speech of a line on this cue, and whether it is the other one.
pub fn speech<'a>(reply: &'a Reply, cue: &Cue) -> (&'a Speech, bool) {
    match &reply.otherwise {
        Some(otherwise) if cue.missed => (otherwise, true),
        _ => (&reply.speech, false),
    }
}

/// The status of a line's reply on this attempt, and its JSON: a message, or an error.
pub fn answer(part: &str, line: usize, reply: &Reply, cue: &Cue) -> (u16, Value) {
    match cue.attempt.checked_sub(1).and_then(|before| reply.fault.status.get(before)) {
        Some(status) => (*status, error_of_status(*status, cue.number)),
        None => (200, message(part, line, reply, cue)),
    }
}

fn message(part: &str, line: usize, reply: &Reply, cue: &Cue) -> Value {
    let (speech, otherwise) = speech(reply, cue);
    let mut content = Vec::new();
    let mut said = 0;
    if let Some(thinking) = &speech.thinking {
        let thinking = cue.values.fill(thinking);
        said += tokens(&thinking);
        let signature = signature(&thinking);
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
    }
    if let Some(say) = speech.say.as_ref().filter(|say| !say.is_empty()) {
        let say = cue.values.fill(say);
        said += tokens(&say);
        content.push(json!({"type": "text", "text": say}));
    }
    for (number, call) in speech.calls.iter().enumerate() {
        let input = filled(&Value::Object(call.input.clone()), &cue.values);
        said += tokens(&call.tool) + tokens(&input.to_string());
        let id = tool_use_id(part, line, number, otherwise);
        content.push(json!({"type": "tool_use", "id": id, "name": call.tool, "input": input}));
    }
    let natural = if speech.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = Usage { output_tokens: said.max(1), ..cue.usage };
    json!({
        "id": format!("msg_{part}_{line:04}"),
        "type": "message",
        "role": "assistant",
        "model": cue.model,
        "content": content,
        "stop_reason": speech.stop.as_deref().unwrap_or(natural),
        "stop_sequence": null,
        "usage": usage,
    })
}

/// What signs a thought: it must come back with the thought unchanged (FNV-1a of the text).
pub fn signature(thinking: &str) -> String {
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("sig_{hash:016x}")
}

/// A value with every text in it filled.
fn filled(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => values.number(text).unwrap_or_else(|| values.fill(text).into()),
        Value::Array(items) => items.iter().map(|item| filled(item, values)).collect(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.clone(), filled(value, values)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The API's error body.
pub fn error(kind: &str, message: &str, number: usize) -> Value {
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": request_id(number),
    })
}

pub fn request_id(number: usize) -> String {
    format!("req_{number:06}")
}

/// The error type that goes with a status, and words for it.
pub fn kind_of_status(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "invalid x-api-key"),
        402 => ("billing_error", "Your credit balance is too low to access the API"),
        403 => ("permission_error", "Your API key may not use this resource"),
        404 => ("not_found_error", "Not found"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your rate limit"),
        504 => ("timeout_error", "The request timed out"),
        529 => ("overloaded_error", "Overloaded"),
        400..500 => ("invalid_request_error", "Invalid request"),
        _ => ("api_error", "Internal server error"),
    }
}

pub fn error_of_status(status: u16, number: usize) -> Value {
    let (kind, message) = kind_of_status(status);
    error(kind, message, number)
}
