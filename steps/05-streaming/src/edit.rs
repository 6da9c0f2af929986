//! `edit_file`: changes one piece of a file, and never more than the model has seen.
//!
//! The old text must stand in the file exactly once: with none the model remembers wrongly, with
//! two we would have to guess. And the file must be as it was when the model read it. We keep a
//! hash of what was read, since time and size are the same when somebody saves twice in a second.
//! All around the edit stays byte for byte: line ends, byte-order mark, final newline, permissions.
//!
//! Left out on purpose: owner and extended attributes are those of a new file, and a hard link is
//! parted from its twin, as with every editor that writes a copy and renames it. Between our last
//! look and the rename lies a moment in which another's change would still be lost.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use similar::TextDiff;

use crate::tools::{explained, must_be_a_file};

/// A longer file, in bytes, is not edited: it would be held in memory several times.
const MAX_EDITED: u64 = 10_000_000;
/// Lines of the change that the result shows, characters of each, and the time for finding them.
const MAX_DIFF_LINES: usize = 60;
const MAX_DIFF_CHARS: usize = 300;
const DIFF_TIME: Duration = Duration::from_millis(500);

/// What the model has read: for each file, with all links followed, the hash of its content. The
/// standard hasher differs from one Rust to the next, but within one process it does not.
#[derive(Default)]
pub struct Edits {
    read: Mutex<HashMap<PathBuf, u64>>,
}

/// A file and the hash of what it holds.
pub type State = (PathBuf, u64);

impl Edits {
    /// `None` for a file that cannot be read or is too long to be edited.
    pub fn state_of(path: &Path) -> Option<State> {
        let path = fs::canonicalize(path).ok()?;
        let kind = fs::metadata(&path).ok()?;
        if !kind.is_file() || kind.len() > MAX_EDITED {
            return None;
        }
        let hash = hash_of(&fs::read(&path).ok()?);
        Some((path, hash))
    }

    /// The model knows the file in this state.
    pub fn note(&self, state: Option<State>) {
        self.read().extend(state);
    }

    /// Replaces the one place where `old` stands. The result is the change as a diff.
    pub fn replace(&self, path: &Path, name: &str, old: &str, new: &str) -> Result<String> {
        if old.is_empty() {
            bail!("`old_text` is empty\nsay which text is to be replaced");
        }
        self.change(path, name, |before| {
            let view = with_line_feeds(before);
            let old = with_line_feeds(old);
            let at = the_one_place(&view, &old, name)?;
            let (start, end) = (in_file(before, at), in_file(before, at + old.len()));
            let new = with_line_ends_of(before, new);
            let after = [&before[..start], &new, &before[end..]].concat();
            // Models drop a final newline unawares, so one that was there stays.
            Ok(if is_open(&after) && !is_open(before) { after + line_end(before) } else { after })
        })
    }

    /// Replaces the whole text of a file that is there, by the same rules as an edit.
    pub fn rewrite(&self, path: &Path, name: &str, content: &str) -> Result<String> {
        self.change(path, name, |before| {
            let mark = if before.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            let content = with_line_ends_of(before, content.trim_start_matches('\u{feff}'));
            let content = match (is_open(before), is_open(&content)) {
                _ if before.is_empty() => content,
                (true, false) => content.trim_end_matches(['\r', '\n']).to_string(),
                (false, true) => content + line_end(before),
                _ => content,
            };
            Ok(format!("{mark}{content}"))
        })
    }

    /// Reads a file that must be as the model knows it, and puts what `make` makes of it there.
    fn change(
        &self,
        path: &Path,
        name: &str,
        make: impl FnOnce(&str) -> Result<String>,
    ) -> Result<String> {
        // Held until the end, so that two edits at once come one after the other.
        let mut read = self.read();
        must_be_a_file(path, name)?;
        let path = fs::canonicalize(path).map_err(|error| explained(error, path, name))?;
        let kind = fs::metadata(&path).map_err(|error| explained(error, &path, name))?;
        if kind.len() > MAX_EDITED {
            bail!("`{name}` is longer than {MAX_EDITED} bytes\nchange it with run_shell");
        }
        // A rename would replace the file all the same.
        if kind.permissions().readonly() {
            bail!("`{name}` is read-only\nask the user to permit the change, or go without it");
        }
        let content = fs::read(&path).map_err(|error| explained(error, &path, name))?;
        as_it_was_read(read.get(&path), &content, name)?;
        let Ok(before) = String::from_utf8(content) else {
            bail!("`{name}` is not UTF-8, and an edit would harm it\nrun_shell may have a way");
        };
        let after = make(&before)?;
        if after == before {
            bail!("nothing would change: the new text of `{name}` is the old one");
        }
        replace_file(&path, after.as_bytes()).map_err(|error| explained(error, &path, name))?;
        read.insert(path, hash_of(after.as_bytes()));
        Ok(what_changed(&before, &after, name))
    }

