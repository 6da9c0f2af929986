//! What a cache could keep: tokens read from it, and whether requests only ever grow at their end.

use mock_server::scene::Which;
use serde_json::{Value, json};

use super::{Evidence, Verdict, of_part};

impl Evidence<'_> {
    pub fn cache_read(&self, which: &Which, part: &str, at_least: u64, at_most: u64) -> Verdict {
        self.in_requests(which, part, |exchange, what| {
            let read = exchange.reply["usage"]["cache_read_input_tokens"].as_u64().unwrap_or(0);
            if (at_least..=at_most).contains(&read) {
                return Ok(());
            }
            Err(format!("{what} should have {}, and had {read}", tokens(at_least, at_most)))
        })
    }

    /// All input counts, cached or not. A request that was refused as too long has too many.
    pub fn tokens(&self, which: &Which, part: &str, at_least: u64, at_most: u64) -> Verdict {
        self.in_requests(which, part, |exchange, what| {
            if let Some(message) = exchange.reply["error"]["message"].as_str()
                && message.contains("prompt is too long")
            {
                return Err(format!("{what} was refused: {message}"));
            }
            let usage = &exchange.reply["usage"];
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            let all = count("input_tokens")
                + count("cache_creation_input_tokens")
                + count("cache_read_input_tokens");
            if (at_least..=at_most).contains(&all) {
                return Ok(());
            }
            Err(format!("{what} should have {}, and had {all}", number(at_least, at_most)))
        })
    }

    pub fn prefix(&self, part: &str) -> Verdict {
        let requests: Vec<Value> =
            self.of_part(part).map(|exchange| without_marks(&exchange.request)).collect();
        if requests.len() < 2 {
            return Err(format!(
                "the model should have received two requests{} or more",
                of_part(part)
            ));
        }
        for (n, pair) in requests.windows(2).enumerate() {
            if let Some(place) = first_change(&pair[0], &pair[1]) {
                let (of, before, now) = (of_part(part), n + 1, n + 2);
                return Err(format!(
                    "request {now}{of} should begin with request {before}, and differs in {place}"
                ));
            }
        }
        Ok(())
    }
}

pub fn says(at_least: u64, at_most: u64) -> String {
    format!("had {}", tokens(at_least, at_most))
}

pub fn says_tokens(at_least: u64, at_most: u64) -> String {
    format!("had {}", number(at_least, at_most))
}

pub fn says_prefix(part: &str) -> String {
    format!("every request{} begins with the one before it, byte for byte", of_part(part))
}

fn tokens(at_least: u64, at_most: u64) -> String {
    format!("{} read from the cache", number(at_least, at_most))
}

fn number(at_least: u64, at_most: u64) -> String {
    let number = match (at_least, at_most) {
        (least, most) if least == most => most.to_string(),
        (0, most) => format!("at most {most}"),
        (least, u64::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    };
    format!("{number} tokens")
}

/// Where `later` does not go on from `earlier`.
fn first_change(earlier: &Value, later: &Value) -> Option<String> {
    // As text: two objects are equal whatever the order of their fields, and a cache sees bytes.
    let bytes = |value: &Value| value.to_string();
    let differs = |a: &Value, b: &Value| bytes(a) != bytes(b);
    for key in ["tools", "system"] {
        if differs(&earlier[key], &later[key]) {
            return Some(key.to_string());
        }
    }
    let messages = earlier["messages"].as_array()?;
    let changed = |n: &usize| differs(&messages[*n], &later["messages"][*n]);
    (0..messages.len()).find(changed).map(|n| format!("message {}", n + 1))
}

/// Marks say how much is to be kept, and move on with the conversation.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "cache_control");
            fields.map(|(key, field)| (key.clone(), without_marks(field))).collect()
        }
        Value::Array(items) => items.iter().map(without_marks).collect(),
        other => json!(other),
    }
}
