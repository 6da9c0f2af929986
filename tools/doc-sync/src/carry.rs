//! `carry`: a change made in one step, taken through all later ones.
//!
//! The first hop compares the step with a revision. Each later hop compares the neighbour as it
//! was with the neighbour as the hop before left it, so a change that has to be adapted on the
//! way is carried on as adapted. git does the merging of one file (`git merge-file`).
//! A file whose merge has conflicts goes no further until they are mended.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use similar::TextDiff;

use crate::repo::{self, Files, Step};

/// A step's own story, which no other step shares.
const OWN: [&str; 4] = ["scene.toml", "mutations.toml", "README.md", "workspace/"];

/// Two files of which at least this share of lines is the same are one file that was renamed.
/// It is the share at which git, too, sees a rename.
const SAME_FILE: f32 = 0.5;

/// What was done, a line a file.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    pub done: Vec<String>,
    pub conflicts: Vec<String>,
    pub dry: bool,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.done.is_empty() && self.conflicts.is_empty() {
            return writeln!(f, "nothing to carry");
        }
        for line in &self.done {
            writeln!(f, "{line}")?;
        }
        for line in &self.conflicts {
            writeln!(f, "conflict: {line}")?;
        }
        if self.dry {
            writeln!(f, "nothing was written (--dry-run)")?;
        }
        if !self.conflicts.is_empty() && !self.dry {
            writeln!(f, "mend the conflicts, then carry on from the step that had them")?;
        }
        Ok(())
    }
}

/// One file's change.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    Edited { path: String, old: Vec<u8>, new: Vec<u8> },
    Added { path: String, new: Vec<u8> },
    Deleted { path: String, old: Vec<u8> },
    Renamed { from: String, to: String, old: Vec<u8>, new: Vec<u8> },
}

/// What became of a change in one step.
enum Outcome {
    /// The step has it now; the change as the next step shall see it, or nothing to carry on.
    Carried(Option<Change>, String),
    Conflict(String),
}

/// Carries what step `wanted` changed since a revision through all later steps.
pub fn carry(root: &Path, wanted: &str, since: &str, dry: bool) -> Result<Report> {
    let steps = repo::steps(root)?;
    let first = repo::find(&steps, wanted)?;
    let old = repo::files_at(root, &steps[first].folder, since)?;
    let new = repo::files_on_disk(&steps[first].folder)?;
    let mut changes = changes(&old, &new);
    let mut report = Report { dry, ..Report::default() };
    for step in &steps[first + 1..] {
        let mut carried_on = Vec::new();
        for change in changes {
            match apply(step, &change, dry)? {
                Outcome::Carried(next, line) => {
                    report.done.push(line);
                    carried_on.extend(next);
                }
                Outcome::Conflict(line) => report.conflicts.push(line),
            }
        }
        changes = carried_on;
    }
    Ok(report)
}

fn changes(old: &Files, new: &Files) -> Vec<Change> {
    let shared = |path: &String| !OWN.iter().any(|own| path == own || path.starts_with(own));
    let mut added: Vec<&String> =
        new.keys().filter(|path| shared(path) && !old.contains_key(*path)).collect();
    let mut changes = Vec::new();
    for (path, old_bytes) in old.iter().filter(|(path, _)| shared(path)) {
        let old_bytes = old_bytes.clone();
        match new.get(path) {
            Some(bytes) if *bytes == old_bytes => {}
            Some(bytes) => {
                changes.push(Change::Edited {
                    path: path.clone(),
                    old: old_bytes,
                    new: bytes.clone(),
                });
            }
            None => match added.iter().position(|to| are_alike(&old_bytes, &new[*to])) {
                Some(index) => {
                    let to = added.remove(index).clone();
                    let new = new[&to].clone();
                    changes.push(Change::Renamed { from: path.clone(), to, old: old_bytes, new });
                }
                None => changes.push(Change::Deleted { path: path.clone(), old: old_bytes }),
            },
        }
    }
    changes.extend(added.into_iter().map(|path| {
        let new = new[path].clone();
        Change::Added { path: path.clone(), new }
    }));
    changes
}

fn are_alike(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
    TextDiff::from_lines(a.as_ref(), b.as_ref()).ratio() >= SAME_FILE
}

