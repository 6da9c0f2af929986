//! `check`: everything that is wrong with the book, at once. (To be written.)

use std::fmt;

use anyhow::{Result, bail};

use crate::book::Book;
use crate::fault::Fault;

/// What `check` found. As text: a line a fault, then the coverage.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    /// By file and line.
    pub faults: Vec<Fault>,
}

impl fmt::Display for Report {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

pub fn check(_book: &Book) -> Result<Report> {
    bail!("not yet")
}

/// What `check` looks at, rule by rule.
pub fn explain() -> String {
    String::new()
}
