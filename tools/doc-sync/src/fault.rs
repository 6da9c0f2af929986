//! What is wrong with the book: where, what, and how to mend it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// From the repository's root.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// The rule's name, as `check --explain` lists it.
    pub rule: &'static str,
    /// What is wrong and how to mend it; further lines (a diff) are indented.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
