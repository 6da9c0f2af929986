//! The book's runs: real ones, made once, stored, and true until what they depend on changes.
//!
//! `book/runs/` holds what each run wrote, and in `runs.lock` a hash of what it depended on. A block
//! of the book is made from the stored run where the hash is the same. Where it is not, `check`
//! says so and `sync` runs it again; `check --fresh` runs everything again and compares.

mod figures;
mod hash;
mod lock;
mod same;
mod show;
mod times;
mod what;
mod wire;
mod workshop;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use lesson::workshop::mutations::{self, Mutation};
use similar::TextDiff;

use crate::blocks::{At, fence};
use crate::book::{Book, Runs};
use crate::exercises;
use crate::near;
use crate::origin::{Half, Part};
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

/// A part of what the step's own scene says on the wire: JSON, or the lines of a text.
pub fn wire(step: usize, at: (Half, usize, &str), part: &Part, book: &Book) -> Result<String> {
    let (half, number, path) = at;
    let json = transcript(&What::Wire { step, half, number, path: path.to_string() }, book)?;
    let place = match half {
        Half::Request => format!("*request {number}, `{path}`*"),
        Half::Reply => format!("*the reply to request {number}, `{path}`*"),
    };
    if let Ok(text) = serde_json::from_str::<String>(&json) {
        return Ok(format!("{place}\n\n{}", fence("text", &show::lines(&text, part)?.join("\n"))));
    }
    if !part.is_whole() {
        bail!(
            "`from` and `to` cut a text, and `{path}` leads to more than one: make the path longer"
        );
    }
    Ok(format!("{place}\n\n{}", fence("json", json.trim_end())))
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
        (Some(stored), Runs::Stored | Runs::Renewed | Runs::AllRenewed) if is_true => Ok(stored),
        (Some(_), Runs::Stored) => bail!(stale(what)),
        (None, Runs::Stored) => bail!("the run was not made yet; `{}` makes it", command_for(what)),
        // It takes minutes, and an author renews a page many times.
        (_, Runs::Renewed) if *what == What::Matrix => bail!(stale(what)),
        (_, Runs::Renewed | Runs::AllRenewed) => {
            let made = make(what, book, &mut state)?;
            write(&path, &made)?;
            let lock = locked(&mut state, book)?;
            lock.hashes.insert(file, hash);
            write(&runs_folder(book).join(LOCK), &lock.text())?;
            Ok(made)
        }
        (None, Runs::Fresh) => bail!("the run was not made yet; `{}` makes it", command_for(what)),
        (Some(_), Runs::Fresh) if !is_true => bail!(stale(what)),
        (Some(stored), Runs::Fresh) if !is_first || matches!(what, What::Times { .. }) => {
            Ok(stored)
        }
        (Some(stored), Runs::Fresh) => {
            let fresh = make(what, book, &mut state)?;
            compare(&file, &stored, fresh)
        }
    }
}

fn stale(what: &What) -> String {
    let command = command_for(what);
    format!("the run is stale: what it depends on has changed since; `{command}` makes it again")
}

