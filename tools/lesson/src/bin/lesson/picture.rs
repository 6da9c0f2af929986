//! `lesson picture`: a real run of a step, as a picture for the README.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use regex::{Captures, Regex};
use tokio::process::Command;

use crate::{say, svg, terminal};
use lesson::workshop::repo::{Repo, built, cargo, finish};

const LIMIT: Duration = Duration::from_secs(300);

/// What differs from run to run or from machine to machine, and what is written instead.
const CHANGING: &[(&str, &str)] = &[
    (r"\b\d+\.\d+ ?(s|ms|µs)\b", "0.1$1"),
    (r"\b\d+ ms\b", "100 ms"),
    (r"-[0-9a-f]{16}\b", "-0123456789abcdef"),
    (r"thread '([^']+)' \(\d+\)", "thread '$1'"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:8080"),
];

pub async fn run(repo: &Repo, name: &str, seed: Option<u64>) -> Result<bool> {
    let step = repo.step(name)?;
    let package = step.package();
    let mut build = cargo(&repo.root);
    build.args(["build", "-p", &package]);
    if !built(build).await? {
        bail!("{package} does not build: see above");
    }
    let mut command = Command::new(step.program(&repo.target().await?));
    command.args(["--seed", &seed.unwrap_or_default().to_string(), "--pace", "0"]);
    command.env("LESSON_COLOR", "1").env("LESSON_WIDTH", "80").env_remove("NO_COLOR");
    command.stdin(Stdio::null()).kill_on_drop(true);
    let run = finish(command, LIMIT).await?.with_context(|| format!("{package} does not end"))?;
    if !run.ok {
        bail!(
            "{package} fails, and a picture of that is not wanted:\n{}{}",
            run.stdout,
            run.stderr
        );
    }
    let typed = format!("\x1b[2m$\x1b[0m cargo run -p {package}\n\n");
    let screen = typed + &same_everywhere(&run.stdout, &std::env::temp_dir().to_string_lossy());
    say(&svg::draw(&terminal::lines(screen.trim_end()), &format!("A run of {package}")));
    Ok(true)
}

fn same_everywhere(output: &str, temporary: &str) -> String {
    let folder = format!(r"{}[/\\][\w.-]+", regex::escape(temporary.trim_end_matches(['/', '\\'])));
    let mut text = output.to_string();
    for (pattern, instead) in [(folder.as_str(), "/tmp/lesson")].iter().chain(CHANGING) {
        let pattern = Regex::new(pattern).expect("the patterns are ours, and tested");
        let same = |found: &Captures| {
            let mut written = String::new();
            found.expand(instead, &mut written);
            written
        };
        text = pattern.replace_all(&text, same).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_replaced() {
        let one = "/tmp/lesson-x1Y/src in 0.42s deps/lantern-4c9bc9c7f3b3f6e2 thread 'a::b' (4242)";
        let two = "/tmp/lesson-Qq9/src in 1.07s deps/lantern-0e1ab9c7f3b3f6e2 thread 'a::b' (17)";
        assert_eq!(same_everywhere(one, "/tmp"), same_everywhere(two, "/tmp/"));
        assert_eq!(same_everywhere("kept: 12 lines, 3.5", "/tmp"), "kept: 12 lines, 3.5");
    }
}
