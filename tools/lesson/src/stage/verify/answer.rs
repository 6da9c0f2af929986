//! The final answer: what stands on standard output after the last request, where that request got
//! a whole reply that called no more tools. What follows any other reply is the program's own talk,
//! and may well hold the right words: a step that shows its tool results shows them too.

use mock_server::Exchange;
use mock_server::scene::Text;

use super::super::output::Entry;
use super::text::{self, Layout};
use super::{Evidence, Verdict};

impl Evidence<'_> {
    pub fn answer(&self, wanted: &Text) -> Verdict {
        if let Some(why) = self.why_no_answer() {
            return Err(format!("there is no answer: {why}"));
        }
        let found = without_bullets(&self.transcript.answer);
        let verdict = text::judge(wanted, &found, "the answer", Layout::Wrapped);
        let errors = &self.transcript.errors;
        let elsewhere = !errors.trim().is_empty()
            && text::judge(wanted, errors, "standard error", Layout::Wrapped).is_ok();
        match verdict {
            Err(_) if elsewhere => {
                Err("the answer stood on standard error: write answers to standard output"
                    .to_string())
            }
            verdict => verdict,
        }
    }

    fn why_no_answer(&self) -> Option<String> {
        let count = self.of_part("main").count();
        let Some(last) = self.of_part("main").last() else {
            return Some("the program sent no request".to_string());
        };
        if last.status >= 400 {
            return Some(format!("request {count} got the error status {}", last.status));
        }
        if !self.last_reply_went_out() {
            return Some(format!("reply {count} was not read to its end"));
        }
        let tools = tools_called(last);
        (!tools.is_empty()).then(|| {
            let tools = tools.join(", ");
            format!("reply {count} called {tools}, and no request with the result followed")
        })
    }

    fn last_reply_went_out(&self) -> bool {
        let log = &self.transcript.log;
        let requests = log.iter().rev();
        let last = requests.into_iter().find_map(|entry| match entry {
            Entry::Request(number) => Some(*number),
            _ => None,
        });
        last.is_some_and(|number| log.contains(&Entry::Reply(number)))
    }
}

/// The tools that an exchange's reply calls, each once.
pub fn tools_called(exchange: &Exchange) -> Vec<&str> {
    let blocks = exchange.reply["content"].as_array().into_iter().flatten();
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    let mut names: Vec<&str> = calls.filter_map(|block| block["name"].as_str()).collect();
    names.dedup();
    names
}

/// The sign before the model's words is our screen's, and no part of them.
fn without_bullets(answer: &str) -> String {
    let lines = answer.split_inclusive('\n');
    lines.map(|line| line.strip_prefix("● ").unwrap_or(line)).collect()
}