fn apply(step: &Step, change: &Change, dry: bool) -> Result<Outcome> {
    match change {
        Change::Edited { path, old, new } => edit(step, path, path, old, new, dry),
        Change::Renamed { from, to, old, new } => edit(step, from, to, old, new, dry),
        Change::Added { path, new } => add(step, path, new, dry),
        Change::Deleted { path, old } => delete(step, path, old, dry),
    }
}

/// Merges an edit into the step's file `from`, which is called `to` afterwards.
fn edit(step: &Step, from: &str, to: &str, old: &[u8], new: &[u8], dry: bool) -> Result<Outcome> {
    let (source, target) = (step.folder.join(from), step.folder.join(to));
    let shown = format!("{}/{to}", step.name);
    if !source.is_file() {
        return Ok(match target.is_file() {
            true => Outcome::Carried(None, format!("{shown}: there already")),
            false => Outcome::Conflict(format!("{shown}: the step has no {from} to change")),
        });
    }
    if from != to && target.is_file() {
        return Ok(Outcome::Conflict(format!(
            "{shown}: stands in the way of {from}, renamed to it"
        )));
    }
    let mine = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let (merged, conflicts) = merge(&mine, old, new)?;
    if !dry {
        write(&target, &merged)?;
        if from != to {
            fs::remove_file(&source)
                .with_context(|| format!("cannot remove {}", source.display()))?;
        }
    }
    if conflicts > 0 {
        return Ok(Outcome::Conflict(format!("{shown}: {conflicts} of them, between the markers")));
    }
    if merged == mine && from == to {
        return Ok(Outcome::Carried(None, format!("{shown}: there already")));
    }
    let next = match from == to {
        true => Change::Edited { path: to.into(), old: mine, new: merged },
        false => Change::Renamed { from: from.into(), to: to.into(), old: mine, new: merged },
    };
    let verb = if from == to { "changed" } else { "renamed" };
    Ok(Outcome::Carried(Some(next), format!("{shown}: {verb}")))
}

fn add(step: &Step, path: &str, new: &[u8], dry: bool) -> Result<Outcome> {
    let target = step.folder.join(path);
    let shown = format!("{}/{path}", step.name);
    if target.is_file() {
        let same = fs::read(&target)? == new;
        return Ok(match same {
            true => Outcome::Carried(None, format!("{shown}: there already")),
            false => Outcome::Conflict(format!("{shown}: the step has another file of this name")),
        });
    }
    if !dry {
        write(&target, new)?;
    }
    let next = Change::Added { path: path.into(), new: new.to_vec() };
    Ok(Outcome::Carried(Some(next), format!("{shown}: added")))
}

fn delete(step: &Step, path: &str, old: &[u8], dry: bool) -> Result<Outcome> {
    let target = step.folder.join(path);
    let shown = format!("{}/{path}", step.name);
    let Ok(mine) = fs::read(&target) else {
        return Ok(Outcome::Carried(None, format!("{shown}: gone already")));
    };
    if mine != old {
        return Ok(Outcome::Conflict(format!("{shown}: deleted earlier, but changed here")));
    }
    if !dry {
        fs::remove_file(&target).with_context(|| format!("cannot remove {}", target.display()))?;
    }
    let next = Change::Deleted { path: path.into(), old: mine };
    Ok(Outcome::Carried(Some(next), format!("{shown}: deleted")))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The merge of two changes of `old`, and how many conflicts stand in it.
fn merge(mine: &[u8], old: &[u8], new: &[u8]) -> Result<(Vec<u8>, i32)> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let place = |name: &str, bytes: &[u8]| -> Result<std::path::PathBuf> {
        let path = folder.path().join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    };
    let output = Command::new("git")
        .args(["merge-file", "-p", "--diff3", "-L", "this step", "-L", "before", "-L", "carried"])
        .args([place("mine", mine)?, place("old", old)?, place("new", new)?])
        .output()
        .context("git could not be started; install it")?;
    // The exit code is the number of conflicts, at most 127; beyond that the merge itself failed.
    match output.status.code() {
        Some(conflicts @ 0..=127) => Ok((output.stdout, conflicts)),
        _ => anyhow::bail!("git merge-file: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}
