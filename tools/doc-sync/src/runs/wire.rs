//! What went over the wire, from a run's trace.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::same;

/// Characters of a text that are shown; a longer one says how much is missing.
const SHOWN: usize = 300;

/// The part of request or reply `number`, counted from 1, that `path` names: `messages.2.content`.
pub fn part(trace: &str, half: &str, number: usize, path: &str) -> Result<String> {
    let trace: Vec<Value> = serde_json::from_str(trace).context("the trace is no JSON list")?;
    let Some(exchange) = trace.get(number - 1) else {
        bail!("the run has {} requests, and no request {number}", trace.len());
    };
    let mut value = &exchange[half];
    for name in path.split('.') {
        let next = match name.parse::<usize>() {
            Ok(index) => value.get(index),
            Err(_) => value.get(name),
        };
        value = next.with_context(|| {
            format!("`{name}` of `{path}` is not in the {half}: there are {}", names(value))
        })?;
    }
    // A text that the path itself names is shown whole.
    let shown = if value.is_string() { value.clone() } else { shortened(value) };
    let text = serde_json::to_string_pretty(&shown).context("writing JSON")?;
    Ok(same::everywhere(&text, "/tmp"))
}

fn names(value: &Value) -> String {
    match value {
        Value::Object(map) => map.keys().cloned().collect::<Vec<_>>().join(", "),
        Value::Array(list) => format!("indices below {}", list.len()),
        _ => "no parts".to_string(),
    }
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(short(text)),
        Value::Array(list) => list.iter().map(shortened).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), shortened(value))).collect()
        }
        other => other.clone(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => {
            format!("{}… ({} more characters)", &text[..at], text[at..].chars().count())
        }
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"[{ "request": { "messages": [{ "role": "user" }] }, "reply": {} }]"#;

    #[test]
    fn a_path_leads_to_a_part() {
        let role = part(TRACE, "request", 1, "messages.0").unwrap();
        assert_eq!(role, "{\n  \"role\": \"user\"\n}\n");
    }

    #[test]
    fn a_text_that_the_path_names_is_whole() {
        let text = "x".repeat(400);
        let trace = format!(r#"[{{ "reply": {{ "text": "{text}" }} }}]"#);
        assert_eq!(part(&trace, "reply", 1, "text").unwrap(), format!("\"{text}\"\n"));
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let error = |number, path| part(TRACE, "request", number, path).unwrap_err().to_string();
        assert_eq!(error(2, "messages"), "the run has 1 requests, and no request 2");
        assert_eq!(
            error(1, "messages.1"),
            "`1` of `messages.1` is not in the request: there are indices below 1"
        );
        assert_eq!(
            error(1, "system"),
            "`system` of `system` is not in the request: there are messages"
        );
    }

    #[test]
    fn a_long_text_says_what_is_missing() {
        let shown = short(&"é".repeat(310));
        assert!(shown.ends_with("é… (10 more characters)"), "{shown}");
    }
}
