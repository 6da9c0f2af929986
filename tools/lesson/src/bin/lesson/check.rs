//! `lesson check`: any program that keeps the contract, judged by a step's scene.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lesson::screen::{self, Paint};
use lesson::stage::{self, Outcome, Play};

use crate::say;
use lesson::workshop::repo::Repo;

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
        tell_waits: true,
        trace: given.get_one::<PathBuf>("trace").cloned(),
        program,
        ..step.play(OsString::new())?
    };
    if let Some(file) = &play.trace {
        stage::writable(file)?;
    }
    let seed = play.seed.unwrap_or_else(stage::new_seed);
    let paint = screen::paint();
    let head = format!("{} · {} · seed {seed}", step.folder, play.scene.title);
    say(&format!("{}\n", paint.wrapped("", "  ", &head)));
    let outcome = stage::play(Play { seed: Some(seed), ..play }).await?;
    say(&report(&paint, &outcome));
    Ok(outcome.holds())
}

/// The words of a command line, so that they mean the same in another folder: the program where
/// it is found, and arguments that name a file of this folder as absolute paths.
fn from_anywhere(words: Vec<OsString>) -> Result<Vec<OsString>> {
    let here = std::env::current_dir().context("the current folder is gone")?;
    let Some((program, arguments)) = words.split_first() else { bail!("no program is given") };
    let mut found = vec![find(program, &here)?];
    if let Some(script) = missing_script(arguments, &here) {
        bail!("there is no {} here", script.display());
    }
    for argument in arguments {
        let file = here.join(argument);
        let is_path = !argument.is_empty() && file.is_file();
        found.push(if is_path { file.into() } else { argument.clone() });
    }
    Ok(found)
}

/// What the names of scripts end in: with these an interpreter is given its program.
const SCRIPTS: &[&str] =
    &["py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "sh", "lua", "php", "jar", "exs"];

/// The script that an interpreter would look for in vain. Only a first argument that is no switch
/// is taken for one: what follows may be anything.
fn missing_script<'a>(arguments: &'a [OsString], here: &Path) -> Option<&'a Path> {
    let first = arguments.first().map(Path::new)?;
    let is_script = first.extension().is_some_and(|end| SCRIPTS.iter().any(|known| end == *known));
    let words = first.to_string_lossy();
    let is_name = !words.starts_with('-') && !words.contains([' ', ':']);
    (is_script && is_name && !here.join(first).is_file()).then_some(first)
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

fn report(paint: &Paint, outcome: &Outcome) -> String {
    let mut text = outcome.verified(paint);
    let failed = outcome.rules.iter().filter(|rule| rule.verdict.is_err());
    let failed: Vec<&str> = failed.map(|rule| rule.name.as_str()).collect();
    if failed.is_empty() {
        text += "\nThe program keeps the contract on this scene.\n";
    } else {
        text += &last_words(paint, &outcome.output);
        let line =
            format!("failed: {}. The same run again: --seed {}", failed.join(", "), outcome.seed);
        text += &format!("\n{}\n", paint.wrapped("", "  ", &line));
    }
    if !outcome.remains.is_empty() {
        text += &format!("\n{}\n", outcome.remains.join("\n"));
    }
    text
}

/// Its last few lines, as they stand on the screen. A flood may have no line ends.
fn last_words(paint: &Paint, output: &str) -> String {
    let least = output.len().saturating_sub(LAST_BYTES);
    let from = (least..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    let lines: Vec<&str> = output[from..].lines().collect();
    if lines.is_empty() {
        return "\nThe program wrote nothing, or kept it to itself: is standard output flushed?\n"
            .to_string();
    }
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let wrapped: Vec<String> =
        last.iter().map(|line| paint.wrapped("  │ ", "  │ ", line)).collect();
    let lines: Vec<&str> = wrapped.iter().flat_map(|line| line.lines()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let shown: String = last.iter().map(|line| format!("{line}\n")).collect();
    format!("\nThe last that the program wrote:\n{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lesson::stage::Judged;

    const PAINT: Paint = Paint { colour: false, width: 80 };

    #[test]
    fn the_last_words_of_a_flood_are_few() {
        for flood in ["x", "灯", "\u{301}", "\x1b[2J", "\t"] {
            let shown = last_words(&PAINT, &flood.repeat(1_000_000));
            assert!(shown.len() < 3 * LAST_BYTES, "{} bytes of {flood:?}", shown.len());
            let widest = shown.lines().map(screen::width).max();
            assert!(widest <= Some(80), "{widest:?} columns of {flood:?}");
        }
        let shown = last_words(&PAINT, &"line\n".repeat(100_000));
        assert_eq!(shown.lines().count(), 2 + LAST_LINES);
    }

    #[test]
    fn every_line_of_a_report_fits_eighty_columns() {
        let rule = |n: usize| Judged {
            name: format!("a_rule_with_a_long_name_{n}"),
            says: "it holds ".repeat(20),
            verdict: Err("it should hold, and does not ".repeat(9)),
        };
        let outcome = Outcome {
            rules: (0..9).map(rule).collect(),
            left_out: vec!["shown".to_string(); 30],
            seed: 7,
            output: "word ".repeat(90),
            remains: Vec::new(),
        };
        let shown = report(&PAINT, &outcome);
        let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, [""; 0]);
        assert!(shown.contains("\n  │ word word"), "{shown}");
    }
}
