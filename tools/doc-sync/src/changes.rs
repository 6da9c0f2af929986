//! What a step changes, line by line.
//!
//! Lines are compared without indentation and trailing commas, so that code which is only wrapped
//! in a block, or broken by rustfmt at another place, is not taken for new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::book::Book;
use crate::repo::Step;
use crate::sources::{self, Item, Kind, Source};

const MANIFEST: &str = "Cargo.toml";

/// One line of a comparison. The numbers count from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Same { old: usize, new: usize },
    Removed { old: usize },
    Added { new: usize },
}

/// Compares two texts, given as lines.
pub fn compare(old: &[&str], new: &[&str]) -> Vec<Row> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(|line| bare(line)).collect(), new.iter().map(|line| bare(line)).collect());
    let mut rows = Vec::new();
    for operation in capture_diff_slices(Algorithm::Patience, &old, &new) {
        let (tag, a, b) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            rows.extend(a.zip(b).map(|(old, new)| Row::Same { old, new }));
            continue;
        }
        rows.extend(a.map(|old| Row::Removed { old }));
        rows.extend(b.map(|new| Row::Added { new }));
    }
    rows
}

fn bare(line: &str) -> &str {
    line.trim().trim_end_matches(',')
}

/// The lines, from 0, that a step adds to each of its Rust files and to its manifest, by the file's path from the
/// step's folder.
pub type Added = BTreeMap<String, BTreeSet<usize>>;

/// What a step adds. Blank lines and tests are left out.
///
/// A line is added where both ways to look at it say so: file against file, and item against the
/// item of the same name, wherever that stood. So code that moves is not new.
pub fn added(book: &Book, step: &Step) -> Result<Added> {
    let mut all = Added::new();
    let before = book.before(step);
    for file in book.sources.names(step)?.iter() {
        let source = book.sources.need(step, file)?;
        let mut lines: BTreeSet<usize> = (0..source.lines().len()).collect();
        if let Some(before) = before {
            if let Some(old) = book.sources.get(before, file)? {
                lines = added_between(&old.lines(), &source.lines()).into_iter().collect();
            }
            let by_item = added_by_item(book, before, file, &source)?;
            lines.retain(|line| by_item.contains(line));
        }
        let counted = counted(&source);
        lines.retain(|line| counted.contains(line));
        all.insert(file.clone(), lines);
    }
    let manifest = added_to_manifest(before, step)?;
    all.insert(MANIFEST.to_string(), manifest);
    all.retain(|_, lines| !lines.is_empty());
    Ok(all)
}

fn added_to_manifest(before: Option<&Step>, step: &Step) -> Result<BTreeSet<usize>> {
    let new = sources::read(&step.folder.join(MANIFEST))?;
    let old = match before {
        Some(before) => sources::read(&before.folder.join(MANIFEST))?,
        None => String::new(),
    };
    let new: Vec<&str> = new.lines().collect();
    let old: Vec<&str> = old.lines().collect();
    let added = added_between(&old, &new).into_iter();
    Ok(added.filter(|line| !new[*line].trim().is_empty()).collect())
}

/// The lines that can be new: no blank ones, no tests, no frames.
pub fn counted(source: &Source) -> BTreeSet<usize> {
    let (tests, frames) = (tests(source), frames(source));
    let full = source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let full = full.map(|(at, _)| at);
    full.filter(|at| !tests.contains(at) && !frames.contains(at)).collect()
}

/// The first and the last line of each `impl`, `trait` and `mod { }` that holds something: the line
/// above a block says what it stands in.
fn frames(source: &Source) -> BTreeSet<usize> {
    let lines = source.lines();
    let mut frames = BTreeSet::new();
    for item in source.all().into_iter().filter(|item| !item.inner.is_empty()) {
        frames.extend(item.header(&lines));
        frames.insert(item.lines.end - 1);
    }
    frames
}

fn added_between(old: &[&str], new: &[&str]) -> Vec<usize> {
    let rows = compare(old, new);
    rows.into_iter()
        .filter_map(|row| if let Row::Added { new } = row { Some(new) } else { None })
        .collect()
}

/// The lines that are new in their item. A line outside of all items counts as new.
fn added_by_item(
    book: &Book,
    before: &Step,
    file: &str,
    source: &Source,
) -> Result<BTreeSet<usize>> {
    let lines = source.lines();
    let mut added: BTreeSet<usize> = (0..lines.len()).collect();
    for item in source.all().into_iter().filter(|item| !item.is_container()) {
        if matches!(item.kind, Kind::Head | Kind::Use | Kind::ModLine | Kind::Other) {
            continue;
        }
        let Some((old, old_item)) = find_old(book, before, file, item)? else { continue };
        let new_lines = &lines[item.lines.clone()];
        let new: Vec<usize> = added_between(&old.lines()[old_item.lines.clone()], new_lines);
        for (at, line) in item.lines.clone().enumerate() {
            if !new.contains(&at) {
                added.remove(&line);
            }
        }
    }
    Ok(added)
}

/// The item of this name in the step before: in the same file, or else in another one.
pub fn find_old(
    book: &Book,
    before: &Step,
    file: &str,
    item: &Item,
) -> Result<Option<(Arc<Source>, Item)>> {
    let names = book.sources.names(before)?;
    let same = names.iter().filter(|name| *name == file);
    let others = names.iter().filter(|name| *name != file);
    for name in same.chain(others) {
        let source = book.sources.need(before, name)?;
        let found = source.find_any(&item.full_name()).first().map(|item| (*item).clone());
        if let Some(found) = found.filter(|found| found.kind == item.kind) {
            return Ok(Some((source, found)));
        }
    }
    Ok(None)
}

/// The lines, from 0, of a file's tests and of the lines that bring them in.
pub fn tests(source: &Source) -> BTreeSet<usize> {
    let tests = source.all().into_iter().filter(|item| item.is_test);
    tests.flat_map(|item| item.lines.clone()).collect()
}
