//! `stats`: what each step adds, and whether it keeps within the limits.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use anyhow::{Context, Result};
use similar::{ChangeTag, TextDiff};

use crate::check::{Share, Shares};
use crate::code::Function;
use crate::repo::Step;
use crate::sources::Sources;

/// Code lines of the first step in all.
const FIRST_TOTAL: usize = 190;
/// Code lines a step may add; the steps in `LARGE` may add more. A session has to take whatever a
/// model said and a damaged file holds, and a stream whatever servers get wrong in it. Permissions
/// are two modules, a reader of shell lines and the rules, with settings that must not fail open; so
/// is the context, what is made shorter in place and the summary, each with what happens when it
/// does not help.
const ADDED: usize = 250;
const LARGE: [(usize, usize); 5] = [(1, 400), (4, 270), (5, 440), (6, 540), (7, 500)];
/// Percent of the step before that a step may rewrite, from `REWRITES_COUNT_FROM` on.
const REWRITTEN: usize = 10;
const REWRITES_COUNT_FROM: usize = 2;
/// Code lines of a function that a reader takes in at one look.
const FUNCTION: usize = 40;
/// The crates every step may use; one more is free where the chapter needs it. `regex` costs a
/// learner nothing, since the scripted model is built with it in any case.
const CRATES: [&str; 7] = ["tokio", "reqwest", "serde", "serde_json", "anyhow", "lesson", "regex"];

/// One step's figures, in code lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub number: usize,
    pub name: String,
    pub added: usize,
    pub removed: usize,
    /// Removed lines that do not stand elsewhere in the step.
    pub rewritten: usize,
    pub total: usize,
    /// Total of the step before.
    pub before: usize,
    /// Crates beside the common ones that the step before does not use.
    pub new_crates: Vec<String>,
    pub longest: Function,
    /// Percent of the added lines that its chapter shows; none where there is no chapter.
    pub shown: Option<usize>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Table {
    pub rows: Vec<Row>,
}

/// A step's code: file to code lines.
type Lines = BTreeMap<String, Vec<String>>;

/// Counts all steps. What their chapters show is added by `add_shares`.
pub fn count(steps: &[Step], files: &Sources) -> Result<Table> {
    let mut table = Table::default();
    let mut before: Option<(Lines, Vec<String>)> = None;
    for step in steps {
        let (sources, longest) = read_sources(step, files)?;
        let crates = read_crates(step)?;
        let (old, old_crates) = before.unwrap_or_default();
        let (added, removed) = differences(&old, &sources);
        table.rows.push(Row {
            number: step.number,
            name: step.name.clone(),
            added: added.len(),
            removed: removed.len(),
            rewritten: not_moved(&removed, &added),
            total: total(&sources),
            before: total(&old),
            new_crates: crates.iter().filter(|name| !old_crates.contains(name)).cloned().collect(),
            longest,
            shown: None,
        });
        before = Some((sources, crates));
    }
    Ok(table)
}

fn read_sources(step: &Step, files: &Sources) -> Result<(Lines, Function)> {
    let mut lines = Lines::new();
    let mut longest = Function { name: "none".into(), lines: 0 };
    for path in files.names(step)?.iter() {
        let source = files.need(step, path)?;
        for function in &source.code.functions {
            if function.lines > longest.lines {
                longest = function.clone();
            }
        }
        lines.insert(path.clone(), source.code.lines.clone());
    }
    Ok((lines, longest))
}

fn read_crates(step: &Step) -> Result<Vec<String>> {
    let path = step.folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let names = manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = names.into_iter().flat_map(|table| table.keys().cloned());
    Ok(names.filter(|name| !CRATES.contains(&name.as_str())).collect())
}

fn total(sources: &Lines) -> usize {
    sources.values().map(Vec::len).sum()
}