fn command_for(what: &What) -> &'static str {
    match what {
        What::Matrix => "cargo run -p doc-sync -- sync --matrix",
        _ => "cargo run -p doc-sync -- sync",
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
    bail!(
        "made anew, book/runs/{file} is another; either a run is not the same each time, or this machine differs:\n{diff}"
    )
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
        What::Wire { step, half, number, path } => {
            wire::part(&workshop.trace(*step)?, half.name(), *number, path)
        }
        What::Exercise { name, solved } => exercise(name, *solved, book, workshop),
        What::Matrix => workshop.matrix(),
        What::Figures { step } => workshop.figures(*step),
        What::Times { step } => workshop.times(*step),
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

/// The stored runs, by their path from the root, that no block of the book has asked for. Another
/// edition shows no run that the first one does not show.
pub fn unused(book: &Book) -> Result<Vec<String>> {
    let folder = runs_folder(book);
    if book.folder != book.root.join("book") || !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut state = book.store.state();
    let mut unused: BTreeSet<String> = locked(&mut state, book)?.hashes.keys().cloned().collect();
    unused.extend(repo::files_on_disk(&folder)?.into_keys().filter(|name| name != LOCK));
    Ok(unused.difference(&state.used).map(|file| book.shown(&folder.join(file))).collect())
}

/// Removes what `unused` names, and names it.
pub fn remove_unused(book: &Book) -> Result<Vec<String>> {
    let unused = unused(book)?;
    let mut state = book.store.state();
    for shown in &unused {
        let path = book.root.join(shown);
        if path.is_file() {
            std::fs::remove_file(&path)
                .with_context(|| format!("{} cannot be removed", path.display()))?;
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lock = locked(&mut state, book)?;
        lock.hashes.remove(&file);
        write(&runs_folder(book).join(LOCK), &lock.text())?;
    }
    Ok(unused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A repository with one step and an empty book.
    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("steps/00-loop/src/main.rs", "fn main() {}\n"),
            ("steps/00-loop/Cargo.toml", "[package]\nname = \"step00\"\n"),
            ("steps/00-loop/scene.toml", "title = \"x\"\n"),
            ("steps/00-loop/mutations.toml", MUTATIONS),
            ("book/book.toml", "[book]\n"),
            ("book/src/00-loop.md", "# The loop\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MUTATIONS: &str = "[[mutation]]\nclaim = \"it ends\"\nfile = \"src/main.rs\"\n\
                             find = \"{}\"\nreplace = \"{ loop {} }\"\nnoticed_by = \"scene\"\n";

    fn book(root: &tempfile::TempDir) -> Book {
        Book::load(root.path(), Path::new("book"), Runs::Stored).unwrap()
    }

    const RUN: What = What::Step { step: 0, words: Vec::new() };

    /// Stores a run as if it had been made now.
    fn store(root: &tempfile::TempDir, what: &What, text: &str) {
        let book = book(root);
        let hash = what.hash(&book, &mut Hashes::default()).unwrap();
        let path = runs_folder(&book).join(LOCK);
        let mut lock = Lock::read(&path).unwrap();
        lock.hashes.insert(what.file(), hash);
        write(&path, &lock.text()).unwrap();
        write(&runs_folder(&book).join(what.file()), text).unwrap();
    }

    fn told(root: &tempfile::TempDir, what: &What) -> String {
        transcript(what, &book(root)).unwrap_err().to_string()
    }

    #[test]
    fn a_stored_run_is_true_until_what_it_depends_on_changes() {
        let root = repository();
        assert_eq!(
            told(&root, &RUN),
            "the run was not made yet; `cargo run -p doc-sync -- sync` makes it"
        );
        store(&root, &RUN, "it ran\n");
        assert_eq!(transcript(&RUN, &book(&root)).unwrap(), "it ran\n");
        let stale = "the run is stale: what it depends on has changed since; \
                     `cargo run -p doc-sync -- sync` makes it again";
        let matrix = "the run was not made yet; `cargo run -p doc-sync -- sync --matrix` makes it";
        assert_eq!(told(&root, &What::Matrix), matrix);
        for path in ["steps/00-loop/src/main.rs", "steps/00-loop/scene.toml", "Cargo.lock"] {
            store(&root, &RUN, "it ran\n");
            fs::write(root.path().join(path), "// other\n").unwrap();
            assert_eq!(told(&root, &RUN), stale, "{path}");
        }
        store(&root, &RUN, "it ran\n");
        fs::create_dir(root.path().join("steps/00-loop/tests")).unwrap();
        fs::write(root.path().join("steps/00-loop/tests/main.rs"), "// other\n").unwrap();
        assert_eq!(transcript(&RUN, &book(&root)).unwrap(), "it ran\n", "no run looks at tests");
    }

    #[test]
    fn a_run_without_a_line_depends_on_the_line() {
        let root = repository();
        let what = What::Without { step: 0, claim: "it ends".into() };
        store(&root, &what, "it ran\n");
        assert!(transcript(&what, &book(&root)).is_ok());
        let other = MUTATIONS.replace("loop {}", "loop { }");
        fs::write(root.path().join("steps/00-loop/mutations.toml"), other).unwrap();
        assert!(told(&root, &what).starts_with("the run is stale"));
        let unknown = What::Without { step: 0, claim: "it end".into() };
        assert_eq!(
            told(&root, &unknown),
            "no mutation in steps/00-loop/mutations.toml has the claim “it end”; did you mean `it ends`?"
        );
    }

    #[test]
    fn a_run_that_no_block_shows_is_named() {
        let root = repository();
        store(&root, &RUN, "it ran\n");
        let book = book(&root);
        assert_eq!(unused(&book).unwrap(), ["book/runs/step00.txt"]);
        transcript(&RUN, &book).unwrap();
        assert_eq!(unused(&book).unwrap(), [""; 0]);
    }

    #[test]
    fn a_run_that_no_block_shows_is_removed() {
        let root = repository();
        store(&root, &RUN, "it ran\n");
        let matrix = What::Matrix;
        store(&root, &matrix, "x\n");
        let book = book(&root);
        transcript(&RUN, &book).unwrap();
        assert_eq!(remove_unused(&book).unwrap(), ["book/runs/matrix.txt"]);
        let lock = Lock::read(&runs_folder(&book).join(LOCK)).unwrap();
        assert_eq!(lock.hashes.into_keys().collect::<Vec<_>>(), ["step00.txt"]);
        assert!(!runs_folder(&book).join("matrix.txt").exists());
    }

    #[test]
    fn a_real_model_and_a_trial_that_proves_nothing_are_refused() {
        let root = repository();
        let live = ["--live".to_string()];
        let error = run(0, &live, &Part::default(), &book(&root)).unwrap_err().to_string();
        assert_eq!(error, "a run of the book has no real model: take `--live` away");
        let holds = Played { output: String::new(), holds: true };
        let error = noticed(holds, "it ends").err().unwrap().to_string();
        assert_eq!(
            error,
            "the scene holds without “it ends”: choose a mutation that the scene notices"
        );
        let error = step_of_exercise("two-edits").unwrap_err().to_string();
        assert_eq!(
            error,
            "the exercise two-edits does not say which step it is for: name it like 02-two-edits"
        );
    }
}
