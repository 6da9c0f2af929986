//! The rest of a step: imports, `mod` lines, the manifest, and what the chapter leaves out, in one
//! folded block.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result};

use super::diff::{self, Line};
use super::fence::{fence, language};
use super::{At, fold, item, place};
use crate::changes;
use crate::front::LeftOut;
use crate::generate::{Block, Shown};
use crate::origin::Part;
use crate::sources::{self, Kind, Source};

const SUMMARY: &str = "Imports, modules and the manifest";

/// All of it, or an error where there is nothing.
pub fn rest(at: &At) -> Result<Block> {
    let mut blocks = Vec::new();
    blocks.extend(manifest(at)?);
    for file in at.book.sources.names(at.step)?.iter() {
        blocks.extend(imports(at, file)?);
    }
    let mut whole = Block::default();
    let mut summary = SUMMARY.to_string();
    for left_out in &at.page.front.left_out {
        blocks.push(left_out_item(at, left_out)?);
        summary = format!("{SUMMARY}, and what is not explained here");
    }
    for block in blocks {
        let _ = writeln!(whole.markdown, "{}", block.markdown);
        whole.shows.extend(block.shows);
    }
    if whole.markdown.is_empty() {
        let _ = writeln!(whole.markdown, "This step changes none of them.");
    }
    Ok(fold(whole, &summary))
}

fn manifest(at: &At) -> Result<Option<Block>> {
    let path = "Cargo.toml";
    let new = sources::read(&at.step.folder.join(path))?;
    let Some(before) = at.before() else {
        let lines = (1..=new.lines().count()).collect();
        let shown = Shown { step: at.step.number, file: path.into(), lines };
        let place = format!("*{}*", place::file(at, path));
        let markdown = format!("{place}\n\n{}", fence(language(path), &new));
        return Ok(Some(Block { markdown, shows: vec![shown] }));
    };
    let old = sources::read(&before.folder.join(path))?;
    let (old, new): (Vec<_>, Vec<_>) =
        (old.lines().enumerate().collect(), new.lines().enumerate().collect());
    Ok(changed(at, path, &diff::lines_of(&old, &new)))
}

fn changed(at: &At, path: &str, lines: &[Line]) -> Option<Block> {
    if lines.iter().all(|line| line.sign == ' ') {
        return None;
    }
    let place = format!("*{}: {}*", place::file(at, path), diff::counts(lines.iter()));
    Some(diff::block(at, path, &place, &[lines.to_vec()], &[diff::written(lines, path)]))
}

/// What a file brings in, against what it brought in before.
fn imports(at: &At, file: &str) -> Result<Option<Block>> {
    let source = at.book.sources.need(at.step, file)?;
    let new = lines_of_imports(&source);
    let old = match at.before() {
        Some(before) => at.book.sources.get(before, file)?,
        None => None,
    };
    let Some(old) = old else {
        if new.is_empty() {
            return Ok(None);
        }
        let text: Vec<&str> = new.iter().map(|(_, line)| *line).collect();
        let lines = new.iter().map(|(line, _)| line + 1).collect();
        let shown = Shown { step: at.step.number, file: file.into(), lines };
        let state = place::state(at, 1, 1);
        let place = format!("*{}, at the top*{state}", place::file(at, file));
        let markdown = format!("{place}\n\n{}", fence("rust", &text.join("\n")));
        return Ok(Some(Block { markdown, shows: vec![shown] }));
    };
    Ok(changed(at, file, &diff::lines_of(&lines_of_imports(&old), &new)))
}

/// The `use` and `mod` lines of a file, tests aside, with the blank lines between them.
fn lines_of_imports(source: &Source) -> Vec<(usize, &str)> {
    let imports = source
        .items
        .iter()
        .filter(|item| matches!(item.kind, Kind::Use | Kind::ModLine) && !item.is_test);
    let mut wanted: BTreeSet<usize> = imports.flat_map(|item| item.lines.clone()).collect();
    let lines: Vec<&str> = source.text.lines().collect();
    for line in wanted.clone() {
        let is_between = lines.get(line + 1).is_some_and(|next| next.trim().is_empty())
            && wanted.contains(&(line + 2));
        if is_between {
            wanted.insert(line + 1);
        }
    }
    wanted.into_iter().map(|line| (line, lines[line])).collect()
}

/// An item that is not explained: what changed in it, or all of it where it is new.
fn left_out_item(at: &At, left_out: &LeftOut) -> Result<Block> {
    let LeftOut { line, file, item: name, reason } = left_out;
    let path = sources::path_of(file);
    let found =
        at.book.sources.need(at.step, &path)?.find(name, &path).map(|found| found[0].clone());
    let context = || format!("`left-out` in line {line} of the front matter");
    let old = match at.before() {
        Some(before) => changes::find_old(at.book, before, &path, &found.with_context(context)?)?,
        None => None,
    };
    let names = std::slice::from_ref(name);
    let block = match old {
        Some(_) => diff::diff(at, file, names, None, &Part::default()),
        None => item(at, file, names, &Part::default()),
    };
    let block = block.with_context(context)?;
    let markdown =
        format!("Not explained: {}.\n\n{}", reason.trim_end_matches('.'), block.markdown);
    Ok(Block { markdown, ..block })
}
