//! Where the items of a Rust file begin and end.
//!
//! Naive on purpose: it goes by rustfmt's indentation instead of parsing, because all our sources
//! are formatted and a parser would cost every learner its build time. An item ends at the line
//! with its own indentation that closes it.

use std::ops::Range;

/// A function, type, constant, or a block that holds such.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// `fn run`, `struct Agent`, `impl Agent`.
    pub name: String,
    /// Its lines, from 0, doc comments and attributes included.
    pub lines: Range<usize>,
    /// What stands in an `impl`, `trait` or `mod`.
    pub inner: Vec<Item>,
}

const KINDS: &[&str] =
    &["fn", "struct", "enum", "impl", "trait", "mod", "const", "static", "type", "union"];

pub fn items(lines: &[&str]) -> Vec<Item> {
    within(lines, 0..lines.len(), 0)
}

fn within(lines: &[&str], range: Range<usize>, indent: usize) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let Some(name) = item_name(lines[at], indent) else {
            at += 1;
            continue;
        };
        let end = end_of(lines, at, range.end, indent);
        let floor = found.last().map_or(range.start, |item| item.lines.end);
        let start = with_docs(lines, at, floor, indent);
        let holds = ["impl", "trait", "mod"].iter().any(|kind| name.starts_with(kind));
        let inner = if holds { within(lines, at + 1..end, indent + 4) } else { Vec::new() };
        found.push(Item { name, lines: start..end, inner });
        at = end;
    }
    found
}

/// The item's name, if the line begins one at this indentation.
fn item_name(line: &str, indent: usize) -> Option<String> {
    if indent_of(line) != indent {
        return None;
    }
    let mut words = line.trim().split_inclusive(' ').peekable();
    while let Some(word) = words.peek().map(|word| word.trim()) {
        let qualifier = word.starts_with("pub") || ["async", "unsafe", "extern"].contains(&word);
        if !qualifier {
            break;
        }
        words.next();
    }
    let rest: String = words.collect();
    let rest = rest.strip_prefix("const fn").map_or(rest.clone(), |tail| format!("fn{tail}"));
    let kind = KINDS.iter().find(|kind| {
        let tail = rest.strip_prefix(**kind);
        tail.is_some_and(|tail| tail.starts_with([' ', '<']))
    })?;
    let head = match *kind {
        "impl" => rest.split(['{', ';']).next().unwrap_or(&rest),
        _ => rest.split(['(', '{', '<', ':', ';', '=']).next().unwrap_or(&rest),
    };
    Some(head.split(" where ").next().unwrap_or(head).trim().to_string())
}

/// One past the item's last line.
fn end_of(lines: &[&str], start: usize, limit: usize, indent: usize) -> usize {
    let first = lines[start].trim_end();
    if first.ends_with([';', '}']) {
        return start + 1;
    }
    for (at, line) in lines.iter().enumerate().take(limit).skip(start + 1) {
        let text = line.trim();
        let closes = text.starts_with(['}', ']', ')']) && !text.ends_with(['{', '[', '(', '=']);
        if closes && indent_of(line) == indent {
            return at + 1;
        }
        // A value on lines of its own: `const NAME: &str =` and what follows.
        if first.ends_with('=') && text.ends_with(';') {
            return at + 1;
        }
    }
    limit
}

/// The first line of the comments and attributes above an item.
fn with_docs(lines: &[&str], start: usize, floor: usize, indent: usize) -> usize {
    let mut first = start;
    while first > floor {
        let above = lines[first - 1];
        let text = above.trim();
        let head = text.starts_with("#[") || (text.starts_with("//") && !text.starts_with("//!"));
        if !head || indent_of(above) != indent {
            break;
        }
        first -= 1;
    }
    first
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The items around a line, from outside in.
pub fn around(items: &[Item], line: usize) -> Vec<&Item> {
    let Some(item) = items.iter().find(|item| item.lines.contains(&line)) else {
        return Vec::new();
    };
    let mut path = vec![item];
    path.extend(around(&item.inner, line));
    path
}

/// Names of the items that stand in these lines, the last line perhaps not; of a block that does,
/// only its own.
pub fn inside<'a>(items: &'a [Item], lines: &Range<usize>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for item in items {
        if lines.start <= item.lines.start && item.lines.end <= lines.end + 1 {
            names.push(item.name.as_str());
        } else {
            names.extend(inside(&item.inner, lines));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
//! A head.

use std::fs;

/// How many.
const MOST: usize = 3;
const WORDS: &[&str] = &[
    \"one\",
];
const LONG: &str =
    \"a text\";

/// Runs.
#[derive(Debug)]
pub struct Agent<T> {
    turns: T,
}

impl<T> Agent<T> {
    /// Once more.
    pub async fn run(
        &self,
        line: &str,
    ) -> Result<()> {
        if line.is_empty() {
            return Ok(());
        }
    }

    fn ask(&self) {}
}

pub(crate) fn main() {
    let const_like = 1;
}
";

    fn names(items: &[Item]) -> Vec<&str> {
        items.iter().map(|item| item.name.as_str()).collect()
    }

    #[test]
    fn items_are_found_with_their_inner_ones() {
        let lines: Vec<&str> = FILE.lines().collect();
        let found = items(&lines);
        let outer = [
            "const MOST",
            "const WORDS",
            "const LONG",
            "struct Agent",
            "impl<T> Agent<T>",
            "fn main",
        ];
        assert_eq!(names(&found), outer);
        assert_eq!(names(&found[4].inner), ["fn run", "fn ask"]);
    }

    #[test]
    fn an_item_reaches_from_its_doc_comment_to_its_closing_brace() {
        let lines: Vec<&str> = FILE.lines().collect();
        let found = items(&lines);
        assert_eq!(found[0].lines, 4..6);
        assert_eq!(found[1].lines, 6..9);
        assert_eq!(found[2].lines, 9..11);
        assert_eq!(found[3].lines, 12..17);
        assert_eq!(found[4].inner[0].lines, 19..28);
    }

    #[test]
    fn a_line_knows_the_items_around_it() {
        let lines: Vec<&str> = FILE.lines().collect();
        let found = items(&lines);
        let path: Vec<&str> = around(&found, 25).iter().map(|item| item.name.as_str()).collect();
        assert_eq!(path, ["impl<T> Agent<T>", "fn run"]);
        assert!(around(&found, 1).is_empty());
    }

    #[test]
    fn a_whole_block_is_named_once_and_a_part_by_its_functions() {
        let lines: Vec<&str> = FILE.lines().collect();
        let found = items(&lines);
        assert_eq!(inside(&found, &(18..36)), ["impl<T> Agent<T>", "fn main"]);
        assert_eq!(inside(&found, &(26..36)), ["fn ask", "fn main"]);
    }
}
