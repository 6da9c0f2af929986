//! A run as a block of the book.

use anyhow::{Result, bail};
use lesson::workshop::mutations::Mutation;

use crate::blocks::{At, diff, fence};
use crate::origin::Part;
use crate::repo;
use crate::sources;

use super::what::SEED;

/// Stands for lines that are not shown.
pub const CUT: &str = "⋯";

/// What a reader types for the run.
pub fn command(step: usize, words: &[String]) -> String {
    let is_variable = |word: &&String| word.starts_with("LOOPWRIGHT_");
    let count = words.iter().take_while(is_variable).count();
    let (variables, switches) = words.split_at(count);
    let variables: String = variables.iter().map(|word| quoted_value(word) + " ").collect();
    let mut switches: String = switches.iter().map(|word| format!(" {}", quoted(word))).collect();
    // A diff draws nothing.
    if !words.iter().any(|word| word == "--diff") {
        switches += &format!(" --seed {SEED}");
    }
    format!("{variables}cargo run -p step{step:02} --{switches}")
}

fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,".contains(c));
    if is_plain { word.to_string() } else { format!("\"{word}\"") }
}

/// `NAME=value`, with the value in quotes where a shell needs them.
fn quoted_value(word: &str) -> String {
    match word.split_once('=') {
        Some((name, value)) => format!("{name}={}", quoted(value.trim_matches('"'))),
        None => word.to_string(),
    }
}

/// The command and what it wrote, or a part of that.
pub fn console(command: &str, output: &str, part: &Part) -> Result<String> {
    let shown = lines(output, part)?.join("\n");
    Ok(fence("console", &format!("$ {command}\n{shown}")))
}

/// The lines of the part, with a sign where lines are not shown.
pub fn lines<'a>(output: &'a str, part: &Part) -> Result<Vec<&'a str>> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let (from, to) = (first(&lines, part)?, last(&lines, part)?);
    let mut shown = lines[from..to].to_vec();
    if from > 0 {
        shown.insert(0, CUT);
    }
    if to < lines.len() {
        shown.push(CUT);
    }
    Ok(shown)
}

/// The line with the first text, which has to be the only one.
fn first(lines: &[&str], part: &Part) -> Result<usize> {
    let Some(text) = &part.from else { return Ok(0) };
    let found: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(text)).collect();
    match found[..] {
        [line] => Ok(line),
        [] => bail!("the run has no line with `{text}`; take a text that stands there once"),
        _ => bail!("{} lines of the run hold `{text}`; take a longer text", found.len()),
    }
}

/// One past the line with the second text: the first one from the first text on, since the lines
/// of a screen repeat.
fn last(lines: &[&str], part: &Part) -> Result<usize> {
    let Some(text) = &part.to else { return Ok(lines.len()) };
    let from = first(lines, part)?;
    match lines[from..].iter().position(|line| line.contains(text)) {
        Some(at) => Ok(from + at + 1),
        None => bail!("the run has no line with `{text}` behind the text after `from`"),
    }
}

/// What a mutation changes, with its place.
pub fn change(at: &At, mutation: &Mutation) -> Result<String> {
    let path = repo::slashed(&mutation.file);
    let before = sources::read(&at.step.folder.join(&mutation.file))?;
    let after = mutation.apply(&before)?;
    let numbered = |text| str::lines(text).enumerate().collect::<Vec<_>>();
    let lines = diff::lines_of(&numbered(&before), &numbered(&after));
    let place = match path.ends_with(".rs") {
        true => place_of(at, &path, &lines)?,
        false => String::new(),
    };
    let counts = diff::counts(lines.iter());
    let place = format!("*`{path}`{place}, for this run alone: {counts}*");
    let info = format!("{},diff", fence::language(&path));
    Ok(format!("{place}\n\n{}", fence(&info, &diff::written(&lines, &path))))
}

/// `, in `Agent::run`: the innermost item that the first changed line stands in.
fn place_of(at: &At, path: &str, lines: &[diff::Line]) -> Result<String> {
    let source = at.book.sources.need(at.step, path)?;
    let unchanged = lines.iter().take_while(|line| line.sign == ' ').count();
    let around = source.around(unchanged);
    let item = around.iter().rev().find(|item| !item.is_container());
    Ok(item.map(|item| format!(", in `{}`", item.full_name())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn the_command_is_what_a_reader_types() {
        assert_eq!(command(2, &[]), "cargo run -p step02 -- --seed 7");
        assert_eq!(command(2, &words(&["--diff"])), "cargo run -p step02 -- --diff");
        let scene = words(&["--scene", "02"]);
        assert_eq!(command(1, &scene), "cargo run -p step01 -- --scene 02 --seed 7");
        let off = words(&["LOOPWRIGHT_OFF=snip, compaction", "--keep"]);
        assert_eq!(
            command(7, &off),
            "LOOPWRIGHT_OFF=\"snip, compaction\" cargo run -p step07 -- --keep --seed 7"
        );
    }

    #[test]
    fn a_part_is_marked_where_it_is_cut() {
        let part = |from: Option<&str>, to: Option<&str>| Part {
            from: from.map(str::to_string),
            to: to.map(str::to_string),
        };
        let shown = |from, to| console("x", "a\nb\nc\nb\n", &part(from, to));
        assert_eq!(shown(None, None).unwrap(), "```console\n$ x\na\nb\nc\nb\n```\n");
        assert_eq!(shown(Some("c"), None).unwrap(), "```console\n$ x\n⋯\nc\nb\n```\n");
        assert_eq!(shown(Some("a"), Some("b")).unwrap(), "```console\n$ x\na\nb\n⋯\n```\n");
        assert_eq!(
            shown(Some("b"), None).unwrap_err().to_string(),
            "2 lines of the run hold `b`; take a longer text"
        );
        assert_eq!(
            shown(Some("c"), Some("a")).unwrap_err().to_string(),
            "the run has no line with `a` behind the text after `from`"
        );
    }
}
