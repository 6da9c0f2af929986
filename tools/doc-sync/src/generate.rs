//! From an origin to the Markdown of its block.

use anyhow::Result;

use crate::blocks::{self, At};
use crate::book::{Book, Page};
use crate::origin::{Origin, Verb};
use crate::{exercises, pictures, runs, tables};

/// A generated block: the Markdown between the comments, with `\n` at the end of each line, and
/// which lines of the steps' files it shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    pub markdown: String,
    pub shows: Vec<Shown>,
}

/// Lines of a step's file that a reader sees in a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub step: usize,
    /// From the step's folder: `src/agent.rs`.
    pub file: String,
    /// Counted from 1.
    pub lines: Vec<usize>,
}

impl From<String> for Block {
    fn from(markdown: String) -> Self {
        Self { markdown, shows: Vec::new() }
    }
}

fn at<'a>(step: usize, page: &'a Page, book: &'a Book) -> Result<At<'a>> {
    Ok(At { book, page, step: book.step(step)? })
}

/// Makes the block of an origin that stands in `page`.
///
/// The error is shown to the author at the origin's line: it says what is wrong and how to mend it.
pub fn generate(origin: &Origin, page: &Page, book: &Book) -> Result<Block> {
    let step = book.step_of(origin, page);
    let block = match &origin.verb {
        Verb::Item { file, items, part } => {
            blocks::item(&at(step?, page, book)?, file, items, part)?
        }
        Verb::File { file, piece } => blocks::file(&at(step?, page, book)?, file, piece)?,
        Verb::Diff { file, items, place, part } => {
            blocks::diff(&at(step?, page, book)?, file, items, place.as_deref(), part)?
        }
        Verb::Rest => blocks::rest(&at(step?, page, book)?)?,
        Verb::Run { switches, part } => runs::run(step?, switches, part, book)?.into(),
        Verb::Without { claim, part } => {
            runs::without(&at(step?, page, book)?, claim, part)?.into()
        }
        Verb::Wire { half, number, path, part } => {
            runs::wire(step?, (*half, *number, path), part, book)?.into()
        }
        Verb::Exercise { name } => exercises::exercise(name, book)?.into(),
        Verb::Solution { name } => exercises::solution(name, book)?.into(),
        Verb::Table(table) => tables::table(*table, book)?.into(),
        Verb::Picture { name, alt } => pictures::picture(name, alt, book)?.into(),
    };
    Ok(match &origin.folded {
        Some(summary) => blocks::fold(block, summary),
        None => block,
    })
}
