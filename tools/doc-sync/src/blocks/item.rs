//! Rust items, whole or in part.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::Result;

use super::{At, cut, fence, frame, place};
use crate::changes;
use crate::generate::{Block, Shown};
use crate::origin::Part;
use crate::sources::{self, Item, Kind, Source};

/// The items in one fence, in the order given, an empty line between; of one item, perhaps a part.
pub fn item(at: &At, file: &str, names: &[String], part: &Part) -> Result<Block> {
    let path = sources::path_of(file);
    let source = at.book.sources.need(at.step, &path)?;
    let mut items: Vec<&Item> = Vec::new();
    for name in names {
        items.extend(source.find(name, &path)?);
    }
    let ranges: Vec<Range<usize>> = match part.is_whole() {
        true => items.iter().map(|item| item.lines.clone()).collect(),
        false => vec![cut_item(&source, &items, part)?],
    };
    let text = match part.is_whole() {
        true => frame::together(&source, &items),
        false => with_marks(&dedented(&source, &ranges[0]), &ranges[0], &items[0].lines),
    };
    let place = match part.is_whole() {
        true => place::of_items(&source, &items),
        false => place::inside(&items),
    };
    let lines: Vec<usize> = ranges.into_iter().flatten().collect();
    let state = match is_unknown_before(at, &path, &items)? {
        true => place::state(at, 1, 1),
        false => state(at, &path, &source, &lines)?,
    };
    let place = format!("*{}{place}*{state}", place::file(at, &path));
    let shown =
        Shown { step: at.step.number, file: path, lines: lines.iter().map(|at| at + 1).collect() };
    Ok(Block { markdown: format!("{place}\n\n{}", fence("rust", &text)), shows: vec![shown] })
}

fn cut_item(source: &Source, items: &[&Item], part: &Part) -> Result<Range<usize>> {
    let item = items[0];
    let lines = &source.lines()[item.lines.clone()];
    let range = cut(lines, part, &format!("`{}`", item.full_name()))?;
    Ok(item.lines.start + range.start..item.lines.start + range.end)
}

/// The lines at the margin, as deep inside one another as they were.
pub fn dedented(source: &Source, range: &Range<usize>) -> String {
    let lines = &source.lines()[range.clone()];
    let depth = depth(lines);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(depth..).unwrap_or("")).collect();
    lines.join("\n")
}

/// The blanks that all lines begin with.
pub fn depth(lines: &[&str]) -> usize {
    let full = lines.iter().filter(|line| !line.trim().is_empty());
    full.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0)
}

/// `// …` where the item goes on above or below the part.
fn with_marks(text: &str, part: &Range<usize>, whole: &Range<usize>) -> String {
    let mark = |line: Option<&str>| {
        let line = line.unwrap_or_default();
        format!("{}// …", &line[..line.len() - line.trim_start().len()])
    };
    let mut marked = text.to_string();
    if part.start > whole.start {
        marked = format!("{}\n{marked}", mark(text.lines().next()));
    }
    if part.end < whole.end {
        marked = format!("{marked}\n{}", mark(text.lines().last()));
    }
    marked
}

/// Whether the step before has none of the items in any file. Some of their lines may stand there
/// all the same, in other items.
fn is_unknown_before(at: &At, path: &str, items: &[&Item]) -> Result<bool> {
    let Some(before) = at.before() else { return Ok(false) };
    // Every file has a head.
    let mut named = items.iter().filter(|item| item.kind != Kind::Head).peekable();
    if named.peek().is_none() {
        return Ok(false);
    }
    for item in named {
        if changes::find_old(at.book, before, path, item)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn state(at: &At, path: &str, source: &Source, lines: &[usize]) -> Result<String> {
    let counted = changes::counted(source);
    let lines: Vec<&usize> = lines.iter().filter(|line| counted.contains(line)).collect();
    let added = at.book.added(at.step)?;
    let none = BTreeSet::new();
    let added = added.get(path).unwrap_or(&none);
    let new = lines.iter().filter(|line| added.contains(line)).count();
    Ok(place::state(at, lines.len(), new))
}
