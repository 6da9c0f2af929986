//! Paths that a scene names, and the files beside it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::table::{Entry, Faults};

/// Largest scene, and largest file in which values are filled in, in bytes.
const LARGEST: u64 = 8 << 20;

/// A path inside the workspace, or with `~/` inside the home.
pub fn path(entry: &Entry<'_>, faults: &mut Faults) -> Option<String> {
    let path = entry.text(faults)?;
    if let Some(why) = leads_out(&path) {
        faults.add(entry.at, format!("`{path}` is no path of the story: {why}"));
    }
    Some(path)
}

/// Why this is no path inside the workspace or the home.
pub fn leads_out(path: &str) -> Option<&'static str> {
    let inside = path.strip_prefix("~/").unwrap_or(path);
    if inside.trim().is_empty() {
        return Some("it is empty");
    }
    let has_drive = inside.as_bytes().get(1) == Some(&b':');
    if inside.starts_with(['/', '\\', '~']) || has_drive {
        return Some("it must begin in the workspace, or with ~/ in the home");
    }
    if inside.split(['/', '\\']).any(|name| name == "..") {
        return Some("`..` leads out");
    }
    inside.contains('\0').then_some("it holds a zero byte")
}

/// The bytes of a regular file that is not too large: a pipe would never end.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}
