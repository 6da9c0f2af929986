//! Reads a scene from TOML, and refuses, with file and line, what it does not know.
//!
//! Three passes: `table.rs` parses and gives every key its line; this file with `lines.rs` and
//! `rules.rs` turns tables into a `Scene` and notes unknown keys; `references.rs` looks at what
//! the parts say of each other (names, files, user lines), and `flow.rs` at whether the
//! conversations can be played. All faults are reported at once.

mod files;
mod flow;
mod lines;
mod references;
mod rules;
mod table;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use toml::de::DeTable;

use crate::scene::{Draw, Limits, Part, Scene};
use table::{Entry, Faults, HOUR, MANY, Table};

/// In seconds: no scene takes longer.
const DAY: u64 = 86_400;

const KNOWN: &str = "title, proves, args, time_limit, pace, fill, next, [model], [parts], \
                     [random], [[main]], [[NAME]] for each name in [parts], [verify]";

impl Scene {
    /// Reads a scene. The error names file and line of everything that is wrong.
    pub fn read(path: &Path) -> Result<Scene> {
        let bytes = files::read(path)
            .with_context(|| format!("cannot read the scene {}", path.display()))?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(text, path),
            Err(wrong) => {
                let before = &bytes[..wrong.valid_up_to()];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                refuse(path, vec![(line, "this line is not UTF-8".to_string())])
            }
        }
    }

    /// Reads a scene from a text; `path` says where it would stand, for messages and for the
    /// folders `workspace` and `home` beside it.
    pub fn parse(text: &str, path: &Path) -> Result<Scene> {
        let mut faults = Faults::new(text);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let what = format!("not valid TOML: {}", error.message());
            match error.span() {
                Some(span) => faults.add(span.start, what),
                None => faults.add_at_line(line_of_placeless_error(text), what),
            }
        }
        // After a syntax error half of the tables are missing: what else is wrong would mislead.
        if errors.is_empty() {
            let scene = scene(Table::new(0, document.get_ref()), path, &mut faults);
            references::check(&scene, document.get_ref(), text, &mut faults);
            flow::check(&scene, &mut faults);
            let found = faults.into_sorted();
            return if found.is_empty() { Ok(scene) } else { refuse(path, found) };
        }
        refuse(path, faults.into_sorted())
    }
}

/// The parser names no place for what is nested too deep: it is the line with which the error
/// appears.
fn line_of_placeless_error(text: &str) -> usize {
    let ends: Vec<usize> =
        text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]).collect();
    let is_fine = |end: &usize| {
        let (_, errors) = DeTable::parse_recoverable(&text[..*end]);
        errors.iter().all(|error| error.span().is_some())
    };
    (ends.partition_point(is_fine) + 1).min(ends.len())
}

fn refuse(path: &Path, found: Vec<(usize, String)>) -> Result<Scene> {
    let lines: Vec<String> =
        found.iter().map(|(line, what)| format!("{}:{line}: {what}", path.display())).collect();
    bail!("{}", lines.join("\n"))
}

fn scene(mut top: Table<'_>, path: &Path, faults: &mut Faults) -> Scene {
    let title = top.text("title", faults).unwrap_or_default();
    if title.trim().is_empty() {
        faults.add(0, "a scene needs a title: title = \"what it shows, in a few words\"");
    }
    let conditions = conditions(&mut top, faults);
    let scene = Scene {
        path: path.to_path_buf(),
        title,
        proves: top.text("proves", faults),
        args: top.texts("args", faults),
        time_limit: Duration::from_secs(top.whole_in("time_limit", 1..=DAY, faults).unwrap_or(60)),
        pace: Duration::from_millis(top.whole_in("pace", 0..=HOUR, faults).unwrap_or(0)),
        limits: limits(&mut top, faults),
        random: random(&mut top, faults),
        fill: top.texts("fill", faults),
        next: top.texts("next", faults),
        verify: match top.take("verify").and_then(|entry| entry.table(faults)) {
            Some(table) => rules::rules(table, faults),
            None => Vec::new(),
        },
        parts: parts(&mut top, conditions, faults),
    };
    top.finish(KNOWN, faults);
    scene
}

