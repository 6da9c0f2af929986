//! What the step changed: an item, several, or a whole file, held against the step before.
//!
//! Two lines around each change are shown; what lies between is folded to ` // …`. Each line has
//! its sign in front. Tests are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::fence::{comment, fence, language};
use super::item::depth;
use super::{At, cut, place};
use crate::changes::{self, Row};
use crate::generate::{self, Block};
use crate::origin::Part;
use crate::repo::Step;
use crate::sources::{self, Item, Kind, Source};

/// Unchanged lines that are shown around a change.
const AROUND: usize = 2;

/// A line of the diff with its place in the new file, from 0, if it stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub sign: char,
    pub text: String,
    pub new: Option<usize>,
}

pub fn diff(
    at: &At,
    file: &str,
    names: &[String],
    words: Option<&str>,
    part: &Part,
) -> Result<Block> {
    let path = sources::path_of(file);
    let before = at.before().with_context(|| {
        format!("step {:02} has none before it; show its code with `item`", at.step.number)
    })?;
    let (pieces, place) = match names {
        [] => (vec![whole_file(at, before, &path)?], String::new()),
        _ => of_items(at, before, &path, names)?,
    };
    let of = if names.is_empty() { path.clone() } else { names.join(", ") };
    let pieces = match part.is_whole() {
        true => pieces,
        false => vec![cut_lines(&pieces.concat(), part, &of)?],
    };
    if pieces.iter().flatten().all(|line| line.sign == ' ') {
        bail!(
            "`{of}` has no change here since step {:02}; show it with `item` or `file`, or drop the \
             block",
            before.number
        );
    }
    let words = words.map(|words| format!(", {words}")).unwrap_or_default();
    let counts = counts(pieces.iter().flatten());
    let place = format!("*{}{place}{words}: {counts}*", place::file(at, &path));
    // In a single function there is no other item to name.
    let is_wide = path.ends_with(".rs") && names.iter().all(|name| name.starts_with("impl "));
    let source = if is_wide { at.book.sources.get(at.step, &path)? } else { None };
    let item_of = |line| source.as_ref().and_then(|source| item_inside(source, line));
    let texts: Vec<String> =
        pieces.iter().map(|lines| written_in(lines, &path, &item_of)).collect();
    Ok(block(at, &path, &place, &pieces, &texts))
}

/// A block of these pieces, written as `texts`, an empty line between them.
pub fn block(at: &At, path: &str, place: &str, pieces: &[Vec<Line>], texts: &[String]) -> Block {
    let mut lines = Vec::new();
    for piece in pieces {
        lines.extend(lines_shown(&folded(piece)).filter_map(|line| line.new.map(|at| at + 1)));
    }
    let info = format!("{},diff", language(path));
    Block {
        markdown: format!("{place}\n\n{}", fence(&info, &texts.join("\n\n"))),
        shows: vec![generate::Shown { step: at.step.number, file: path.to_string(), lines }],
    }
}

/// `3 lines added, 1 removed`
pub fn counts<'a>(lines: impl Iterator<Item = &'a Line>) -> String {
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        match line.sign {
            '+' => added += 1,
            '-' => removed += 1,
            _ => {}
        }
    }
    let lines = |count: usize| if count == 1 { "1 line".into() } else { format!("{count} lines") };
    match (added, removed) {
        (0, removed) => format!("{} removed", lines(removed)),
        (added, 0) => format!("{} added", lines(added)),
        (added, removed) => format!("{} added, {removed} removed", lines(added)),
    }
}

fn whole_file(at: &At, before: &Step, path: &str) -> Result<Vec<Line>> {
    if !path.ends_with(".rs") {
        let new = sources::read(&at.step.folder.join(path))?;
        let old = before.folder.join(path);
        let old = if old.is_file() { sources::read(&old)? } else { String::new() };
        return Ok(lines_of(&all(&old), &all(&new)));
    }
    let new = at.book.sources.need(at.step, path)?;
    let old = at.book.sources.get(before, path)?;
    let old_lines = old.as_ref().map(|old| without_tests(old)).unwrap_or_default();
    Ok(lines_of(&old_lines, &without_tests(&new)))
}

type Numbered<'a> = Vec<(usize, &'a str)>;

fn all(text: &str) -> Numbered<'_> {
    text.lines().enumerate().collect()
}

fn without_tests(source: &Source) -> Numbered<'_> {
    let tests: BTreeSet<usize> = changes::tests(source);
    source.text.lines().enumerate().filter(|(at, _)| !tests.contains(at)).collect()
}

/// The comparison of two stretches, all lines of it.
pub fn lines_of(old: &[(usize, &str)], new: &[(usize, &str)]) -> Vec<Line> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.iter().map(|(_, line)| *line).collect(), new.iter().map(|(_, line)| *line).collect());
    let rows = changes::compare(&before, &after);
    let line = |row: Row| match row {
        Row::Removed { old } => Line { sign: '-', text: before[old].into(), new: None },
        Row::Added { new: at } => Line { sign: '+', text: after[at].into(), new: Some(new[at].0) },
        Row::Same { new: at, .. } => {
            Line { sign: ' ', text: after[at].into(), new: Some(new[at].0) }
        }
    };
    rows.into_iter().map(line).collect()
}

