//! What has changed on disk since the last look: the chapters, the steps, and what their runs
//! depend on. It looks at times and sizes, again and again; that needs no crate and no promise
//! of the file system, and is quick enough for some thousand files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Desk;

/// Beside the book's own folder.
const WATCHED: [&str; 3] = ["steps", "mock-server/src", "tools/lesson/src"];

/// Each file with its time and size.
pub type Stamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// How things are now. What cannot be read is left out; it changes when it can be read again.
pub fn stamps(desk: &Desk) -> Stamps {
    let mut stamps = Stamps::new();
    let mut open = vec![desk.root.join(&desk.folder)];
    open.extend(WATCHED.iter().map(|folder| desk.root.join(folder)));
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() && !is_made(&entry.path()) {
                open.push(entry.path());
            } else if about.is_file() {
                stamps.insert(entry.path(), (about.modified().ok(), about.len()));
            }
        }
    }
    stamps
}

/// Folders that programs write: cargo's `target`, git's own, and pages that mdBook made (a book's
/// `build-dir` may lie within the book).
fn is_made(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name == "target" || name.starts_with('.') || folder.join("book.js").is_file()
}

/// Waits until something differs from `seen` and then stands still, since an editor writes a file
/// in several moves and `sync` writes many. Returns one of the files.
pub async fn next(desk: &Desk, seen: &mut Stamps, look: Duration) -> PathBuf {
    loop {
        tokio::time::sleep(look).await;
        let now = stamps(desk);
        let Some(changed) = difference(seen, &now) else { continue };
        *seen = now;
        while let Some(now) = moved(desk, seen, look).await {
            *seen = now;
        }
        return changed.strip_prefix(&desk.root).map(Path::to_path_buf).unwrap_or(changed);
    }
}

/// How things are after one more look, where they are not as they were.
async fn moved(desk: &Desk, seen: &Stamps, look: Duration) -> Option<Stamps> {
    tokio::time::sleep(look / 2).await;
    let now = stamps(desk);
    (now != *seen).then_some(now)
}

fn difference(old: &Stamps, new: &Stamps) -> Option<PathBuf> {
    let changed = new.iter().find(|(path, stamp)| old.get(*path) != Some(stamp));
    let gone = || old.keys().find(|path| !new.contains_key(*path));
    changed.map(|(path, _)| path).or_else(gone).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_millis(20);

    /// A root with a step, a chapter, and pages that were made within the book's folder.
    fn desk() -> (tempfile::TempDir, Desk) {
        let folder = tempfile::tempdir().unwrap();
        let desk = Desk { root: folder.path().to_path_buf(), folder: "book".into() };
        for file in FILES {
            write(&desk, file, "as it was");
        }
        (folder, desk)
    }

    const FILES: [&str; 4] =
        ["steps/00-loop/src/agent.rs", "book/src/00-loop.md", "book/out/book.js", "steps/target/a"];

    fn write(desk: &Desk, file: &str, text: &str) {
        let path = desk.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn change_seen(desk: &Desk, seen: &mut Stamps) -> Option<PathBuf> {
        let wait = Duration::from_secs(5);
        tokio::time::timeout(wait, next(desk, seen, LOOK)).await.ok()
    }

    #[tokio::test]
    async fn a_change_of_a_chapter_or_of_a_step_is_seen_once() {
        let (_folder, desk) = desk();
        let mut seen = stamps(&desk);
        for file in ["book/src/00-loop.md", "steps/00-loop/src/agent.rs", "book/src/new.md"] {
            write(&desk, file, "changed, and longer");
            assert_eq!(change_seen(&desk, &mut seen).await, Some(PathBuf::from(file)));
            assert_eq!(stamps(&desk), seen);
        }
        fs::remove_file(desk.root.join("book/src/new.md")).unwrap();
        assert_eq!(change_seen(&desk, &mut seen).await, Some(PathBuf::from("book/src/new.md")));
    }

    #[test]
    fn what_programs_write_is_not_looked_at() {
        let (_folder, desk) = desk();
        let before = stamps(&desk);
        assert_eq!(before.len(), 2, "{before:?}");
        write(&desk, "book/out/index.html", "made anew");
        write(&desk, "steps/target/b", "made anew");
        assert_eq!(stamps(&desk), before);
    }
}
