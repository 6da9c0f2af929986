//! How a run can end.

use std::process::ExitStatus;
use std::time::Duration;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Exited(ExitStatus),
    /// The scene killed the program and did not start it again.
    Killed,
    TooLong(Duration),
    /// Nothing came from it for so long, and it did nothing.
    Quiet(Duration),
    StaysOn,
    Endless,
    /// The program asked, and the scene has no answer.
    Unanswered(String),
    /// What the program has made of its files keeps the scene from doing what it does from outside.
    Hindered(String),
}

/// Ctrl+C, or the request to end that a system sends.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