fn limits(top: &mut Table<'_>, faults: &mut Faults) -> Limits {
    let mut limits = Limits { context_window: 200_000, max_output: 64_000, cache_minimum: 1_024 };
    if let Some(mut model) = top.table("model", faults) {
        for (key, least, limit) in [
            ("context_window", 1, &mut limits.context_window),
            ("max_output", 1, &mut limits.max_output),
            ("cache_minimum", 0, &mut limits.cache_minimum),
        ] {
            *limit = model.whole_in(key, least..=MANY, faults).unwrap_or(*limit);
        }
        model.finish("context_window, max_output, cache_minimum", faults);
    }
    limits
}

fn random(top: &mut Table<'_>, faults: &mut Faults) -> Vec<(String, Draw)> {
    let Some(mut table) = top.table("random", faults) else { return Vec::new() };
    let mut drawn = Vec::new();
    for entry in table.take_rest() {
        if !references::is_name(entry.key) {
            faults.add(entry.at, format!("`{}` is no name: a-z, 0-9 and _ only", entry.key));
        }
        let Some(kind) = entry.text(faults) else { continue };
        match draw(&kind) {
            Some(draw) => drawn.push((entry.key.to_string(), draw)),
            None => faults.add(
                entry.at,
                format!(
                    "`{kind}` cannot be drawn: it must be \"int:A..B\" (A less than B), \
                     \"hex:N\" (N from 1 to 64), \"word\" or \"one of: a | b\""
                ),
            ),
        }
    }
    drawn
}

fn draw(kind: &str) -> Option<Draw> {
    if kind == "word" {
        return Some(Draw::Word);
    }
    if let Some(range) = kind.strip_prefix("int:") {
        let (from, to) = range.split_once("..")?;
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        return (from < to).then_some(Draw::Int(from, to));
    }
    if let Some(digits) = kind.strip_prefix("hex:") {
        let digits = digits.trim().parse().ok()?;
        return (1..=64).contains(&digits).then_some(Draw::Hex(digits));
    }
    let choices: Vec<String> =
        kind.strip_prefix("one of:")?.split('|').map(|choice| choice.trim().to_string()).collect();
    (!choices.iter().any(String::is_empty)).then_some(Draw::OneOf(choices))
}

/// `[parts]`: name and the text that tells the part from others.
fn conditions<'t>(top: &mut Table<'t>, faults: &mut Faults) -> Vec<(Entry<'t>, String)> {
    let Some(mut table) = top.table("parts", faults) else { return Vec::new() };
    let mut conditions = Vec::new();
    for entry in table.take_rest() {
        // A name stands in tool-use ids, where `_` separates.
        let good = entry.key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if !good || entry.key == "main" {
            faults.add(
                entry.at,
                format!("a part cannot be named `{}`: a-z and 0-9, and not main", entry.key),
            );
        }
        match entry.text(faults) {
            Some(when) if !when.trim().is_empty() => conditions.push((entry, when)),
            Some(_) => faults.add(entry.at, "an empty text stands in every request"),
            None => {}
        }
    }
    conditions
}

fn parts(
    top: &mut Table<'_>,
    conditions: Vec<(Entry<'_>, String)>,
    faults: &mut Faults,
) -> Vec<Part> {
    let mut parts = Vec::new();
    match top.take("main") {
        Some(entry) => {
            parts.push(Part { name: "main".into(), when: None, lines: lines::lines(entry, faults) })
        }
        None => faults.add(0, "a scene needs its main conversation: [[main]]"),
    }
    for (condition, when) in conditions {
        match top.take(condition.key) {
            Some(entry) => parts.push(Part {
                name: condition.key.to_string(),
                when: Some(when),
                lines: lines::lines(entry, faults),
            }),
            None => faults.add(
                condition.at,
                format!("the part `{0}` has no lines: write [[{0}]]", condition.key),
            ),
        }
    }
    parts
}