/// Each item against its old self, and where they stand.
fn of_items(
    at: &At,
    before: &Step,
    path: &str,
    names: &[String],
) -> Result<(Vec<Vec<Line>>, String)> {
    if !path.ends_with(".rs") {
        bail!("{path} has no items, since it is no Rust; name the file alone");
    }
    let source = at.book.sources.get(at.step, path)?;
    let mut pieces = Vec::new();
    let mut found = Vec::new();
    for name in names {
        let items: Vec<Item> =
            source.iter().flat_map(|source| source.find_any(name)).cloned().collect();
        if items.is_empty() {
            let (old, gone) = removed(at, before, path, name)?;
            pieces.push(lines_of(&numbered(&old, &gone), &[]));
            found.push(gone);
        }
        for item in items {
            let source = source.as_ref().context("an item stands in a file")?;
            let old = changes::find_old(at.book, before, path, &item)?;
            let old_lines = old.as_ref().map(|(old, gone)| numbered(old, gone));
            pieces.push(lines_of(&old_lines.unwrap_or_default(), &numbered(source, &item)));
            found.push(item);
        }
    }
    let items: Vec<&Item> = found.iter().collect();
    Ok((pieces, place::inside(&items)))
}

/// An item that the step no longer has. Errors where the step before has none either.
fn removed(at: &At, before: &Step, path: &str, name: &str) -> Result<(Arc<Source>, Item)> {
    if let Some(old) = at.book.sources.get(before, path)?
        && let Some(item) = old.find_any(name).first().map(|item| (*item).clone())
    {
        return Ok((old, item));
    }
    let source = at.book.sources.need(at.step, path)?;
    source.find(name, path)?;
    bail!("{path} has no item `{name}`")
}

fn numbered<'a>(source: &'a Source, item: &Item) -> Numbered<'a> {
    let lines = source.text.lines().enumerate();
    lines.skip(item.lines.start).take(item.lines.len()).collect()
}

/// The part between two texts of the diff's lines.
fn cut_lines(lines: &[Line], part: &Part, of: &str) -> Result<Vec<Line>> {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let range = cut(&texts, part, &format!("the diff of {of}"))?;
    Ok(lines[range].to_vec())
}

/// A line that is shown, or what stands for lines that are not.
enum Shown<'a> {
    Line(&'a Line),
    /// As deep as the shallower of its neighbours.
    Fold {
        depth: usize,
    },
}

/// The lines near a change, and a fold for each stretch between. A blank line beside a fold would
/// show nothing, and is folded too.
fn folded(lines: &[Line]) -> Vec<Shown<'_>> {
    let is_near = |at: usize| {
        let (first, last) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(lines.len()));
        lines[first..last].iter().any(|line| line.sign != ' ')
    };
    let mut is_shown: Vec<bool> = (0..lines.len()).map(is_near).collect();
    for at in (1..lines.len()).chain((1..lines.len()).rev()) {
        let is_blank = |at: usize| lines[at].sign == ' ' && lines[at].text.trim().is_empty();
        if is_blank(at) && !is_shown[at - 1] || is_blank(at) && is_shown.get(at + 1) == Some(&false)
        {
            is_shown[at] = false;
        }
    }
    let mut shown: Vec<Shown> = Vec::new();
    for (line, is_shown) in lines.iter().zip(is_shown) {
        match shown.last_mut() {
            Some(Shown::Fold { depth }) if is_shown => *depth = (*depth).min(indentation(line)),
            Some(Shown::Fold { .. }) => continue,
            Some(Shown::Line(above)) if !is_shown => {
                let depth = indentation(above);
                shown.push(Shown::Fold { depth });
                continue;
            }
            None if !is_shown => {
                shown.push(Shown::Fold { depth: usize::MAX });
                continue;
            }
            _ => {}
        }
        shown.push(Shown::Line(line));
    }
    shown
}

fn indentation(line: &Line) -> usize {
    line.text.len() - line.text.trim_start_matches(' ').len()
}

/// The diff as text: sign, then the line, as near to the margin as its neighbours let it be.
pub fn written(lines: &[Line], path: &str) -> String {
    written_in(lines, path, &|_| None)
}

/// The same. A fold before a change in another item names it; `item_of` knows the item that a line
/// of the new file, from 0, is inside of.
fn written_in(lines: &[Line], path: &str, item_of: &dyn Fn(usize) -> Option<String>) -> String {
    let shown = folded(lines);
    let texts: Vec<&str> = lines_shown(&shown).map(|line| line.text.as_str()).collect();
    let margin = depth(&texts);
    let (open, close) = comment(path);
    let mut text = Vec::new();
    let mut item = None;
    for (at, part) in shown.iter().enumerate() {
        let line = match part {
            Shown::Line(line) => {
                item = line.new.and_then(item_of).or(item);
                let code = line.text.get(margin..).unwrap_or("");
                format!("{}{code}", line.sign).trim_end().to_string()
            }
            Shown::Fold { depth } => {
                let next = lines_shown(&shown[at..]).find_map(|line| line.new).and_then(item_of);
                let place = next.filter(|next| item.as_ref() != Some(next));
                let place = place.map(|item| format!(" in {item}")).unwrap_or_default();
                let blanks = " ".repeat(depth.saturating_sub(margin));
                format!(" {blanks}{open}…{place}{close}")
            }
        };
        text.push(line);
    }
    text.join("\n")
}

/// The function, type or constant that a line is inside of, its first line excluded: that one says
/// itself what it begins.
fn item_inside(source: &Source, line: usize) -> Option<String> {
    let around = source.around(line);
    let item = around.last().filter(|item| !item.is_container() && item.lines.start < line)?;
    let is_named = !matches!(item.kind, Kind::Head | Kind::Use | Kind::ModLine | Kind::Other);
    is_named.then(|| item.full_name())
}

fn lines_shown<'a>(shown: &'a [Shown<'a>]) -> impl Iterator<Item = &'a Line> {
    shown.iter().filter_map(|shown| match shown {
        Shown::Line(line) => Some(*line),
        Shown::Fold { .. } => None,
    })
}
