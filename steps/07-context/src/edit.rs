//! `edit_file`: changes one piece of a file, and never a file that the model does not know.
//!
//! The old text must stand in the file exactly once: with none the model remembers wrongly, with
//! two we would have to guess. And the file must be as it was when the model read it. We keep a
//! hash of the file that was read, since time and size are the same when somebody saves twice in a
//! second. Who has read a part may edit; a whole new text takes the place of a file only if the
//! model has seen all of it.
//! All around the edit stays byte for byte: line ends, byte-order mark, final newline, permissions.
//!
//! Left out on purpose: owner and extended attributes are those of a new file, and a hard link is
//! parted from its twin, as with every editor that writes a copy and renames it. Between our last
//! look and the rename lies a moment in which another's change would still be lost.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use crate::tools::{explained, must_be_a_file};

/// A longer file, in bytes, is not edited: it would be held in memory several times.
const MAX_EDITED: u64 = 10_000_000;
/// Places at which an old text is looked for, before we call it "or more".
const MAX_PLACES: usize = 100;
/// Lines of the change that the result shows, characters of each, and how long we look for them.
const MAX_DIFF_LINES: usize = 60;
const MAX_DIFF_CHARS: usize = 300;
const DIFF_TIME: Duration = Duration::from_millis(500);

/// What the model has read: each file, with all links followed, and how it was.
#[derive(Default)]
pub struct Edits {
    read: Mutex<HashMap<PathBuf, Known>>,
}

/// A file as the model knows it.
struct Known {
    /// Of all that the file held.
    hash: u64,
    /// The model has seen all of that, and not a part.
    is_whole: bool,
}

impl Edits {
    /// `None` for a file that cannot be read or is too long to be edited.
    pub fn hash_of_file(path: &Path) -> Option<u64> {
        must_be_a_file(path, "").ok()?;
        Some(hash_of(&whole(path).ok()??))
    }

    /// The model has seen the file, or a part of it, when its content had this hash.
    pub fn note(&self, path: &Path, hash: Option<u64>, is_whole: bool) {
        let (Some(hash), Ok(path)) = (hash, fs::canonicalize(path)) else { return };
        let mut read = self.read();
        let was_whole = read.get(&path).is_some_and(|known| known.is_whole && known.hash == hash);
        read.insert(path, Known { hash, is_whole: is_whole || was_whole });
    }

