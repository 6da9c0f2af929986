//! Where runs are made: the steps' programs, built once, and a copy of the repository that may be
//! broken.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lesson::workshop::bench::Bench;
use lesson::workshop::mutations::Mutation;
use lesson::workshop::repo::{Finished, Repo, built, cargo, finish};
use tokio::process::Command;
use tokio::runtime::Runtime;

use super::what::SEED;
use super::{figures, same, times};
use crate::repo;

/// How long a run may take. A scene that hangs is ended by its stage long before.
const LIMIT: Duration = Duration::from_secs(300);
/// The matrix plays every scene on every step.
const MATRIX_LIMIT: Duration = Duration::from_secs(1800);

pub struct Workshop {
    runtime: Runtime,
    repo: Repo,
    target: PathBuf,
    /// Made when the first change is to be tried.
    bench: Option<Bench>,
    /// What was traced already, by step.
    traces: HashMap<usize, String>,
}

/// What a run wrote, the same everywhere, and how it ended.
pub struct Played {
    pub output: String,
    /// Everything was verified.
    pub holds: bool,
}

impl Workshop {
    /// Builds the steps' programs.
    pub fn open(root: &Path) -> Result<Workshop> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the runs cannot be started")?;
        let repo = Repo::at(root)?;
        let target = runtime.block_on(repo.target())?;
        let mut command = cargo(&repo.root);
        command.arg("build");
        for step in &repo.steps {
            command.args(["-p", &step.package()]);
        }
        if !runtime.block_on(built(command))? {
            bail!("the steps do not build: see above");
        }
        Ok(Workshop { runtime, repo, target, bench: None, traces: HashMap::new() })
    }

    /// Runs a step as it is. Before the switches may stand variables of the environment.
    pub fn step(&self, step: usize, words: &[String]) -> Result<Played> {
        let program = self.repo.step(&step.to_string())?.program(&self.target);
        self.play(&program, words, &self.repo.root)
    }

    /// Runs a step with one mutation.
    pub fn mutated(&mut self, step: usize, mutation: &Mutation) -> Result<Played> {
        self.bench()?;
        let bench = self.bench.as_ref().context("the bench was made")?;
        let step = bench.repo.step(&step.to_string())?;
        let mutated = bench.apply(step, mutation)?;
        let build = self.runtime.block_on(bench.build(step, &["build", "--bins", "-p"]));
        let played =
            build.and_then(|_| self.play(&step.program(&bench.target), &[], &bench.repo.root));
        mutated.take_back()?;
        played
    }

    /// Runs a step with a patch applied.
    pub fn patched(&mut self, step: usize, patch: &Path, words: &[String]) -> Result<Played> {
        self.bench()?;
        let bench = self.bench.as_ref().context("the bench was made")?;
        let step = bench.repo.step(&step.to_string())?;
        let made = self.runtime.block_on(async {
            bench.patch(patch).await?;
            bench.build(step, &["build", "--bins", "-p"]).await
        });
        let played =
            made.and_then(|_| self.play(&step.program(&bench.target), words, &bench.repo.root));
        self.runtime.block_on(bench.restore())?;
        played
    }

    fn bench(&mut self) -> Result<()> {
        if self.bench.is_none() {
            self.bench = Some(self.runtime.block_on(Bench::make(&self.repo))?);
        }
        Ok(())
    }

    /// Every scene on every step, as `lesson matrix` shows it.
    pub fn matrix(&self) -> Result<String> {
        let mut command = cargo(&self.repo.root);
        command.args(["run", "-q", "-p", "lesson", "--", "matrix"]);
        let run = self.runtime.block_on(finish(command, MATRIX_LIMIT))?;
        let run = run.context("the matrix does not end")?;
        if !run.ok {
            bail!("the matrix is broken:\n{}{}", run.stdout, run.stderr.trim());
        }
        Ok(same::everywhere(&run.stdout, ""))
    }

    /// A run of a step's own scene, as figures for its picture.
    pub fn figures(&self, step: usize) -> Result<String> {
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let trace = folder.path().join("trace.json");
        let (mut command, temporary) = self.traced(step, &trace)?;
        command.arg("--keep");
        let run = self.runtime.block_on(finish(command, LIMIT))?;
        let run = run.context("the run does not end")?;
        let session = kept(&run.stdout).and_then(|folder| session_in(Path::new(folder)));
        remove_kept(&run.stdout, &temporary);
        if !run.ok {
            bail!("the run fails, and no picture is drawn of that:\n{}{}", run.stdout, run.stderr);
        }
        let trace = std::fs::read_to_string(&trace).context("the trace cannot be read")?;
        figures::of(&trace, &run.stdout, session.as_deref())
    }

    /// A run of a step's own scene, with the times of its requests and of its screen.
    pub fn times(&self, step: usize) -> Result<String> {
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let trace = folder.path().join("trace.json");
        let (mut command, _) = self.traced(step, &trace)?;
        let screen = times::watched(command.as_std_mut())?;
        let trace = std::fs::read_to_string(&trace).context("the trace cannot be read")?;
        times::of(&trace, &screen)
    }

    /// The trace of a step's own scene. It is played once, however many blocks show parts of it.
    pub fn trace(&mut self, step: usize) -> Result<String> {
        if let Some(known) = self.traces.get(&step) {
            return Ok(known.clone());
        }
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let trace = folder.path().join("trace.json");
        let (command, _) = self.traced(step, &trace)?;
        let run = self.runtime.block_on(finish(command, LIMIT))?;
        let run = run.context("the run does not end")?;
        if !run.ok {
            bail!("the run fails, and nothing is shown of that:\n{}{}", run.stdout, run.stderr);
        }
        let trace = std::fs::read_to_string(&trace).context("the trace cannot be read")?;
        self.traces.insert(step, trace.clone());
        Ok(trace)
    }

    /// The command that plays a step's own scene, with its trace in this file; and the folder that
    /// temporary folders are made in.
    fn traced(&self, step: usize, trace: &Path) -> Result<(Command, String)> {
        let program = self.repo.step(&step.to_string())?.program(&self.target);
        let mut command = Command::new(program);
        command.args(["--seed", SEED, "--pace", "0", "--trace"]).arg(trace);
        let temporary = set_environment(&mut command, &self.repo.root);
        Ok((command, temporary))
    }

    /// Plays in the root of the repository, or of the copy, with the words behind `--`, and sees to
    /// it that nothing is left lying about.
    fn play(&self, program: &OsStr, words: &[String], root: &Path) -> Result<Played> {
        let is_variable = |word: &&String| word.starts_with("LOOPWRIGHT_") && word.contains('=');
        let variables: Vec<&String> = words.iter().take_while(is_variable).collect();
        let mut command = Command::new(program);
        for (name, value) in variables.iter().filter_map(|word| word.split_once('=')) {
            command.env(name, value.trim_matches('"'));
        }
        let folder = tempfile::tempdir().context("making a temporary folder")?;
        let (switches, trace) = elsewhere(&words[variables.len()..], folder.path());
        command.args(switches);
        if !words.iter().any(|word| word == "--diff") {
            command.args(["--seed", SEED, "--pace", "0"]);
        }
        let temporary = set_environment(&mut command, root);
        let run = self.runtime.block_on(finish(command, LIMIT))?;
        let Finished { stdout, stderr, code, .. } = run.context("the run does not end")?;
        let written = stdout + &stderr;
        remove_kept(&written, &temporary);
        if !matches!(code, Some(0 | 1)) {
            bail!("the run fails: {}", written.trim());
        }
        let mut output = same::everywhere(&written, &temporary);
        if let Some((here, named)) = trace {
            output = output.replace(&here, &named);
        }
        Ok(Played { output, holds: code == Some(0) })
    }
}

