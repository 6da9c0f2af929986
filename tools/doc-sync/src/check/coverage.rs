//! The rule `coverage`: each line that a step adds stands in a block of its chapter.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;

use super::Checked;
use crate::book::Book;
use crate::changes::Added;
use crate::fault::Fault;
use crate::repo::Step;
use crate::sources::{Kind, Source};

/// How many of the lines that each step adds its chapter shows.
#[derive(Debug, Default, PartialEq)]
pub struct Shares(pub Vec<Share>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub step: usize,
    pub shown: usize,
    pub added: usize,
}

impl Share {
    /// Rounded down, so that 100 means all.
    pub fn percent(&self) -> usize {
        (self.shown * 100).checked_div(self.added).unwrap_or(100)
    }
}

impl Shares {
    pub fn of(&self, step: usize) -> Option<&Share> {
        self.0.iter().find(|share| share.step == step)
    }

    /// All steps that have a chapter together.
    pub fn total(&self) -> Share {
        let sum = |count: fn(&Share) -> usize| self.0.iter().map(count).sum();
        Share { step: 0, shown: sum(|share| share.shown), added: sum(|share| share.added) }
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "lines shown of those added:")?;
        for share in &self.0 {
            write!(f, " {:02} {}% ·", share.step, share.percent())?;
        }
        let total = self.total();
        writeln!(f, " all {}% ({} of {})", total.percent(), total.shown, total.added)
    }
}

/// The shares of the steps that have a chapter, and a fault for each item with lines not shown.
pub fn measure(pages: &[Checked], book: &Book) -> Result<(Shares, Vec<Fault>)> {
    let (mut shares, mut faults) = (Shares::default(), Vec::new());
    for step in &book.steps {
        let Some(page) = pages.iter().find(|page| page.page.front.step == Some(step.number)) else {
            continue;
        };
        let added = book.added(step)?;
        let missing = missing(page, step, &added);
        let count = |lines: &Added| lines.values().map(BTreeSet::len).sum::<usize>();
        let all = count(&added);
        shares.0.push(Share { step: step.number, shown: all - count(&missing), added: all });
        for (file, lines) in &missing {
            faults.extend(of_file(page, book, step, file, lines)?);
        }
    }
    Ok((shares, faults))
}

fn missing(page: &Checked, step: &Step, added: &Added) -> Added {
    let mut missing = added.clone();
    for shown in page.blocks.iter().flatten().flat_map(|block| &block.shows) {
        if shown.step != step.number {
            continue;
        }
        if let Some(lines) = missing.get_mut(&shown.file) {
            lines.retain(|line| !shown.lines.contains(&(line + 1)));
        }
    }
    missing.retain(|_, lines| !lines.is_empty());
    missing
}

/// A fault for each item of a file, in the order of the file.
fn of_file(
    page: &Checked,
    book: &Book,
    step: &Step,
    file: &str,
    lines: &BTreeSet<usize>,
) -> Result<Vec<Fault>> {
    let mut by_item: Vec<(String, usize)> = Vec::new();
    let source = match file.ends_with(".rs") {
        true => book.sources.get(step, file)?,
        false => None,
    };
    for line in lines {
        let item = source.as_ref().map(|source| item_of(source, *line)).unwrap_or_default();
        match by_item.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => by_item.push((item, 1)),
        }
    }
    let short = file.strip_prefix("src/").unwrap_or(file);
    let fault = |(item, count): (String, usize)| {
        let lines =
            if count == 1 { "1 added line is".into() } else { format!("{count} added lines are") };
        let text = match item.as_str() {
            "" => format!("{file}: {lines} in no block; write `<!-- doc-sync rest -->`"),
            item => format!(
                "{file}, `{item}`: {lines} in no block; show them (`item {short} {item}`, or \
                 `diff`), or name them in the front matter (`left-out: {short} {item}: WHY`)"
            ),
        };
        page.fault(1, "coverage", text)
    };
    Ok(by_item.into_iter().map(fault).collect())
}

/// The innermost item of a line that an origin can name; empty for what `rest` shows.
fn item_of(source: &Source, line: usize) -> String {
    let around = source.around(line);
    match around.last() {
        Some(item) if matches!(item.kind, Kind::Use | Kind::ModLine | Kind::Other) => String::new(),
        Some(item) => item.full_name(),
        None => String::new(),
    }
}
