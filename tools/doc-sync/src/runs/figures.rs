//! What pictures are drawn from: a run's requests and replies, cut down to what a picture can show.
//!
//! A whole trace says everything again with each request, and would fill megabytes. Kept are the
//! counts, the messages that are new in a request, and the beginning of each text.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::same;

/// Goes into the hash of every run that figures are taken from.
pub const FORM: u32 = 3;

/// Characters of a text that are kept.
const KEPT: usize = 200;

/// The figures of a run, as JSON with a line for each request and line of the session.
pub fn of(trace: &str, screen: &str, session: Option<&str>) -> Result<String> {
    let trace: Vec<Value> = serde_json::from_str(trace).context("the trace is no JSON list")?;
    let first = trace.first().map(layers).unwrap_or_default();
    let mut seen: Map<String, Value> = Map::new();
    let mut requests = Vec::new();
    for exchange in &trace {
        requests.push(request(exchange, &mut seen));
    }
    let session = session.unwrap_or_default().lines().map(line_of_session);
    let usable = usable(screen);
    let list = |items: Vec<Value>| {
        let lines: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
        if lines.is_empty() { "[]".to_string() } else { format!("[\n{}\n]", lines.join(",\n")) }
    };
    let session = list(session.collect());
    let tools = trace.first().and_then(|first| first["request"]["tools"].as_array());
    let tools = tools.map_or(0, Vec::len);
    Ok(format!(
        "{{\n\"usable\": {usable},\n\"tools\": {tools},\n\"due\": {},\n\"layers\": {},\n\"requests\": {},\n\"questions\": {},\n\"session\": {session}\n}}\n",
        due(screen),
        list(first),
        list(requests),
        list(questions(screen))
    ))
}

fn request(exchange: &Value, seen: &mut Map<String, Value>) -> Value {
    let messages = exchange["request"]["messages"].as_array().cloned().unwrap_or_default();
    let part = exchange["part"].as_str().unwrap_or("main").to_string();
    let known = seen.get(&part).and_then(Value::as_u64).unwrap_or(0) as usize;
    // A history that was made shorter is new as a whole.
    let known = if known <= messages.len() { known } else { 0 };
    let new: Vec<Value> = messages[known..].iter().map(message).collect();
    seen.insert(part.clone(), json!(messages.len()));
    let usage = &exchange["reply"]["usage"];
    json!({
        "part": part,
        "attempt": exchange["attempt"],
        "status": exchange["status"],
        "messages": messages.len(),
        "read": usage["cache_read_input_tokens"],
        "written": usage["cache_creation_input_tokens"],
        "fresh": usage["input_tokens"],
        "new": new,
        "says": blocks(&exchange["reply"]["content"]),
    })
}

fn message(message: &Value) -> Value {
    json!({ "role": message["role"], "blocks": blocks(&message["content"]) })
}

fn blocks(content: &Value) -> Vec<Value> {
    let text = json!([{ "type": "text", "text": content }]);
    let list = if content.is_string() { &text } else { content };
    list.as_array().map_or(Vec::new(), |blocks| blocks.iter().map(block).collect())
}

/// A block with its texts cut, and how many characters there were.
fn block(block: &Value) -> Value {
    let kind = block["type"].as_str().unwrap_or_default();
    let whole = match kind {
        "tool_use" => block["input"].to_string(),
        "tool_result" => text_of(&block["content"]),
        _ => block["text"].as_str().unwrap_or_default().to_string(),
    };
    let whole = plain(&whole);
    let mut kept =
        json!({ "type": kind, "text": cut(&whole), "characters": whole.chars().count() });
    for name in ["name", "is_error"] {
        if !block[name].is_null() {
            kept[name] = block[name].clone();
        }
    }
    kept
}

fn text_of(content: &Value) -> String {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    content.as_str().map_or_else(|| texts.join("\n"), str::to_string)
}

/// A line of a session's file: a message, the tokens of a reply, or one that cannot be read.
fn line_of_session(line: &str) -> Value {
    let Ok(read) = serde_json::from_str::<Value>(line) else {
        return json!({ "kind": "torn", "text": cut(&plain(line)), "bytes": line.len() });
    };
    match read["kind"].as_str() {
        Some("message") => {
            json!({ "kind": "message", "role": read["role"], "blocks": blocks(&read["content"]) })
        }
        kind => json!({ "kind": kind }),
    }
}

