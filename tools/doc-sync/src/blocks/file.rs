//! Files that are not Rust: a scene, a settings file, a manifest.

use std::ops::Range;

use anyhow::{Result, bail};

use super::fence::{comment, fence, language};
use super::{At, cut, place};
use crate::generate::{Block, Shown};
use crate::near;
use crate::origin::Piece;
use crate::repo;
use crate::sources;

/// A file of the step, or a piece of it.
pub fn file(at: &At, file: &str, piece: &Piece) -> Result<Block> {
    let path = sources::path_of(file);
    let text = read(at, &path)?;
    let lines: Vec<&str> = text.lines().collect();
    let (pieces, place) = match piece {
        Piece::Part(part) => {
            let range = cut(&lines, part, &path)?;
            let place = if range.len() == lines.len() { "" } else { ", a part" };
            (vec![range], place.to_string())
        }
        Piece::TomlTable(name) => (toml_table(&lines, name, &path)?, format!(", `[{name}]`")),
    };
    let is_part = matches!(piece, Piece::Part(_));
    let texts: Vec<String> = pieces.iter().map(|range| lines[range.clone()].join("\n")).collect();
    let mut text = texts.join("\n\n");
    if is_part {
        text = with_marks(&text, &pieces[0], lines.len(), &path);
    }
    let shown = Shown {
        step: at.step.number,
        file: path.clone(),
        lines: pieces.into_iter().flatten().map(|line| line + 1).collect(),
    };
    let place = format!("*{}{place}*", place::file(at, &path));
    let markdown = format!("{place}\n\n{}", fence(language(&path), &text));
    Ok(Block { markdown, shows: vec![shown] })
}

fn read(at: &At, path: &str) -> Result<String> {
    let place = at.step.folder.join(path);
    if place.is_file() {
        return sources::read(&place);
    }
    let files = repo::files_on_disk(&at.step.folder)?;
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    bail!("step {:02} has no {path}{}", at.step.number, near::hint(path, &names))
}

fn with_marks(text: &str, part: &Range<usize>, length: usize, path: &str) -> String {
    let (open, close) = comment(path);
    let mut marked = text.to_string();
    if part.start > 0 {
        marked = format!("{open}…{close}\n{marked}");
    }
    if part.end < length {
        marked = format!("{marked}\n{open}…{close}");
    }
    marked
}

/// The lines of all tables with this name, each from its comment to its last value.
fn toml_table(lines: &[&str], name: &str, path: &str) -> Result<Vec<Range<usize>>> {
    let headers = headers(lines);
    let mut found: Vec<Range<usize>> = Vec::new();
    for (index, start) in headers.iter().enumerate() {
        let this = header(lines[*start]).unwrap_or_default();
        if this != name && !this.starts_with(&format!("{name}.")) {
            continue;
        }
        let next = headers.get(index + 1).map_or(lines.len(), |next| above(lines, *next));
        let range = above(lines, *start)..end_of(lines, *start, next);
        match found.last_mut() {
            Some(last) if lines[last.end..range.start].is_empty() => last.end = range.end,
            _ => found.push(range),
        }
    }
    if found.is_empty() {
        let mut names: Vec<&str> = headers.iter().filter_map(|at| header(lines[*at])).collect();
        names.dedup();
        bail!("{path} has no table `{name}`{}", near::hint(name, &names));
    }
    Ok(found)
}

/// The lines with a table's name, but for those inside of a long text.
fn headers(lines: &[&str]) -> Vec<usize> {
    let mut is_in_text = false;
    let mut headers = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !is_in_text && header(line).is_some() {
            headers.push(at);
        }
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        is_in_text ^= quotes % 2 == 1;
    }
    headers
}

/// The name in `[name]` or `[[name]]`.
fn header(line: &str) -> Option<&str> {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let inner = inner.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(inner);
    let is_name = inner.chars().all(|sign| sign.is_alphanumeric() || "._-\"".contains(sign));
    (is_name && !inner.is_empty()).then_some(inner)
}

/// The first line of the comment above a header.
fn above(lines: &[&str], header: usize) -> usize {
    let comments = lines[..header].iter().rev().take_while(|line| line.starts_with('#'));
    header - comments.count()
}

/// One past the last line that is not blank.
fn end_of(lines: &[&str], start: usize, next: usize) -> usize {
    let blank = lines[start..next].iter().rev().take_while(|line| line.trim().is_empty());
    next - blank.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toml_table_has_its_comment_and_its_children() {
        let lines =
            ["[a]", "x = 1", "", "# Why.", "[v]", "y = 1", "", "[v.z]", "q = 1", "", "# b", "[b]"];
        let found = toml_table(&lines, "v", "f").unwrap();
        assert_eq!(found, [3..6, 7..9]);
        assert_eq!(
            toml_table(&lines, "w", "f").unwrap_err().to_string(),
            "f has no table `w`; there are `a`, `v`, `v.z`, `b`"
        );
    }
}
