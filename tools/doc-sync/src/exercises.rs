//! The exercises of the chapters: `book/exercises/NN-name`, each a scene that fails on the step as
//! it is, and a solution with which it passes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::blocks::{self, diff, fence};
use crate::book::Book;
use crate::generate::Block;
use crate::near;
use crate::runs::{self, What, command, transcript};
use crate::sources;

/// Where an exercise is. Editions share them.
pub fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("book").join("exercises").join(name)
}

/// The exercise as a reader names it behind `--scene`.
pub fn named(name: &str) -> String {
    format!("book/exercises/{name}")
}

/// How to play the exercise, and what it says until it is solved.
pub fn exercise(name: &str, book: &Book) -> Result<String> {
    is_there(name, book)?;
    // Nobody is given an exercise that has no solution.
    transcript(&What::Exercise { name: name.to_string(), solved: true }, book)?;
    let output = transcript(&What::Exercise { name: name.to_string(), solved: false }, book)?;
    let step = runs::step_of_exercise(name)?;
    let typed = command(step, &["--scene".to_string(), named(name)]);
    let verdict = verdict(&output);
    Ok(fence("console", &format!("$ {typed}\n{0}\n{verdict}\n{0}", runs::CUT)))
}

/// What was not verified: the heading, each rule that failed with its reason, and the last word.
fn verdict(output: &str) -> String {
    let from_verdict = output.lines().skip_while(|line| !line.starts_with("verified"));
    let mut shown = Vec::new();
    let mut has_failed = false;
    for line in from_verdict.take_while(|line| *line != "next") {
        if line.starts_with("  ✗") || line.starts_with("  ✓") {
            has_failed = line.starts_with("  ✗");
        } else if !line.starts_with(' ') {
            has_failed = !line.is_empty();
        }
        if has_failed {
            shown.push(line);
        }
    }
    shown.join("\n")
}

/// The solution, folded away.
pub fn solution(name: &str, book: &Book) -> Result<String> {
    is_there(name, book)?;
    transcript(&What::Exercise { name: name.to_string(), solved: true }, book)?;
    let step = book.step(runs::step_of_exercise(name)?)?;
    let patch = sources::read(&folder(&book.root, name).join("solution.patch"))?;
    let mut blocks = Vec::new();
    for change in changes(&patch) {
        let within = format!("steps/{}/", step.name);
        let file = change.file.strip_prefix(&within).with_context(|| {
            format!("the solution of {name} changes {}, which is not in {within}", change.file)
        })?;
        let counts = diff::counts(change.pieces.iter().flatten());
        let pieces: Vec<String> =
            change.pieces.iter().map(|lines| diff::written(lines, file)).collect();
        let info = format!("{},diff", fence::language(file));
        let (open, close) = fence::comment(file);
        let text = pieces.join(&format!("\n {open}…{close}\n"));
        blocks.push(format!("*`{file}`: {counts}*\n\n{}", fence(&info, &text)));
    }
    if blocks.is_empty() {
        bail!("the solution of {name} changes nothing: write it with `git diff > solution.patch`");
    }
    Ok(blocks::fold(Block::from(blocks.join("\n")), "A solution").markdown)
}

fn is_there(name: &str, book: &Book) -> Result<()> {
    for file in ["scene.toml", "solution.patch"] {
        if folder(&book.root, name).join(file).is_file() {
            continue;
        }
        let all = folder(&book.root, "");
        let names: Vec<String> = match all.is_dir() {
            true => std::fs::read_dir(&all)?
                .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
                .collect(),
            false => Vec::new(),
        };
        let hint = near::hint(name, &names.iter().map(String::as_str).collect::<Vec<_>>());
        bail!("{} has no {file}{}", named(name), if file == "scene.toml" { &hint } else { "" });
    }
    Ok(())
}

/// What a patch changes in one file.
struct Change {
    /// From the repository's root.
    file: String,
    /// A hunk each.
    pieces: Vec<Vec<diff::Line>>,
}

/// The hunks of a patch as git writes it, file by file.
fn changes(patch: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    // The lines of the hunk that are still to come, before and after.
    let (mut old, mut new) = (0, 0);
    for line in patch.lines() {
        if old + new == 0 {
            if let Some(file) = line.strip_prefix("+++ ") {
                let file = file.strip_prefix("b/").unwrap_or(file).to_string();
                changes.push(Change { file, pieces: Vec::new() });
            } else if let (Some((before, after)), Some(change)) = (hunk(line), changes.last_mut()) {
                (old, new) = (before, after);
                change.pieces.push(Vec::new());
            }
            continue;
        }
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let (is_old, is_new) = match sign {
            "-" => (1, 0),
            "+" => (0, 1),
            "\\" => continue,
            _ => (1, 1),
        };
        (old, new) = (old.saturating_sub(is_old), new.saturating_sub(is_new));
        let piece = changes.last_mut().and_then(|change| change.pieces.last_mut());
        if let Some(piece) = piece {
            let sign = sign.chars().next().unwrap_or(' ');
            piece.push(diff::Line { sign, text: text.to_string(), new: None });
        }
    }
    changes
}

/// How many lines a hunk has before and after: `@@ -18,3 +18,4 @@ fn hours()`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let ranges = line.strip_prefix("@@ ")?;
    let mut ranges = ranges.split(' ').map(|range| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    });
    Some((ranges.next()??, ranges.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_verdict_only_what_failed_is_shown() {
        let output = "step02 · edit\n\nverified: 1 of 3\n  ✓ it stands\n      well\n  ✗ it holds\n      \
                      it should hold\n      and does not\n  ✗ the story\n      broke\n  ✓ the rules\n\n\
                      as it should be until the exercise is solved (rule `held`)\n\nnext\n  more\n";
        assert_eq!(
            verdict(output),
            "verified: 1 of 3\n  ✗ it holds\n      it should hold\n      and does not\n  ✗ the story\n      \
             broke\nas it should be until the exercise is solved (rule `held`)"
        );
    }

    #[test]
    fn a_patch_is_read_hunk_by_hunk_whatever_its_lines_look_like() {
        let patch = "diff --git a/steps/02-edit/src/edit.rs b/steps/02-edit/src/edit.rs\n\
                     index 1..2 100644\n--- a/steps/02-edit/src/edit.rs\n+++ b/steps/02-edit/src/edit.rs\n\
                     @@ -1,3 +1,3 @@ fn a()\n one\n--- two\n+++ three\n\n@@ -9 +9,2 @@\n nine\n+ten\n\
                     \\ No newline at end of file\n";
        let changes = changes(patch);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].file, "steps/02-edit/src/edit.rs");
        let lines = |piece: usize| -> Vec<String> {
            let lines = changes[0].pieces[piece].iter();
            lines.map(|line| format!("{}{}", line.sign, line.text)).collect()
        };
        assert_eq!(lines(0), [" one", "--- two", "+++ three", " "]);
        assert_eq!(lines(1), [" nine", "+ten"]);
    }
}
