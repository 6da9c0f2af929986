//! What the requests hold that the model received.
//!
//! A rule may name any piece of the JSON; a verdict quotes only what a person would read of it.

use mock_server::Exchange;
use mock_server::scene::{Text, Which};
use serde_json::Value;

use super::text::{self, Layout, Miss, excerpt};
use super::{Evidence, Verdict, of_part};

impl Evidence<'_> {
    pub fn request(&self, which: &Which, part: &str, text: &Text) -> Verdict {
        let found =
            |exchange: &Exchange| text::miss(text, &text_of(&exchange.request), Layout::Exact);
        if *which == Which::Any && self.of_part(part).next().is_some() {
            let held = self.of_part(part).any(|exchange| found(exchange).is_none());
            return if held { Ok(()) } else { Err(self.no_request(part, text)) };
        }
        self.in_requests(which, part, |exchange, what| match found(exchange) {
            None => Ok(()),
            Some(miss) => Err(told(&miss, what, &exchange.request)),
        })
    }

    /// Why none is as it should be.
    fn no_request(&self, part: &str, text: &Text) -> String {
        let of = of_part(part);
        let texts: Vec<String> =
            self.of_part(part).map(|exchange| text_of(&exchange.request)).collect();
        let nowhere = text.holds.iter().find(|wanted| !texts.iter().any(|t| t.contains(*wanted)));
        match nowhere {
            Some(wanted) => format!("no request{of} held {}", excerpt(wanted)),
            None => format!("there is no request{of} that {}", text::says(text)),
        }
    }
}

fn told(miss: &Miss, what: &str, request: &Value) -> String {
    let last = match last_text(request) {
        text if text.trim().is_empty() => String::new(),
        text => format!("; the last that it brought: {}", excerpt(&text)),
    };
    match miss {
        Miss::Lacks(wanted) => {
            format!("{what} should hold {}, and does not{last}", excerpt(wanted))
        }
        Miss::Holds(unwanted, _) => {
            format!("{what} should not hold {}, and does{last}", excerpt(unwanted))
        }
        Miss::Unlike(pattern) => format!("{what} should match `{pattern}`, and does not{last}"),
        Miss::BadPattern(error) => format!("the scene's pattern: {error}"),
    }
}

/// The last text or tool result of a request.
fn last_text(request: &Value) -> String {
    let content = request["messages"].as_array().and_then(|all| all.last()).map(|m| &m["content"]);
    let block = match content {
        Some(Value::Array(blocks)) => blocks.last(),
        whole => whole,
    };
    let mut texts = String::new();
    match block {
        Some(text @ Value::String(_)) => gather(text, &mut texts),
        Some(block) => [&block["text"], &block["content"]]
            .into_iter()
            .for_each(|value| gather_text(value, &mut texts)),
        None => {}
    }
    texts
}

/// The texts of a result: itself, or those of its blocks.
fn gather_text(value: &Value, texts: &mut String) {
    match value {
        Value::Array(blocks) => blocks.iter().for_each(|block| gather(&block["text"], texts)),
        text => gather(text, texts),
    }
}

/// A request as JSON, and then all its texts, each on lines of its own.
fn text_of(request: &Value) -> String {
    let mut texts = format!("{request}\n");
    gather(request, &mut texts);
    texts
}

fn gather(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| gather(field, texts)),
        _ => {}
    }
}
