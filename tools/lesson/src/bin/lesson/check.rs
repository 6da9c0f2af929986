//! `lesson check`: any program that keeps the contract, judged by a step's scene.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lesson::screen;
use lesson::stage::{self, Outcome, Play};

use crate::repo::{Repo, Step};
use crate::say;

/// So much of what the program wrote is shown where it failed.
const LAST_LINES: usize = 12;
const LAST_BYTES: usize = 4_000;

pub async fn run(repo: &Repo, given: &ArgMatches) -> Result<bool> {
    let name = given.get_one::<String>("step").map_or("", String::as_str);
    let step = repo.step(name)?;
    let words = given.get_many::<OsString>("program").unwrap_or_default();
    let program = from_anywhere(words.cloned().collect())?;
    let play = Play {
        ours: false,
        seed: given.get_one::<u64>("seed").copied(),
        keep: given.get_flag("keep"),
        yes: given.get_flag("yes"),
        pace: Some(Duration::ZERO),
        program,
        ..step.play(OsString::new())?
    };
    let title = play.scene.title.clone();
    let outcome = stage::play(play).await?;
    say(&report(step, &title, &outcome));
    Ok(outcome.holds())
}

/// The words of a command line, so that they mean the same in another folder: the program where
/// it is found, and arguments that name a file of this folder as absolute paths.
fn from_anywhere(words: Vec<OsString>) -> Result<Vec<OsString>> {
    let here = std::env::current_dir().context("the current folder is gone")?;
    let Some((program, arguments)) = words.split_first() else { bail!("no program is given") };
    let mut found = vec![find(program, &here)?];
    for argument in arguments {
        let file = here.join(argument);
        let is_path = !argument.is_empty() && file.is_file();
        found.push(if is_path { file.into() } else { argument.clone() });
    }
    Ok(found)
}

fn find(program: &OsStr, here: &Path) -> Result<OsString> {
    let name = Path::new(program);
    if name.components().count() > 1 {
        let file = here.join(name);
        if file.is_dir() {
            bail!("{} is a folder: name the program in it", file.display());
        }
        return existing(&file).with_context(|| {
            format!("{} does not exist: is the path right, seen from here?", file.display())
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| existing(&dir.join(name)).is_some()) {
        return Ok(program.to_owned());
    }
    let hint = match existing(&here.join(name)) {
        Some(_) => format!(
            "there is a file of that name here: write .{}{name}",
            std::path::MAIN_SEPARATOR,
            name = name.display()
        ),
        None => "install it, or give its path".to_string(),
    };
    bail!("{} is not on the PATH: {hint}", name.display())
}

/// The file, perhaps with what the names of programs end in on this platform.
fn existing(file: &Path) -> Option<OsString> {
    let mut longer = file.as_os_str().to_owned();
    longer.push(std::env::consts::EXE_SUFFIX);
    [file.as_os_str().to_owned(), longer].into_iter().find(|file| Path::new(file).is_file())
}

fn report(step: &Step, title: &str, outcome: &Outcome) -> String {
    let mut text = format!("{} · {title} · seed {}\n", step.folder, outcome.seed);
    text += &outcome.verified(&screen::paint());
    let failed = outcome.rules.iter().filter(|rule| rule.verdict.is_err());
    let failed: Vec<&str> = failed.map(|rule| rule.name.as_str()).collect();
    if failed.is_empty() {
        return text + "\nThe program keeps the contract on this scene.\n";
    }
    text += &last_words(&outcome.output);
    let again = format!("The same run again: --seed {}", outcome.seed);
    text + &format!("\nfailed: {}. {again}\n", failed.join(", "))
}

fn last_words(output: &str) -> String {
    let least = output.len().saturating_sub(LAST_BYTES);
    let from = (least..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    let lines: Vec<&str> = output[from..].lines().collect();
    if lines.is_empty() {
        return "\nThe program wrote nothing.\n".to_string();
    }
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let width = screen::paint().width.saturating_sub(4);
    let fitted = |line: &&str| screen::fitted(&screen::visible(line), width);
    let shown: String = last.iter().map(|line| format!("  │ {}\n", fitted(line))).collect();
    format!("\nThe last that the program wrote:\n{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_flood_are_few() {
        for flood in ["x", "灯", "\u{301}", "\x1b[2J", "\t"] {
            let shown = last_words(&flood.repeat(1_000_000));
            assert!(shown.len() < 3 * LAST_BYTES, "{} bytes of {flood:?}", shown.len());
            let widest = shown.lines().map(screen::width).max();
            assert!(widest <= Some(80), "{widest:?} columns of {flood:?}");
        }
        let shown = last_words(&"line\n".repeat(100_000));
        assert_eq!(shown.lines().count(), 2 + LAST_LINES);
    }
}
