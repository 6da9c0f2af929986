//! Runs of the steps, stored in the book. (To be written.)

use anyhow::{Result, bail};

use crate::book::Book;
use crate::origin::Part;

/// The transcript of `cargo run -p stepNN -- switches`, or a part of it.
pub fn run(_step: usize, _switches: &[String], _part: &Part, _book: &Book) -> Result<String> {
    bail!("not yet")
}

/// A run with one mutation of the step applied to a copy.
pub fn without(_step: usize, _claim: &str, _part: &Part, _book: &Book) -> Result<String> {
    bail!("not yet")
}
