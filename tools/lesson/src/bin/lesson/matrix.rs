//! `lesson matrix`: every scene on every step, which is the proof that each capability is real.
//!
//! The rule: the scene of step N holds on N and on every later step, and fails on the step before
//! by the rule that it names in `proves`. On still earlier steps it must fail, however it does.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use lesson::stage;
use serde_json::{Value, json};

use crate::repo::{Repo, Step};
use crate::say;

/// One scene on one step.
struct Cell {
    /// Index of the scene's step, and of the step that played it.
    scene: usize,
    step: usize,
    seed: u64,
    /// Rules that failed, and why.
    failed: Vec<(String, String)>,
    /// How many requests reached the model.
    requests: usize,
    /// It could not be played at all.
    error: Option<String>,
}

pub async fn run(repo: &Repo, as_json: bool) -> Result<bool> {
    repo.build_steps().await?;
    let target = repo.target().await?;
    let traces = tempfile::tempdir()?;
    let mut proves = Vec::new();
    let mut cells = Vec::new();
    for (scene, of) in repo.steps.iter().enumerate() {
        proves.push(of.scene()?.proves);
        for (step, with) in repo.steps.iter().enumerate() {
            let place = (scene, step);
            cells.push(play(place, of, with.program(&target), traces.path()).await?);
        }
    }
    let broken: Vec<String> =
        cells.iter().filter_map(|cell| broken(cell, &repo.steps, &proves)).collect();
    let text = if as_json {
        format!("{:#}\n", table_as_json(&repo.steps, &proves, &cells, &broken))
    } else {
        table(&repo.steps, &cells, &broken)
    };
    say(&text);
    Ok(broken.is_empty())
}

async fn play(
    (scene, step): (usize, usize),
    of: &Step,
    program: std::ffi::OsString,
    traces: &Path,
) -> Result<Cell> {
    let trace = traces.join(format!("{scene}-{step}.json"));
    let play = stage::Play { trace: Some(trace.clone()), ..of.play(program)? };
    let mut cell = Cell { scene, step, seed: 0, failed: Vec::new(), requests: 0, error: None };
    match stage::play(play).await {
        Err(error) => cell.error = Some(format!("{error:#}")),
        Ok(outcome) => {
            cell.seed = outcome.seed;
            for rule in outcome.rules {
                if let Err(why) = rule.verdict {
                    cell.failed.push((rule.name, why));
                }
            }
        }
    }
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    cell.requests = serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|trace| trace.as_array().map(Vec::len))
        .unwrap_or(0);
    Ok(cell)
}

/// How the cell breaks the rule, if it does.
fn broken(cell: &Cell, steps: &[Step], proves: &[Option<String>]) -> Option<String> {
    let scene = &steps[cell.scene].folder;
    let head = format!("scene {scene} on {}", steps[cell.step].package());
    if let Some(error) = &cell.error {
        return Some(format!("{head} could not be played: {error}"));
    }
    let names: Vec<&str> = cell.failed.iter().map(|(name, _)| name.as_str()).collect();
    if cell.step >= cell.scene {
        let (name, why) = cell.failed.first()?;
        return Some(format!("{head} must hold, and {name} failed (seed {}): {why}", cell.seed));
    }
    if cell.failed.is_empty() {
        return Some(format!("{head} must fail, and it holds: it proves nothing new"));
    }
    if cell.step + 1 < cell.scene {
        return None;
    }
    if cell.requests == 0 {
        return Some(format!("{head} fails before it asks the model: that proves nothing"));
    }
    match &proves[cell.scene] {
        None => Some(format!("scene {scene} must name in `proves` the rule that {head} fails by")),
        Some(rule) if names.contains(&rule.as_str()) => None,
        Some(rule) => Some(format!(
            "{head} must fail by the rule {rule}, and fails by {} instead",
            names.join(", ")
        )),
    }
}

fn table(steps: &[Step], cells: &[Cell], broken: &[String]) -> String {
    let names: Vec<&str> =
        cells.iter().flat_map(|cell| cell.failed.first()).map(|f| f.0.as_str()).collect();
    let wide = names.iter().map(|name| name.chars().count() + 2).max().unwrap_or(0).max(6) + 2;
    let mut text = format!("{:<18}", "scene");
    for step in steps {
        let _ = write!(text, "{:<wide$}", step.package());
    }
    text = text.trim_end().to_string() + "\n";
    for (scene, of) in steps.iter().enumerate() {
        let mut line = format!("{:<18}", of.folder);
        for cell in cells.iter().filter(|cell| cell.scene == scene) {
            let _ = write!(line, "{:<wide$}", mark(cell));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if broken.is_empty() {
        text += "\nEvery scene fails on the step before its own, by the rule that it names, and holds from its own on.\n";
    } else {
        text += "\nBroken:\n";
        for why in broken {
            let _ = writeln!(text, "  {}", why.replace('\n', "\n    "));
        }
    }
    text
}

/// `✓`, `✗ rule` where it matters, `·` on the steps before.
fn mark(cell: &Cell) -> String {
    match cell.failed.first() {
        _ if cell.error.is_some() => "✗ !".to_string(),
        None => "✓".to_string(),
        Some(_) if cell.step + 1 < cell.scene => "·".to_string(),
        Some((name, _)) => format!("✗ {name}"),
    }
}

fn table_as_json(
    steps: &[Step],
    proves: &[Option<String>],
    cells: &[Cell],
    broken: &[String],
) -> Value {
    let cells: Vec<Value> = cells
        .iter()
        .map(|cell| {
            let failed: Vec<Value> =
                cell.failed.iter().map(|(rule, why)| json!({ "rule": rule, "why": why })).collect();
            json!({
                "scene": steps[cell.scene].folder,
                "step": steps[cell.step].package(),
                "proves": proves[cell.scene],
                "holds": cell.error.is_none() && cell.failed.is_empty(),
                "failed": failed,
                "error": cell.error,
                "seed": cell.seed,
            })
        })
        .collect();
    json!({ "cells": cells, "broken": broken })
}
