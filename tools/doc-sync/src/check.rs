//! `check`: everything that is wrong with the book, at once.
//!
//! Each rule is a function from the book to its faults. Nothing is written, and nothing is run
//! unless that is asked for (`--fresh`).

mod blocks;
mod chapters;
mod commands;
mod coverage;
mod fences;
mod links;
mod phrases;
mod rules;

use std::fmt;

use anyhow::Result;

use crate::book::{Book, Page};
use crate::fault::Fault;
use crate::generate::Block;
use crate::markdown::Outline;
use crate::sync;

pub use coverage::{Share, Shares};
pub use rules::explain;

/// What `check` found. As text: a line a fault, then how much of the steps the book shows.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    /// By file and line.
    pub faults: Vec<Fault>,
    pub shares: Shares,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        match self.faults.len() {
            0 => writeln!(f, "nothing is wrong")?,
            1 => writeln!(f, "1 fault")?,
            many => writeln!(f, "{many} faults")?,
        }
        write!(f, "{}", self.shares)
    }
}

/// A page with what the rules look at.
pub struct Checked<'a> {
    pub page: &'a Page,
    /// The page's name as a fault shows it.
    pub file: String,
    pub outline: Outline,
    /// The block of each region, or why there is none.
    pub blocks: Vec<Result<Block, String>>,
}

impl Checked<'_> {
    /// A fault at a line, from 1, of this page.
    fn fault(&self, line: usize, rule: &'static str, text: impl Into<String>) -> Fault {
        Fault { file: self.file.clone(), line, rule, text: text.into() }
    }

    fn fault_at(&self, byte: usize, rule: &'static str, text: impl Into<String>) -> Fault {
        self.fault(crate::regions::line_of(&self.page.text, byte), rule, text)
    }

    /// Whether a byte stands in a generated block.
    fn is_generated(&self, byte: usize) -> bool {
        self.page.regions.iter().any(|region| region.body.contains(&byte))
    }
}

pub fn check(book: &Book) -> Result<Report> {
    let checked = |page| Checked {
        page,
        file: book.shown(&page.path),
        outline: Outline::read(&page.text),
        blocks: sync::blocks(page, book),
    };
    let pages: Vec<Checked> = book.pages.iter().map(checked).collect();
    let mut faults = Vec::new();
    for page in &pages {
        faults.extend(blocks::faults(page));
        faults.extend(fences::faults(page));
        faults.extend(phrases::faults(page));
        faults.extend(links::faults(page, &pages, book));
    }
    faults.extend(blocks::used_twice(&pages));
    faults.extend(chapters::faults(&pages, book));
    faults.extend(commands::faults(&pages, book)?);
    let (shares, more) = coverage::measure(&pages, book)?;
    faults.extend(more);
    // The rules' own order is kept for one line.
    faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Ok(Report { faults, shares })
}

/// How much of each step its chapter shows. Only blocks of code count, and only they are made:
/// a table of these shares may stand in a block itself.
pub fn shares(book: &Book) -> Result<Shares> {
    let checked = |page| Checked {
        page,
        file: String::new(),
        outline: Outline::default(),
        blocks: sync::blocks_of_code(page, book),
    };
    let pages: Vec<Checked> = book.pages.iter().map(checked).collect();
    Ok(coverage::measure(&pages, book)?.0)
}
