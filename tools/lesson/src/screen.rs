//! What a person sees. Colours only on a terminal (or where the stage has one), `NO_COLOR` obeyed,
//! the terminal's width respected, control characters from tools and models made visible.
//! All of it goes to standard output.

use serde_json::Value;

/// The model's text.
pub fn says(text: &str) {
    let _ = text;
}

/// A tool call with its arguments, on one line.
pub fn calls(tool: &str, input: &Value) {
    let _ = (tool, input);
}

/// A tool's result: at most five lines, and how many more there are. The model gets all.
pub fn returns(text: &str, is_error: bool) {
    let _ = (text, is_error);
}

/// What the agent itself has to say: a retry, a compaction, a refusal.
pub fn notes(text: &str) {
    let _ = text;
}

/// A question that wants an answer on the next line of standard input. Ends in `[y/n/a] `.
pub fn asks(question: &str) {
    let _ = question;
}
