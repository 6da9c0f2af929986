//! Tables that are generated: from the steps' code and manifests, from the chapters' minutes, and
//! from the matrix of all scenes on all steps.

mod added;
mod matrix;
mod timetable;

use anyhow::{Context, Result};

use crate::book::{Book, Page};
use crate::check;
use crate::origin::Table;
use crate::repo::Step;
use crate::stats;

pub fn table(table: Table, book: &Book) -> Result<String> {
    match table {
        Table::Steps => steps(book),
        Table::Sizes => sizes(book),
        Table::Matrix => matrix::table(book),
        Table::Timetable => timetable::table(book),
        Table::Coverage => coverage(book),
        Table::Added => added::table(book),
    }
}

/// What each step adds, in the words of its manifest, which are also those of its screen.
fn steps(book: &Book) -> Result<String> {
    let mut rows = Vec::new();
    for step in &book.steps {
        let run = format!("`cargo run -p step{:02}`", step.number);
        rows.push(vec![linked(book, step), description(step)?, run]);
    }
    Ok(markdown(&["step", "adds", "run it"], &[Side::Left; 3], &rows))
}

/// The name of a step, which leads to its chapter where there is one.
fn linked(book: &Book, step: &Step) -> String {
    let name = &step.name;
    match book.chapter(step.number) {
        Some(page) => format!("[{name}]({})", page.name),
        None => name.clone(),
    }
}

fn description(step: &Step) -> Result<String> {
    let path = step.folder.join("Cargo.toml");
    let text = crate::sources::read(&path)?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let description = manifest.get("package").and_then(|package| package.get("description"));
    let text = description.and_then(toml::Value::as_str);
    text.map(str::to_string)
        .with_context(|| format!("steps/{}/Cargo.toml has no description; write one", step.name))
}

/// Code lines, as `stats` counts them.
fn sizes(book: &Book) -> Result<String> {
    let mut rows = Vec::new();
    for row in stats::count(&book.steps, &book.sources)?.rows {
        let step = book.step(row.number)?;
        let crates: Vec<String> = row.new_crates.iter().map(|name| format!("`{name}`")).collect();
        rows.push(vec![
            linked(book, step),
            number(row.added),
            number(row.removed),
            number(row.total),
            format!("`{}` {}", row.longest.name, row.longest.lines),
            crates.join(", "),
        ]);
    }
    let heads = ["step", "added", "removed", "in all", "longest function", "new crate"];
    let sides = [Side::Left, Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];
    Ok(markdown(&heads, &sides, &rows))
}

/// How many of the lines that a step adds stand in its chapter.
fn coverage(book: &Book) -> Result<String> {
    let shares = check::shares(book)?;
    let row = |name: String, share: &check::Share| {
        vec![name, number(share.added), number(share.shown), format!("{} %", share.percent())]
    };
    let mut rows = Vec::new();
    for share in &shares.0 {
        rows.push(row(linked(book, book.step(share.step)?), share));
    }
    rows.push(row("all".to_string(), &shares.total()));
    let heads = ["chapter", "lines added", "shown", "share"];
    Ok(markdown(&heads, &[Side::Left, Side::Right, Side::Right, Side::Right], &rows))
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// A table in Markdown.
fn markdown(heads: &[&str], sides: &[Side], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rule = |side: &Side| if *side == Side::Right { "---:" } else { "---" };
    let mut table = line(heads.to_vec());
    table += &line(sides.iter().map(rule).collect());
    for row in rows {
        table += &line(row.iter().map(String::as_str).collect());
    }
    table
}

/// A number with a comma between its thousands.
pub fn number(value: usize) -> String {
    let digits = value.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// The page's first heading.
fn title(page: &Page) -> &str {
    let heading = page.text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or(page.name.as_str()).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_rule_and_its_sides() {
        let rows = [vec!["00-loop".to_string(), number(1_234_567)], vec!["x".into(), number(12)]];
        assert_eq!(
            markdown(&["step", "lines"], &[Side::Left, Side::Right], &rows),
            "| step | lines |\n| --- | ---: |\n| 00-loop | 1,234,567 |\n| x | 12 |\n"
        );
    }
}
