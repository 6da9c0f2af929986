//! What the scene does from outside to files. (What it does to the program is in `outside.rs`.)

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use mock_server::Values;

use super::rooms::Rooms;

pub fn write(rooms: &Rooms, path: &str, text: &str, values: &Values) -> Result<()> {
    let file = rooms.find(path)?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making the folder of {path}"))?;
    }
    fs::write(&file, values.fill_file(text)).with_context(|| format!("writing {path}"))
}

/// Removes a file or a folder. One that is not there is an error: the scene expected it.
pub fn remove(rooms: &Rooms, path: &str) -> Result<()> {
    let file = rooms.find(path)?;
    let removed = if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
    removed.with_context(|| format!("removing {path}"))
}

/// Cuts the last bytes off a file, as a crash while writing does. False where there is none: an
/// earlier step does not write it yet.
pub fn cut(rooms: &Rooms, pattern: &str, bytes: u64) -> Result<bool> {
    let Some(file) = rooms.find_one(pattern)? else { return Ok(false) };
    let cutting = || -> std::io::Result<()> {
        let open = fs::OpenOptions::new().write(true).open(&file)?;
        let length = open.metadata()?.len();
        open.set_len(length.saturating_sub(bytes))
    };
    cutting().with_context(|| format!("cutting {bytes} bytes off {}", file.display()))?;
    Ok(true)
}

/// Moves the program's clock on: the file holds the seconds to add to the real time.
pub fn advance_clock(clock: &Path, by: Duration) -> Result<()> {
    let so_far: u64 =
        fs::read_to_string(clock).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let seconds = so_far + by.as_secs();
    fs::write(clock, format!("{seconds}\n")).context("moving the program's clock on")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rooms() -> Rooms {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(dir.path().join("workspace")).expect("made");
        fs::write(dir.path().join("workspace/log.jsonl"), "one\ntwo\n").expect("written");
        Rooms::copy(dir.path()).expect("copied")
    }

    #[test]
    fn files_are_written_cut_and_removed() {
        let rooms = rooms();
        let mut values = Values::default();
        values.set("port", "7".to_string());
        write(&rooms, "notes/new.txt", "port <<port>>", &values).expect("written");
        let read =
            |path: &str| fs::read_to_string(rooms.find(path).expect("inside")).expect("read");
        assert_eq!(read("notes/new.txt"), "port 7");
        assert!(cut(&rooms, "*.jsonl", 3).expect("cut"));
        assert!(!cut(&rooms, "*.json", 3).expect("nothing to cut"));
        assert_eq!(read("log.jsonl"), "one\nt");
        remove(&rooms, "log.jsonl").expect("removed");
        assert!(remove(&rooms, "log.jsonl").is_err());
        remove(&rooms, "notes").expect("removed");
    }

    #[test]
    fn the_clock_only_goes_on() {
        let rooms = rooms();
        advance_clock(&rooms.clock(), Duration::from_secs(60)).expect("moved");
        advance_clock(&rooms.clock(), Duration::from_secs(5)).expect("moved");
        assert_eq!(fs::read_to_string(rooms.clock()).expect("read"), "65\n");
    }
}