/// What a person was asked, and answered: `? WHAT`, the reason, then the answer behind `[y/n/a]`.
fn questions(screen: &str) -> Vec<Value> {
    let mut questions = Vec::new();
    let mut what = None;
    for line in screen.lines() {
        if let Some(asked) = line.strip_prefix("? ") {
            what = Some(asked.to_string());
        } else if let (Some(asked), Some((_, answer))) = (&what, line.split_once("[y/n/a] ")) {
            questions.push(json!({ "what": asked, "answer": answer.trim() }));
            what = None;
        }
    }
    questions
}

/// The same on every system, without a line end behind it.
fn plain(text: &str) -> String {
    same::everywhere(text, "/tmp").trim_end().to_string()
}

/// What stands before the history in a request: the tools, the system prompt's blocks, and the
/// first message's; each with its size and whether a cache mark ends it.
fn layers(exchange: &Value) -> Vec<Value> {
    let request = &exchange["request"];
    let layer = |name: &str, text: &str, marked: bool| {
        let text = plain(text);
        let characters = text.chars().count();
        json!({ "name": name, "text": cut(&text), "characters": characters, "marked": marked })
    };
    let mut layers = Vec::new();
    if let Some(tools) = request["tools"].as_array() {
        let marked = tools.iter().any(|tool| !tool["cache_control"].is_null());
        layers.push(layer("tools", &request["tools"].to_string(), marked));
    }
    for (name, blocks) in
        [("system", &request["system"]), ("first message", &request["messages"][0]["content"])]
    {
        for block in blocks.as_array().map_or(&[][..], Vec::as_slice) {
            let text = block["text"].as_str().unwrap_or_default();
            layers.push(layer(name, text, !block["cache_control"].is_null()));
        }
    }
    layers
}

/// The tokens that a window can hold, where the screen says it: `… of 13,334 tokens`.
fn usable(screen: &str) -> Value {
    let line = screen.lines().find(|line| line.contains("% full"));
    let words = line.and_then(|line| line.split(" of ").last());
    let digits: String = words.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().map_or(Value::Null, |tokens| json!(tokens))
}

/// The tokens that were too many, where the screen says that a summary is due.
fn due(screen: &str) -> Value {
    let line = screen.lines().find(|line| line.contains("a summary is due"));
    let before = line.and_then(|line| line.split(" of ").next()).unwrap_or_default();
    let digits: String = before.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().map_or(Value::Null, |tokens| json!(tokens))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(KEPT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_request_only_what_is_new_is_kept() {
        let first = json!({ "role": "user", "content": "How long?" });
        let reply = json!([{ "type": "tool_use", "id": "t", "name": "read_file", "input": { "path": "a" } }]);
        let result =
            json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x".repeat(300) }]);
        let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1 });
        let trace = json!([
            { "part": "main", "attempt": 1, "status": 200,
              "request": { "messages": [first], "tools": [], "system": [{ "type": "text", "text": "Be." }] },
              "reply": { "content": reply, "usage": usage } },
            { "part": "main", "attempt": 1, "status": 200,
              "request": { "messages": [first, { "role": "assistant", "content": reply }, { "role": "user", "content": result }] },
              "reply": { "content": [], "usage": usage } },
        ]);
        let screen = "? rm x\n  Run it? [y/n/a] y\n  · compaction: 13,014 of 13,334 tokens, a summary is due\n  ▕█▏ 11 % full · 1,597 of 13,334 tokens\n";
        let figures: Value = serde_json::from_str(
            &of(&trace.to_string(), screen, Some("{\"kind\":\"usage\"}\n{\"a")).unwrap(),
        )
        .unwrap();
        assert_eq!((&figures["usable"], &figures["due"]), (&json!(13_334), &json!(13_014)));
        assert_eq!(
            figures["layers"][1],
            json!({ "name": "system", "text": "Be.", "characters": 3, "marked": false })
        );
        let second = &figures["requests"][1];
        assert_eq!((&second["messages"], second["new"].as_array().unwrap().len()), (&json!(3), 2));
        assert_eq!(second["new"][1]["blocks"][0]["characters"], 300);
        assert_eq!(figures["requests"][0]["says"][0]["name"], "read_file");
        let session = json!([{ "kind": "usage" }, { "kind": "torn", "text": "{\"a", "bytes": 3 }]);
        assert_eq!(figures["session"], session);
        assert_eq!(figures["questions"], json!([{ "what": "rm x", "answer": "y" }]));
    }
}
