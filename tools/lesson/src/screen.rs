//! What a person sees. Colours only on a terminal (or where the stage has one), `NO_COLOR` obeyed,
//! the terminal's width respected, control characters from tools and models made visible.
//! All of it goes to standard output.
//!
//! Each function here only prints what its namesake in `paint.rs` makes, which the tests look at.

mod meter;
mod paint;
mod text;

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

pub use meter::Call;
pub(crate) use paint::plural;
pub use paint::{Ink, Paint, Wrapper};
pub use text::{count, fitted, only_colours, plain, visible, width};

/// Lines of a result that are shown.
const RESULT_LINES: usize = 5;

/// Columns where nobody says how many there are.
const USUAL_WIDTH: usize = 80;

/// The model's text.
pub fn says(text: &str) {
    says_more(text);
    says_end();
}

/// A piece of the model's text, as it comes. A word is shown when it is whole.
pub fn says_more(piece: &str) {
    let mut open = said();
    let wrapper = open.get_or_insert_with(|| Wrapper::speech(paint()));
    write(&wrapper.more(piece));
}

/// The model's text has ended (or pauses for a call).
pub fn says_end() {
    if let Some(wrapper) = said().take() {
        write(&wrapper.end());
    }
}

/// A tool call with its arguments, on one line.
pub fn calls(tool: &str, input: &Value) {
    write(&paint().calls(tool, input));
}

/// Before a result that does not follow its call at once: which call it answers.
pub fn answers(tool: &str, input: &Value) {
    write(&paint().answers(tool, input));
}

/// A tool's result: at most five lines, and how many more there are. The model gets all.
pub fn returns(text: &str, is_error: bool) {
    write(&paint().returns(text, is_error));
}

/// What the agent itself has to say: a retry, a compaction, a refusal.
pub fn notes(text: &str) {
    write(&paint().notes(text));
}

/// What ended a line or the program, and what to do about it.
pub fn fails(text: &str) {
    write(&paint().fails(text));
}

/// A question that wants an answer on the next line of standard input. Ends in `[y/n/a] `.
pub fn asks(question: &str) {
    write(&paint().asks(question));
}

/// What ended a command, on standard error and wrapped between words.
pub fn error(text: &str) {
    eprintln!("{}", paint().wrapped("error: ", "  ", text));
}

/// How full the model's window is after a call: `tokens` of `usable` ones, from `due` percent on in
/// red. Below a tenth nothing is shown.
pub fn fills(tokens: u64, usable: u64, due: u64) {
    let mut window = window();
    (window.usable, window.due) = (usable, due);
    let compacted = std::mem::take(&mut window.compacted);
    window.calls.push(Call { tokens, compacted });
    if tokens * 10 >= usable {
        write(&paint().bar(tokens, usable, due));
    }
}

/// The history was made into a summary: what that did is said, and the next call's column marked.
pub fn compacts(text: &str) {
    window().compacted = true;
    notes(text);
}

/// The fill of the window by call, where there was something to see.
pub fn plot() {
    let window = window();
    if window.calls.iter().any(|call| call.tokens * 10 >= window.usable) {
        write(&paint().plot(&window.calls, window.usable, window.due));
    }
}

/// The calls so far.
fn window() -> std::sync::MutexGuard<'static, meter::Window> {
    static WINDOW: Mutex<meter::Window> = Mutex::new(meter::Window::new());
    WINDOW.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Colours and width of standard output, looked up once.
pub fn paint() -> Paint {
    static PAINT: OnceLock<Paint> = OnceLock::new();
    *PAINT.get_or_init(|| Paint { colour: colour(), width: columns() })
}

/// Text of the model that has begun and not ended. Only the text of one reply is open at a time.
fn said() -> std::sync::MutexGuard<'static, Option<Wrapper>> {
    static SAID: Mutex<Option<Wrapper>> = Mutex::new(None);
    SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A reader that has gone away (`| head`) is no reason to fail: the work goes on unseen.
pub(crate) fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

fn colour() -> bool {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    if std::env::var_os("LESSON_COLOR").is_some_and(|value| value == "1") {
        return true;
    }
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn columns() -> usize {
    let told = std::env::var("LESSON_WIDTH").ok().and_then(|width| width.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(seen).unwrap_or(USUAL_WIDTH).clamp(20, 200)
}
