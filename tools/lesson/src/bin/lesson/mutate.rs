//! `lesson mutate`: breaks each claim of the steps on purpose, and sees that it is noticed.
//!
//! A check that nothing can fail proves nothing. So each claim has a mutation, applied to a copy of
//! the repository, and the scene or the test that it names must then fail. First the step is tried
//! as it is: what fails anyway would notice everything.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lesson::screen;
use lesson::stage::{self, Interrupted};
use tokio::process::Command;

use crate::say;
use lesson::workshop::bench::Bench;
use lesson::workshop::mutations::{self, Mutation, Notice};
use lesson::workshop::repo::{Repo, Step, finish};

/// A mutation can make a test run for ever.
const TEST_LIMIT: Duration = Duration::from_secs(120);

pub async fn run(repo: &Repo, names: &[String], only_list: bool) -> Result<bool> {
    let mut chosen = Vec::new();
    for step in &repo.steps {
        let all = mutations::read(&step.dir)?;
        let is_named = |name: &String| repo.step(name).map(|named| named.folder == step.folder);
        let named = names.iter().map(is_named).collect::<Result<Vec<bool>>>()?;
        if names.is_empty() || named.contains(&true) {
            chosen.push((step.folder.clone(), all));
        }
    }
    if only_list {
        list(&chosen);
        return Ok(true);
    }
    let trials = Trials { bench: Bench::make(repo).await? };
    let mut unnoticed = 0;
    for (folder, all) in &chosen {
        say(&format!("{folder}\n"));
        if all.is_empty() {
            say("  – it has no mutations.toml: nothing is proved\n");
            continue;
        }
        let step = trials.bench.repo.step(folder)?.clone();
        eprintln!("  trying {folder} as it is …");
        trials.stands_unchanged(&step, all).await?;
        for mutation in all {
            let (mark, text) = match trials.try_one(&step, mutation).await {
                Ok(Some(by)) => ("✓", by),
                Ok(None) => ("✗", "nobody noticed".to_string()),
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => ("✗", format!("{error:#}")),
            };
            unnoticed += usize::from(mark == "✗");
            let claim = screen::paint().wrapped(&format!("  {mark} "), "    ", &mutation.claim);
            let text = screen::paint().wrapped("      ", "      ", text.trim_end());
            say(&format!("{claim}\n{text}\n"));
        }
    }
    let tried: usize = chosen.iter().map(|(_, all)| all.len()).sum();
    say(&format!("\n{tried} mutations, {} noticed\n", tried - unnoticed));
    Ok(unnoticed == 0)
}

fn list(chosen: &[(String, Vec<Mutation>)]) {
    for (folder, all) in chosen {
        say(&format!("{folder}\n"));
        for mutation in all {
            let by = match &mutation.noticed_by {
                Notice::Scene => "the scene".to_string(),
                Notice::Test(name) => format!("test {name}"),
            };
            let (file, paint) = (mutation.file.display(), screen::paint());
            let claim = paint.wrapped("  ", "    ", &mutation.claim);
            let noticed = paint.wrapped("      ", "        ", &format!("{file}, noticed by {by}"));
            say(&format!("{claim}\n{noticed}\n"));
        }
    }
}

/// The bench, and what is tried on it.
struct Trials {
    bench: Bench,
}

impl Trials {
    /// Without a mutation the scene holds, and the named tests are there and pass.
    async fn stands_unchanged(&self, step: &Step, all: &[Mutation]) -> Result<()> {
        let head = format!("{} fails without any mutation", step.folder);
        self.bench.build(step, &["build", "--bins", "-p"]).await.context(head.clone())?;
        let programs = self.build_tests(step).await.context(head.clone())?;
        if let Some(failed) = self.scene_fails(step).await? {
            bail!("{head}: the scene fails by {failed}");
        }
        let names: HashSet<&String> = all
            .iter()
            .filter_map(|mutation| match &mutation.noticed_by {
                Notice::Test(name) => Some(name),
                Notice::Scene => None,
            })
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let tests = run_tests(step, &programs, "").await?;
        if let Some(why) = tests.why_failed {
            bail!("{head}: its tests: {why}\n{}", tests.output);
        }
        // Asked for apart: while tests run, what they write may stand in the middle of a line.
        let listed = list_tests(step, &programs).await?;
        for name in names {
            let is_it = |line: &str| line.ends_with(": test") && line.contains(name.as_str());
            if !listed.lines().any(is_it) {
                bail!("{}: there is no test {name}, which must notice a mutation", step.folder);
            }
        }
        Ok(())
    }

