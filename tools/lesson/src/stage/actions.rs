//! What the scene does from outside to files. (What it does to the program is in `outside.rs`.)

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mock_server::Values;

use super::regular::{LIMIT, Unfit, open_regular, read_regular, write_regular};
use super::rooms::Rooms;

pub fn write(rooms: &Rooms, path: &str, text: &str, values: &Values) -> Result<()> {
    let file = rooms.find_to_change(path)?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making the folder of {path}"))?;
    }
    let written = write_regular(&file, values.fill_file(text).as_bytes());
    written.map_err(|unfit| anyhow!("{path} cannot be written: it {unfit}"))
}

/// Removes a file or a folder. One that is not there is an error: the scene expected it.
pub fn remove(rooms: &Rooms, path: &str) -> Result<()> {
    let file = rooms.find_to_change(path)?;
    let removed = if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
    removed.with_context(|| format!("{path} cannot be removed"))
}

/// Cuts the last bytes off a file, as a crash while writing does. False where there is none: an
/// earlier step does not write it yet.
pub fn cut(rooms: &Rooms, pattern: &str, bytes: u64) -> Result<bool> {
    let Some(file) = rooms.find_one(pattern)? else { return Ok(false) };
    let cutting = || -> Result<(), Unfit> {
        let open = open_regular(&file, OpenOptions::new().write(true))?;
        let length = open.metadata()?.len();
        Ok(open.set_len(length.saturating_sub(bytes))?)
    };
    cutting().map_err(|unfit| anyhow!("{pattern} cannot lose bytes: it {unfit}"))?;
    Ok(true)
}

/// Moves the program's clock on: the file holds the seconds to add to the real time.
pub fn advance_clock(clock: &Path, by: Duration) -> Result<()> {
    // The program knows the file, and may have written anything into it.
    let text = read_regular(clock, LIMIT).unwrap_or_default();
    let so_far: u64 = String::from_utf8_lossy(&text).trim().parse().unwrap_or(0);
    let seconds = so_far.saturating_add(by.as_secs());
    let written = write_regular(clock, format!("{seconds}\n").as_bytes());
    written.map_err(|unfit| anyhow!("the clock's file cannot be written: it {unfit}"))
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

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_the_program_has_made_holds_nobody() {
        let rooms = rooms();
        let at = |name: &str| rooms.find(name).expect("inside");
        let made = std::process::Command::new("mkfifo").args([at("pipe"), rooms.clock()]).status();
        assert!(made.expect("mkfifo is there").success());
        let said = |result: Result<()>| result.expect_err("it is a pipe").to_string();
        let values = Values::default();
        let wrong = "pipe cannot be written: it is a pipe or a device";
        assert_eq!(said(write(&rooms, "pipe", "x", &values)), wrong);
        let wrong = "pipe cannot lose bytes: it is a pipe or a device";
        assert_eq!(said(cut(&rooms, "pipe", 1).map(|_| ())), wrong);
        let wrong = "the clock's file cannot be written: it is a pipe or a device";
        assert_eq!(said(advance_clock(&rooms.clock(), Duration::from_secs(1))), wrong);
        remove(&rooms, "pipe").expect("removed");
    }

    #[test]
    fn the_clock_only_goes_on() {
        let rooms = rooms();
        advance_clock(&rooms.clock(), Duration::from_secs(60)).expect("moved");
        advance_clock(&rooms.clock(), Duration::from_secs(5)).expect("moved");
        assert_eq!(fs::read_to_string(rooms.clock()).expect("read"), "65\n");
    }
}
