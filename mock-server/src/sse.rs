//! A message as the events in which the API streams it.

use serde_json::{Value, json};

/// Text and arguments come in pieces of about this many characters.
const PIECE: usize = 12;

/// What goes wrong inside the stream.
#[derive(Debug, Clone, Default)]
pub struct Flaws {
    /// Tool arguments end in the middle.
    pub malformed: bool,
    /// An `error` event of this type comes instead of the message's end.
    pub error_event: Option<String>,
}

/// The events of a message, each with its frame.
pub fn events(message: &Value, flaws: &Flaws) -> Vec<String> {
    let mut events = vec![start(message)];
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let cut_off = message["stop_reason"] == "max_tokens";
    for (index, block) in blocks.iter().enumerate() {
        let is_last = index + 1 == blocks.len();
        events.push(frame(json!({
            "type": "content_block_start", "index": index, "content_block": opened(block)
        })));
        if index == 0 {
            events.push(frame(json!({"type": "ping"})));
        }
        for delta in deltas(block, flaws.malformed) {
            events.push(frame(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        // The API does not close a block that max_tokens cut.
        if !(cut_off && is_last) {
            events.push(frame(json!({"type": "content_block_stop", "index": index})));
        }
    }
    if let Some(kind) = &flaws.error_event {
        let message = if kind == "overloaded_error" { "Overloaded" } else { "An error occurred" };
        events.push(frame(json!({"type": "error", "error": {"type": kind, "message": message}})));
        return events;
    }
    events.push(frame(json!({
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]},
        "usage": message["usage"],
    })));
    events.push(frame(json!({"type": "message_stop"})));
    events
}

fn frame(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn start(message: &Value) -> String {
    let mut begun = message.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["usage"]["output_tokens"] = json!(1);
    frame(json!({"type": "message_start", "message": begun}))
}

/// A block as it stands before its deltas.
fn opened(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_use") => {
            json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}})
        }
        Some("thinking") => json!({"type": "thinking", "thinking": "", "signature": ""}),
        _ => json!({"type": "text", "text": ""}),
    }
}

fn deltas(block: &Value, malformed: bool) -> Vec<Value> {
    match block["type"].as_str() {
        Some("tool_use") => arguments(&block["input"], malformed),
        Some("thinking") => {
            let text = block["thinking"].as_str().unwrap_or_default();
            let thought = pieces(text)
                .into_iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let signed = json!({"type": "signature_delta", "signature": block["signature"]});
            thought.chain([signed]).collect()
        }
        _ => pieces(block["text"].as_str().unwrap_or_default())
            .into_iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect(),
    }
}

fn arguments(input: &Value, malformed: bool) -> Vec<Value> {
    let whole = input.to_string();
    let mut end = whole.len();
    if malformed {
        end /= 2;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
    }
    std::iter::once("")
        .chain(pieces(&whole[..end]))
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
        .collect()
}

/// Cuts a text into pieces, between words where it can.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut length = 0;
    for (at, character) in text.char_indices() {
        length += 1;
        let end = at + character.len_utf8();
        if (length >= PIECE / 2 && character == ' ') || length >= 2 * PIECE {
            pieces.push(&text[from..end]);
            from = end;
            length = 0;
        }
    }
    if from < text.len() {
        pieces.push(&text[from..]);
    }
    pieces
}