    /// Who noticed the mutation; `None` if nobody did. The file is as before afterwards.
    async fn try_one(&self, step: &Step, mutation: &Mutation) -> Result<Option<String>> {
        let mutated = self.bench.apply(step, mutation)?;
        let noticed = match &mutation.noticed_by {
            Notice::Scene => self.scene_notices(step).await,
            Notice::Test(name) => self.test_notices(step, name).await,
        };
        mutated.take_back()?;
        noticed
    }

    async fn scene_notices(&self, step: &Step) -> Result<Option<String>> {
        self.bench.build(step, &["build", "--bins", "-p"]).await?;
        let failed = self.scene_fails(step).await?;
        Ok(failed.map(|rules| format!("noticed by the scene: {rules}")))
    }

    async fn test_notices(&self, step: &Step, name: &str) -> Result<Option<String>> {
        let programs = self.build_tests(step).await?;
        let tests = run_tests(step, &programs, name).await?;
        if tests.count == 0 {
            bail!("no test was run for {name}");
        }
        Ok(tests.why_failed.map(|why| format!("noticed by test {name}: {why}")))
    }

    /// The step's test programs. They are run without cargo, which may have to wait for another
    /// cargo: that would look like a test that hangs.
    async fn build_tests(&self, step: &Step) -> Result<Vec<PathBuf>> {
        let words = ["test", "--no-run", "--message-format", "json-render-diagnostics", "-p"];
        let messages = self.bench.build(step, &words).await?;
        let programs = messages.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_test = message["profile"]["test"].as_bool()?;
            let program = message["executable"].as_str().filter(|_| is_test)?;
            Some(PathBuf::from(program))
        });
        Ok(programs.collect())
    }

    /// The rules that fail when the step plays its scene; `None` if all hold.
    async fn scene_fails(&self, step: &Step) -> Result<Option<String>> {
        let outcome = stage::play(step.play(step.program(&self.bench.target))?).await?;
        if outcome.holds() {
            return Ok(None);
        }
        let failed = outcome.rules.iter().filter(|rule| rule.verdict.is_err());
        Ok(Some(failed.map(|rule| rule.name.as_str()).collect::<Vec<_>>().join(", ")))
    }
}

/// What the tests of a step did.
#[derive(Default)]
struct Tests {
    /// How many were run.
    count: usize,
    why_failed: Option<String>,
    output: String,
}

/// The names of all tests, each on a line that ends with `: test`.
async fn list_tests(step: &Step, programs: &[PathBuf]) -> Result<String> {
    let mut listed = String::new();
    for program in programs {
        let run = finish(test_program(step, program, "--list"), TEST_LIMIT).await?;
        listed += &run.context("a test program does not list its tests")?.stdout;
    }
    Ok(listed)
}

fn test_program(step: &Step, program: &Path, word: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(word).current_dir(&step.dir).env("CARGO_MANIFEST_DIR", &step.dir);
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs the tests that have `name` in theirs; all, where it is empty.
async fn run_tests(step: &Step, programs: &[PathBuf], name: &str) -> Result<Tests> {
    let mut tests = Tests::default();
    for program in programs {
        match finish(test_program(step, program, name), TEST_LIMIT).await? {
            None => {
                tests.count += 1;
                let limit = TEST_LIMIT.as_secs();
                tests.why_failed = Some(format!("it has not ended after {limit} s"));
            }
            Some(run) => {
                tests.count += tests_run(&run.stdout);
                tests.output += &run.stdout;
                if !run.ok {
                    tests.why_failed.get_or_insert_with(|| "it fails".to_string());
                }
            }
        }
    }
    Ok(tests)
}

/// The sum of all `running N tests`.
fn tests_run(output: &str) -> usize {
    let counts = output
        .lines()
        .filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok());
    counts.sum()
}
