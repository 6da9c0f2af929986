//! Where things stand: the repository's root, its steps, their files, and what git knows of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A step's folder, such as `steps/02-edit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub number: usize,
    /// `02-edit`
    pub name: String,
    pub folder: PathBuf,
}

/// The root of the repository: the current folder or the nearest above it that holds `steps/`
/// beside a `Cargo.toml`.
pub fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    here.ancestors()
        .find(|folder| folder.join("steps").is_dir() && folder.join("Cargo.toml").is_file())
        .map(Path::to_path_buf)
        .with_context(|| {
            format!("{} is not in a clone of this project; go into one", here.display())
        })
}

/// All steps in order.
pub fn steps(root: &Path) -> Result<Vec<Step>> {
    let folder = root.join("steps");
    let mut steps = Vec::new();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.split('-').next().and_then(|n| n.parse().ok()) else { continue };
        if entry.path().is_dir() {
            steps.push(Step { number, name, folder: entry.path() });
        }
    }
    steps.sort_by_key(|step| step.number);
    Ok(steps)
}

/// The place of step `wanted` (`3`, `03`, `03-prompt`) in the list.
pub fn find(steps: &[Step], wanted: &str) -> Result<usize> {
    let number = wanted.split('-').next().and_then(|n| n.parse::<usize>().ok());
    if let Some(index) = steps.iter().position(|step| Some(step.number) == number) {
        return Ok(index);
    }
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    bail!("there is no step {wanted}: there are {}", names.join(", "))
}

/// A folder's files by their path within it, with `/` between the parts on every system.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What stands on disk below `folder`. Files that git ignores are left out by name only: `target`.
pub fn files_on_disk(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder_now) = open.pop() {
        for entry in fs::read_dir(&folder_now)
            .with_context(|| format!("cannot list {}", folder_now.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    open.push(path);
                }
                continue;
            }
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(slashed(path.strip_prefix(folder)?), bytes);
        }
    }
    Ok(files)
}

/// What stood below `folder` at a revision.
pub fn files_at(root: &Path, folder: &Path, revision: &str) -> Result<Files> {
    let within = slashed(folder.strip_prefix(root)?);
    let listing = git(root, &["ls-tree", "-r", "-z", "--name-only", revision, "--", &within])?;
    let mut files = Files::new();
    for path in String::from_utf8_lossy(&listing).split('\0').filter(|path| !path.is_empty()) {
        let bytes = git(root, &["show", &format!("{revision}:{path}")])?;
        files.insert(path[within.len() + 1..].to_string(), bytes);
    }
    Ok(files)
}

fn git(root: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(args)
        .output()
        .context("git could not be started; install it")?;
    if !output.status.success() {
        bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// With `/` between the parts on every system.
pub fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
