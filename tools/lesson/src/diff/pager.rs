//! Where the diff goes: to a pager on a terminal, else straight to standard output.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::render::Style;

/// Colours on a terminal only, and not where `NO_COLOR` asks for none; `LESSON_COLOR=1` where a
/// pipe leads to something that shows them.
pub fn style() -> Style {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_terminal = std::io::stdout().is_terminal();
    let colour = is_terminal && !set("NO_COLOR") || set("LESSON_COLOR");
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    Style { colour, columns: columns.filter(|_| is_terminal) }
}

pub fn show(text: &str) -> Result<()> {
    if std::io::stdout().is_terminal() && paged(text) {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        // `| head` has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to standard output"),
    }
}

/// Whether a pager has shown the text. One that cannot be started is no error: the text is printed.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less -FRX".to_string());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // For a bare `less`: colours as they are, no pager where one screen is enough.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Whoever leaves the pager early closes the pipe: that is no error either.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
