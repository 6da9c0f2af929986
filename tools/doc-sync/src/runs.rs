//! The book's runs: real ones, made once, stored, and true until what they depend on changes.
//!
//! `book/runs/` holds what each run wrote, and in `runs.lock` a hash of what it depended on. A block
//! of the book is made from the stored run where the hash is the same. Where it is not, `check`
//! says so and `sync` runs it again; `check --fresh` runs everything again and compares.

mod hash;
mod lock;
mod same;
mod show;
mod what;
mod workshop;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use lesson::workshop::mutations::{self, Mutation};
use similar::TextDiff;

use crate::blocks::At;
use crate::book::{Book, Runs};
use crate::exercises;
use crate::near;
use crate::origin::Part;
use crate::repo::{self, Step};
use crate::sources;
use hash::Hashes;
use lock::Lock;
pub use show::{CUT, command};
pub use what::What;
use workshop::{Played, Workshop};

const LOCK: &str = "runs.lock";
/// Lines of a difference that are shown.
const MOST: usize = 60;

/// What is known of the runs while the book is gone through.
#[derive(Default)]
pub struct Store {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Read when the first run is wanted.
    lock: Option<Lock>,
    hashes: Hashes,
    /// Opened when the first run has to be made.
    workshop: Option<Workshop>,
    /// Files that a block has asked for, and so not to be made a second time.
    used: BTreeSet<String>,
}

impl Store {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The transcript of `cargo run -p stepNN -- switches`, or a part of it.
pub fn run(step: usize, switches: &[String], part: &Part, book: &Book) -> Result<String> {
    if let Some(word) = switches.iter().find(|word| ["--live", "--here"].contains(&word.as_str())) {
        bail!("a run of the book has no real model: take `{word}` away");
    }
    let output = transcript(&What::Step { step, words: switches.to_vec() }, book)?;
    show::console(&command(step, switches), &output, part)
}

/// A run with one mutation of the step applied to a copy, below what the mutation changes.
pub fn without(at: &At, claim: &str, part: &Part) -> Result<String> {
    let mutation = mutation(at.step, claim)?;
    let what = What::Without { step: at.step.number, claim: claim.to_string() };
    let output = transcript(&what, at.book)?;
    let run = show::console(&command(at.step.number, &[]), &output, part)?;
    Ok(format!("{}\n{run}", show::change(at, &mutation)?))
}

/// The mutation of the step that has this claim.
fn mutation(step: &Step, claim: &str) -> Result<Mutation> {
    let all = mutations::read(&step.folder)?;
    let Some(found) = all.iter().find(|mutation| mutation.claim == claim) else {
        let claims: Vec<&str> = all.iter().map(|mutation| mutation.claim.as_str()).collect();
        let hint = near::hint(claim, &claims);
        bail!("no mutation in steps/{}/mutations.toml has the claim “{claim}”{hint}", step.name)
    };
    Ok(found.clone())
}

/// The step of an exercise: 2 for `02-two-edits`.
pub fn step_of_exercise(name: &str) -> Result<usize> {
    let number = name.split_once('-').and_then(|(digits, _)| digits.parse().ok());
    number.with_context(|| {
        format!("the exercise {name} does not say which step it is for: name it like 02-{name}")
    })
}

/// What a run wrote: the stored text where it is true still; made anew where that is allowed.
pub fn transcript(what: &What, book: &Book) -> Result<String> {
    let mut state = book.store.state();
    let (file, path) = (what.file(), runs_folder(book).join(what.file()));
    let is_first = state.used.insert(file.clone());
    let stored = match path.exists() {
        true => Some(sources::read(&path)?),
        false => None,
    };
    let hash = what.hash(book, &mut state.hashes)?;
    let is_true = locked(&mut state, book)?.hashes.get(&file) == Some(&hash);
    match (stored, book.runs) {
        (Some(stored), Runs::Stored) if is_true => Ok(stored),
        (Some(_), Runs::Stored) => bail!(
            "the run is stale: what it depends on has changed since; `doc-sync sync` makes it again"
        ),
        (None, Runs::Stored) => bail!("the run was not made yet; `doc-sync sync` makes it"),
        (Some(stored), Runs::Renewed) if is_true => Ok(stored),
        (Some(stored), Runs::Fresh) if !is_first => Ok(stored),
        (stored, Runs::Fresh) => {
            let fresh = make(what, book, &mut state)?;
            compare(&file, stored.as_deref().unwrap_or_default(), fresh)
        }
        (_, Runs::Renewed) => {
            let made = make(what, book, &mut state)?;
            write(&path, &made)?;
            let lock = locked(&mut state, book)?;
            lock.hashes.insert(file, hash);
            write(&runs_folder(book).join(LOCK), &lock.text())?;
            Ok(made)
        }
    }
}

fn runs_folder(book: &Book) -> PathBuf {
    book.root.join("book").join("runs")
}

fn locked<'a>(state: &'a mut State, book: &Book) -> Result<&'a mut Lock> {
    if state.lock.is_none() {
        state.lock = Some(Lock::read(&runs_folder(book).join(LOCK))?);
    }
    state.lock.as_mut().context("it was read above")
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

