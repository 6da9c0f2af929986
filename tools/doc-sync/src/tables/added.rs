//! What every step adds, file by file, in code lines.

use std::collections::BTreeMap;

use anyhow::Result;
use similar::{ChangeTag, TextDiff};

use super::{Side, linked, markdown, number};
use crate::book::Book;
use crate::repo::Step;

/// A file's code lines by its path below `src`.
type Code = BTreeMap<String, Vec<String>>;

pub fn table(book: &Book) -> Result<String> {
    let mut rows = Vec::new();
    let mut before = Code::new();
    for step in &book.steps {
        let code = read(step, book)?;
        let mut name = linked(book, step);
        for (file, is_new, added, removed) in changes(&before, &code) {
            let kind = if is_new { "new" } else { "changed" };
            // The name stands in the first row of its step alone.
            let name = std::mem::take(&mut name);
            rows.push(vec![
                name,
                format!("`{file}`"),
                kind.to_string(),
                number(added),
                number(removed),
            ]);
        }
        before = code;
    }
    let sides = [Side::Left, Side::Left, Side::Left, Side::Right, Side::Right];
    Ok(markdown(&["step", "file", "", "added", "removed"], &sides, &rows))
}

fn read(step: &Step, book: &Book) -> Result<Code> {
    let mut files = Code::new();
    for path in book.sources.names(step)?.iter() {
        let name = path.strip_prefix("src/").unwrap_or(path).to_string();
        files.insert(name, book.sources.need(step, path)?.code.lines.clone());
    }
    Ok(files)
}

/// File, whether it is new, lines added and removed: new files first, then those that changed more
/// than others. What changed in imports alone is left out.
fn changes(before: &Code, after: &Code) -> Vec<(String, bool, usize, usize)> {
    let nothing = Vec::new();
    let mut changes = Vec::new();
    for (path, lines) in after {
        let old = before.get(path);
        let (added, removed) = count(old.unwrap_or(&nothing), lines);
        if added + removed > 0 {
            changes.push((path.clone(), old.is_none(), added, removed));
        }
    }
    changes.sort_by_key(|(path, is_new, added, _)| (!is_new, usize::MAX - added, path.clone()));
    changes
}

fn count(before: &[String], after: &[String]) -> (usize, usize) {
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let (mut added, mut removed) = (0, 0);
    for change in TextDiff::from_slices(&before, &after).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_come_first_and_what_did_not_change_is_left_out() {
        let code = |files: &[(&str, &str)]| -> Code {
            let lines = |text: &str| text.split(' ').map(str::to_string).collect();
            files.iter().map(|(path, text)| (path.to_string(), lines(text))).collect()
        };
        let before = code(&[("agent.rs", "a b c"), ("main.rs", "m")]);
        let after = code(&[("agent.rs", "a x y c"), ("main.rs", "m"), ("tools.rs", "t")]);
        assert_eq!(
            changes(&before, &after),
            [("tools.rs".to_string(), true, 1, 0), ("agent.rs".to_string(), false, 2, 1)]
        );
    }
}