    /// Replaces the one place where `old` stands. The result is the change as a diff.
    pub fn replace(&self, path: &Path, name: &str, old: &str, new: &str) -> Result<String> {
        if old.is_empty() {
            bail!("`old_text` is empty\nsay which text is to be replaced");
        }
        self.change(path, name, false, |before| {
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
        self.change(path, name, true, |before| {
            let mark = if before.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            let content = with_line_ends_of(before, content.trim_start_matches('\u{feff}'));
            let content = match (is_open(before), is_open(&content)) {
                _ if before.is_empty() => content,
                (true, false) => content.strip_suffix(line_end(before)).unwrap_or(&content).into(),
                (false, true) => content + line_end(before),
                _ => content,
            };
            Ok(format!("{mark}{content}"))
        })
    }

    /// Reads a file that must be as the model knows it, and puts what `make` makes of it there.
    /// Where all of it is replaced, the model must know all of it.
    fn change(
        &self,
        path: &Path,
        name: &str,
        is_all: bool,
        make: impl FnOnce(&str) -> Result<String>,
    ) -> Result<String> {
        // Held until the end, so that two edits at once come one after the other.
        let mut read = self.read();
        must_be_a_file(path, name)?;
        let path = fs::canonicalize(path).map_err(|error| explained(error, path, name))?;
        let kind = fs::metadata(&path).map_err(|error| explained(error, &path, name))?;
        // A rename would replace the file all the same.
        if kind.permissions().readonly() {
            bail!("`{name}` is read-only\nask the user to permit the change, or go without it");
        }
        let content = whole(&path).map_err(|error| explained(error, &path, name))?;
        let Some(content) = content else {
            bail!("`{name}` is longer than {MAX_EDITED} bytes\nchange it with run_shell");
        };
        as_it_was_read(read.get(&path), &content, is_all, name)?;
        let Ok(before) = String::from_utf8(content) else {
            bail!("`{name}` is not UTF-8, and an edit would harm it\nrun_shell may have a way");
        };
        let after = make(&before)?;
        if after == before {
            bail!("nothing would change: the new text of `{name}` is the old one");
        }
        replace_file(&path, after.as_bytes())
            .with_context(|| format!("`{name}` cannot be replaced\nmay its folder be changed?"))?;
        // What the model has just written it knows; of the rest it knows as much as before.
        read.entry(path).and_modify(|known| known.hash = hash_of(after.as_bytes()));
        Ok(what_changed(&before, &after, name))
    }

    fn read(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All that a file holds, or `None` where that is more than we edit. Its length is not asked: some
/// files grow while they are read, and some of the system's say 0 and never end.
fn whole(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_EDITED + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= MAX_EDITED).then_some(content))
}

/// The file must be known to the model, and hold what the model knows.
fn as_it_was_read(known: Option<&Known>, content: &[u8], is_all: bool, name: &str) -> Result<()> {
    let Some(known) = known else {
        bail!("`{name}` was not read yet\nread it first, to change what is there");
    };
    if known.hash != hash_of(content) {
        bail!(
            "`{name}` has changed since you read it\nsomeone else wrote it, or a command did: read it again"
        );
    }
    if is_all && !known.is_whole {
        bail!("only a part of `{name}` was read\nuse edit_file, or read all of it first");
    }
    Ok(())
}

/// What a file holds, to be compared with something; nothing where it is no text that we edit.
pub fn text_of(path: &Path) -> String {
    let content = must_be_a_file(path, "").ok().and_then(|()| whole(path).ok().flatten());
    String::from_utf8(content.unwrap_or_default()).unwrap_or_default()
}

/// The standard hasher differs from one Rust to the next, but within one process it does not.
pub fn hash_of(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// Where `old` begins in the view, if there is one such place.
fn the_one_place(view: &str, old: &str, name: &str) -> Result<usize> {
    let (mut places, mut from) = (Vec::new(), 0);
    while let Some(at) = view[from..].find(old).filter(|_| places.len() < MAX_PLACES) {
        places.push(from + at);
        // One character on, and not one match: there are two "aa" in "aaa".
        from += at + view[from + at..].chars().next().map_or(1, char::len_utf8);
    }
    let or_more = if places.len() < MAX_PLACES { "" } else { " or more" };
    match places.as_slice() {
        [at] => Ok(*at),
        [] => match nearly(view, old) {
            Some(line) => bail!(
                "the text does not stand in `{name}` as you wrote it\nfrom line {line} on it does, but for white space"
            ),
            None => bail!("the text does not stand in `{name}`\nread it again"),
        },
        _ => {
            let line_of = |at: &usize| (view[..*at].matches('\n').count() + 1).to_string();
            let lines: Vec<String> = places.iter().take(10).map(line_of).collect();
            bail!(
                "the text stands {}{or_more} times in `{name}` (lines {})\ntake more of the lines around the one you mean",
                places.len(),
                lines.join(", ")
            )
        }
    }
}

/// The line from which the text would stand if white space did not count.
fn nearly(view: &str, old: &str) -> Option<usize> {
    let bare = |line: &str| line.split_whitespace().collect::<String>();
    let wanted: Vec<String> = old.trim().lines().map(bare).collect();
    let lines: Vec<String> = view.lines().map(bare).collect();
    // `windows` takes no 0, which is what a text of white space comes to.
    let mut windows = lines.windows(wanted.len().max(1));
    let place = match wanted.as_slice() {
        [] => None,
        [one] => lines.iter().position(|line| line.contains(one.as_str())),
        lines => windows.position(|window| window == lines),
    };
    place.map(|place| place + 1)
}

/// A text as the model sees and writes it.
fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A place of the view `with_line_feeds`, in the text as it is: byte 2 of "a\nb", which is the b,
/// stands at byte 3 of "a\r\nb".
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
    // A file that a killed process left behind must not be in the way.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let beside = path.with_file_name(format!(".edit-{}-{now}.tmp", std::process::id()));
    let mut file = File::create_new(&beside)?;
    let done = fs::metadata(path)
        .and_then(|kind| file.set_permissions(kind.permissions()))
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// The change as a small diff, one line around each place.
pub fn what_changed(before: &str, after: &str, name: &str) -> String {
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