/// The switches, with the file that a trace is written to in `folder` instead; and the file's path
/// there and as it was named.
fn elsewhere(words: &[String], folder: &Path) -> (Vec<String>, Option<(String, String)>) {
    let mut words = words.to_vec();
    let at = words.iter().position(|word| word == "--trace").map(|at| at + 1);
    let Some(named) = at.and_then(|at| words.get_mut(at)) else { return (words, None) };
    let here = folder.join("trace.json").to_string_lossy().into_owned();
    let before = std::mem::replace(named, here.clone());
    (words, Some((here, before)))
}

/// What the screen's form depends on. The result is the folder that temporary folders are made in:
/// the same on every Unix, since lines are cut and wrapped by the length of paths.
fn set_environment(command: &mut Command, root: &Path) -> String {
    command.current_dir(root).stdin(Stdio::null()).kill_on_drop(true);
    command.env("LESSON_WIDTH", "80").env("NO_COLOR", "1");
    command.env_remove("LESSON_COLOR").env_remove("LESSON_AGENT");
    if cfg!(unix) {
        command.env("TMPDIR", "/tmp").env("LANG", "C.UTF-8");
        return "/tmp".to_string();
    }
    std::env::temp_dir().to_string_lossy().into_owned()
}

/// The folder that a run with `--keep` leaves.
fn kept(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix("kept: "))
}

/// The one session file in a run's folder.
fn session_in(folder: &Path) -> Option<String> {
    let files = repo::files_on_disk(&folder.join("home")).ok()?;
    let mut sessions = files.iter().filter(|(name, _)| name.ends_with(".jsonl"));
    let (_, bytes) = sessions.next()?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// A book has no reader who looks into the folder that `--keep` leaves.
fn remove_kept(output: &str, temporary: &str) {
    if let Some(folder) = kept(output) {
        let is_ours = Path::new(folder)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("lantern-"));
        let within = Path::new(folder).parent().is_some_and(|parent| parent.ends_with(temporary));
        if is_ours && within {
            // What cannot be removed lies where the system cleans up.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_written_elsewhere_and_named_as_it_was() {
        let words = ["--trace", "t.json", "--keep"].map(String::from);
        let (switches, trace) = elsewhere(&words, Path::new("/x"));
        let here = Path::new("/x").join("trace.json").to_string_lossy().into_owned();
        assert_eq!(switches, ["--trace", here.as_str(), "--keep"]);
        assert_eq!(trace, Some((here, "t.json".to_string())));
        assert_eq!(elsewhere(&["--keep".into()], Path::new("/x")), (vec!["--keep".into()], None));
    }

    #[test]
    fn only_the_folder_of_a_run_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let (ours, other) = (temporary.path().join("lantern-abc"), temporary.path().join("other"));
        for folder in [&ours, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        for folder in [&ours, &other] {
            let output = format!("x\nkept: {}\n", folder.display());
            remove_kept(&output, &temporary.path().to_string_lossy());
        }
        assert_eq!((ours.exists(), other.exists()), (false, true));
    }
}