    fn read(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file must be known to the model, and hold what the model knows.
fn as_it_was_read(known: Option<&u64>, content: &[u8], name: &str) -> Result<()> {
    let Some(known) = known else {
        bail!("`{name}` was not read yet\nread it first, to change what is there");
    };
    if *known != hash_of(content) {
        bail!(
            "`{name}` has changed since you read it\nsomeone else wrote it, or a command did: read it again"
        );
    }
    Ok(())
}

fn hash_of(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Where `old` begins in the view, if there is one such place.
fn the_one_place(view: &str, old: &str, name: &str) -> Result<usize> {
    // Not `match_indices`: it would find one "aa" in "aaa", and there are two.
    let starts = view.char_indices().map(|(at, _)| at);
    let places: Vec<usize> = starts.filter(|at| view[*at..].starts_with(old)).collect();
    match places.as_slice() {
        [at] => Ok(*at),
        [] => match nearly(view, old) {
            Some(line) => bail!(
                "the text does not stand in `{name}` as you wrote it\nline {line} differs in white space only"
            ),
            None => bail!("the text does not stand in `{name}`\nread it again"),
        },
        _ => {
            let line_of = |at: &usize| (view[..*at].matches('\n').count() + 1).to_string();
            let lines: Vec<String> = places.iter().take(10).map(line_of).collect();
            bail!(
                "the text stands {} times in `{name}` (lines {})\ntake more of the lines around the one you mean",
                places.len(),
                lines.join(", ")
            )
        }
    }
}

/// The line where the text would stand if white space did not count.
fn nearly(view: &str, old: &str) -> Option<usize> {
    let bare = |line: &str| line.split_whitespace().collect::<String>();
    let wanted: Vec<String> = old.trim().lines().map(bare).collect();
    let lines: Vec<String> = view.lines().map(bare).collect();
    let holds = |(line, wanted): (&String, &String)| line.contains(wanted.as_str());
    // `windows` takes no 0, which is what a text of white space comes to.
    let mut windows = lines.windows(wanted.len().max(1));
    let place = windows.position(|window| window.iter().zip(&wanted).all(holds))?;
    (!wanted.is_empty()).then_some(place + 1)
}

/// A text as the model sees and writes it.
fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A place of the view `with_line_feeds`, in the text as it is.
fn in_file(text: &str, at: usize) -> usize {
    let (mut start, mut left) = (0, at);
    for line in text.split_inclusive("\r\n") {
        let length_in_view = line.len() - usize::from(line.ends_with("\r\n"));
        if left < length_in_view {
            break;
        }
        left -= length_in_view;
        start += line.len();
    }
    start + left
}

fn with_line_ends_of(file: &str, text: &str) -> String {
    with_line_feeds(text).replace('\n', line_end(file))
}

/// The line end that most lines have.
fn line_end(file: &str) -> &'static str {
    let with_return = file.matches("\r\n").count();
    if with_return > file.matches('\n').count() - with_return { "\r\n" } else { "\n" }
}

/// A text whose last line has no end.
fn is_open(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// Writes beside the file and renames, so that nobody ever sees half a file.
fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let copy = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&copy)?;
    let done = fs::metadata(path)
        .and_then(|kind| file.set_permissions(kind.permissions()))
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&copy, path));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&copy);
    }
    done
}

/// The change as a small diff, one line around each place.
fn what_changed(before: &str, after: &str, name: &str) -> String {
    let (before, after) = (with_line_feeds(before), with_line_feeds(after));
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&before, &after);
    let text = diff.unified_diff().context_radius(1).to_string();
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = vec![format!("changed {name}")];
    let cut = |line: &&str| line.chars().take(MAX_DIFF_CHARS).collect::<String>();
    shown.extend(lines.iter().take(MAX_DIFF_LINES).map(cut));
    if lines.len() > MAX_DIFF_LINES {
        shown.push(format!("[{} more lines of the change]", lines.len() - MAX_DIFF_LINES));
    }
    shown.join("\n")
}

#[cfg(test)]
#[path = "../tests/edit.rs"]
mod tests;