/// The lines added and removed, file by file.
fn differences(old: &Lines, new: &Lines) -> (Vec<String>, Vec<String>) {
    let nothing = Vec::new();
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for path in paths {
        let a: Vec<&str> = old.get(path).unwrap_or(&nothing).iter().map(String::as_str).collect();
        let b: Vec<&str> = new.get(path).unwrap_or(&nothing).iter().map(String::as_str).collect();
        for change in TextDiff::from_slices(&a, &b).iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => added.push(change.value().to_string()),
                ChangeTag::Delete => removed.push(change.value().to_string()),
                ChangeTag::Equal => {}
            }
        }
    }
    (added, removed)
}

/// How many removed lines do not come back among the added ones.
fn not_moved(removed: &[String], added: &[String]) -> usize {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in added {
        *left.entry(line).or_default() += 1;
    }
    removed
        .iter()
        .filter(|line| match left.get_mut(line.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .count()
}

impl Table {
    /// Takes up what the chapters show.
    pub fn add_shares(&mut self, shares: &Shares) {
        for row in &mut self.rows {
            row.shown = shares.of(row.number).map(Share::percent);
        }
    }

    /// Every limit that is passed, in words.
    pub fn faults(&self) -> Vec<String> {
        self.rows.iter().flat_map(Row::faults).collect()
    }
}

impl Row {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut limit = |value: usize, most: usize, what: &str| {
            if value > most {
                faults.push(format!("{}: {value} {what}, at most {most}", self.name));
            }
        };
        let large = LARGE.iter().find(|(number, _)| *number == self.number);
        match self.number {
            0 => limit(self.total, FIRST_TOTAL, "code lines in all"),
            _ => limit(self.added, large.map_or(ADDED, |(_, most)| *most), "code lines added"),
        }
        if self.number >= REWRITES_COUNT_FROM {
            limit(self.rewritten, self.before * REWRITTEN / 100, "code lines rewritten");
        }
        limit(self.longest.lines, FUNCTION, &format!("code lines in `{}`", self.longest.name));
        limit(self.new_crates.len(), 1, &format!("new crates ({})", self.new_crates.join(", ")));
        faults
    }
}

/// The text in so many columns at most: the table fits 80.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_string();
    }
    text.chars().take(columns - 1).chain(['…']).collect()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:14}{:>6}{:>8}{:>10}{:>6}{:>6}  {:18}new crates",
            "step", "added", "removed", "rewritten", "total", "shown", "longest function"
        )?;
        for row in &self.rows {
            let share = (row.rewritten * 100).checked_div(row.before).unwrap_or(0);
            let rewritten = format!("{} ({share}%)", row.rewritten);
            let longest = cut(&format!("{} {}", row.longest.lines, row.longest.name), 17);
            let shown = row.shown.map_or("-".into(), |percent| format!("{percent}%"));
            let line = format!(
                "{:14}{:>6}{:>8}{:>10}{:>6}{:>6}  {:18}{}",
                cut(&row.name, 14),
                row.added,
                row.removed,
                rewritten,
                row.total,
                shown,
                longest,
                cut(&row.new_crates.join(", "), 9)
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        for fault in self.faults() {
            writeln!(f, "too much: {fault}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_eighty_columns() {
        let row = Row {
            number: 15,
            name: "15-autonomy-and-more".into(),
            added: 12_345,
            removed: 1_234,
            rewritten: 1_234,
            total: 12_345,
            before: 10_000,
            new_crates: vec!["a-crate-with-a-long-name".into()],
            longest: Function { name: "Agent::answer_every_call_of_a_reply".into(), lines: 40 },
            shown: Some(100),
        };
        let shown = Table { rows: vec![row] }.to_string();
        let wide: Vec<&str> = shown
            .lines()
            .filter(|line| line.chars().count() > 80 && !line.starts_with("too much"))
            .collect();
        assert_eq!(wide, [""; 0]);
        assert!(shown.contains("40 Agent::answer…"), "{shown}");
    }
}
