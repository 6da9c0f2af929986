//! Has the program `press` make a book's pages. It is built first: mdBook's driver takes a minute
//! the first time, and what cargo says of it goes to the terminal.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Builds `press`; seconds where it is built already.
pub fn ready(root: &Path) -> Result<()> {
    let status = cargo(root, "build").status().context("cargo could not be started")?;
    if !status.success() {
        bail!("`press`, which makes the pages, could not be built; cargo says why above");
    }
    Ok(())
}

/// Makes the pages of the book in `book`, and returns the folder that they are in.
pub fn make(root: &Path, book: &Path) -> Result<PathBuf> {
    let output = cargo(root, "run")
        .arg("--quiet")
        .arg("--")
        .arg(book)
        .output()
        .context("cargo could not be started")?;
    if !output.status.success() {
        bail!("{}", said(&output.stderr));
    }
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(without_detours(Path::new(folder.trim_end())))
}

fn cargo(root: &Path, verb: &str) -> Command {
    // The cargo that runs this program, where one does.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args([verb, "--package", "press", "--features", "mdbook"]);
    command
}

/// The error in what `press` said.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    text.strip_prefix("error: ").unwrap_or(text).to_string()
}

/// `book/../target/book` is `target/book`.
fn without_detours(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        let goes_up = part == std::path::Component::ParentDir;
        if goes_up && clean.file_name().is_some() {
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_goes_up_is_said_without_the_detour() {
        assert_eq!(without_detours(Path::new("a/book/../target/book")), Path::new("a/target/book"));
        assert_eq!(without_detours(Path::new("../other/book")), Path::new("../other/book"));
    }

    #[test]
    fn the_error_of_press_is_said_without_its_own_first_word() {
        assert_eq!(said(b"error: mdBook cannot read it\n"), "mdBook cannot read it");
    }
}