fn compare(file: &str, stored: &str, fresh: String) -> Result<String> {
    if stored == fresh {
        return Ok(fresh);
    }
    let diff = TextDiff::from_lines(stored, &fresh);
    let diff = diff.unified_diff().context_radius(1).to_string();
    let diff: Vec<String> = diff.lines().take(MOST).map(|line| format!("    {line}")).collect();
    let diff = diff.join("\n");
    bail!("made anew, book/runs/{file} is another; `doc-sync sync` renews what is stale:\n{diff}")
}

/// Makes a run, and holds it against what every run of its kind must be.
fn make(what: &What, book: &Book, state: &mut State) -> Result<String> {
    eprintln!("  running {} …", what.file());
    if state.workshop.is_none() {
        state.workshop = Some(Workshop::open(&book.root)?);
    }
    let workshop = state.workshop.as_mut().context("it was opened above")?;
    match what {
        What::Step { step, words } => Ok(workshop.step(*step, words)?.output),
        What::Without { step, claim } => {
            let change = mutation(book.step(*step)?, claim)?;
            let played = workshop.mutated(*step, &change)?;
            noticed(played, claim)
        }
        What::Exercise { name, solved } => exercise(name, *solved, book, workshop),
        What::Matrix => workshop.matrix(),
        What::Figures { .. } => bail!("not yet"),
    }
}

/// A line that can be taken away without anything failing shows nothing.
fn noticed(played: Played, claim: &str) -> Result<String> {
    if played.holds {
        bail!("the scene holds without “{claim}”: choose a mutation that the scene notices");
    }
    Ok(played.output)
}

/// An exercise fails by the rule that it names until it is solved, and its solution solves it.
fn exercise(name: &str, solved: bool, book: &Book, workshop: &mut Workshop) -> Result<String> {
    let step = step_of_exercise(name)?;
    let folder = exercises::folder(&book.root, name);
    let words = ["--scene".to_string(), exercises::named(name)];
    if solved {
        let played = workshop.patched(step, &folder.join("solution.patch"), &words)?;
        if !played.holds {
            bail!("the solution of {name} does not solve it:\n{}", played.output);
        }
        return Ok(played.output);
    }
    let played = workshop.step(step, &words)?;
    if played.holds {
        bail!("the exercise {name} holds before it is solved: let its scene ask for more");
    }
    if !played.output.contains("as it should be until the exercise is solved") {
        bail!(
            "the exercise {name} fails, but not by the rule that its scene names in `proves`:\n{}",
            played.output
        );
    }
    Ok(played.output)
}

/// Stored runs that no block of the book has asked for.
pub fn unused(book: &Book) -> Result<Vec<String>> {
    let mut state = book.store.state();
    let mut unused: BTreeSet<String> = locked(&mut state, book)?.hashes.keys().cloned().collect();
    let folder = runs_folder(book);
    if folder.is_dir() {
        unused.extend(repo::files_on_disk(&folder)?.into_keys().filter(|name| name != LOCK));
    }
    Ok(unused.difference(&state.used).cloned().collect())
}

/// Removes what `unused` names.
pub fn remove_unused(book: &Book) -> Result<()> {
    for file in unused(book)? {
        let path = runs_folder(book).join(&file);
        if path.is_file() {
            std::fs::remove_file(&path)
                .with_context(|| format!("{} cannot be removed", path.display()))?;
        }
        let mut state = book.store.state();
        let lock = locked(&mut state, book)?;
        lock.hashes.remove(&file);
        write(&runs_folder(book).join(LOCK), &lock.text())?;
    }
    Ok(())
}
