//! `lesson matrix`: every scene on every step, which is the proof that each capability is real.
//!
//! The rule: the scene of step N holds on N and on every later step, and fails on the step before
//! by the rule that it names in `proves`. On still earlier steps it must fail, however it does.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use lesson::screen;
use lesson::stage::{self, Interrupted};
use serde_json::{Value, json};

use crate::say;
use lesson::workshop::repo::{Repo, Step};

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
        table(&repo.steps, &proves, &cells, &broken)
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
        Err(error) if error.is::<Interrupted>() => return Err(error),
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

fn table(steps: &[Step], proves: &[Option<String>], cells: &[Cell], broken: &[String]) -> String {
    let marks: Vec<String> = cells.iter().map(|cell| mark(cell, &proves[cell.scene])).collect();
    let wide = marks.iter().map(|mark| mark.chars().count()).max().unwrap_or(0).max(6) + 2;
    let mut text = format!("{:<18}", "scene");
    for step in steps {
        let _ = write!(text, "{:<wide$}", step.package());
    }
    text = text.trim_end().to_string() + "\n";
    for (scene, of) in steps.iter().enumerate() {
        let mut line = format!("{:<18}", of.folder);
        for (_, mark) in cells.iter().zip(&marks).filter(|(cell, _)| cell.scene == scene) {
            let _ = write!(line, "{mark:<wide$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text += "\n✓ holds   ✗ fails, by this rule   · fails on a still earlier step, as it should\n";
    if broken.is_empty() {
        text += "\nEvery scene holds from its own step on, and fails on the one before by the rule\n\
                 that it names.\n";
    } else {
        text += "\nBroken:\n";
        for why in broken {
            let _ = writeln!(text, "{}", screen::paint().wrapped("  ", "    ", why));
        }
    }
    text
}

/// `✓`, `✗ rule` on the step before (the named rule, if it is among those that failed), `·` on
/// still earlier ones.
fn mark(cell: &Cell, proves: &Option<String>) -> String {
    if cell.error.is_some() {
        return "✗ not run".to_string();
    }
    let named = cell.failed.iter().find(|(name, _)| Some(name) == proves.as_ref());
    match named.or(cell.failed.first()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        let folders = ["00-loop", "01-tools", "02-edit"];
        folders.map(|folder| Step { dir: folder.into(), folder: folder.into() }).into()
    }

    fn proves() -> Vec<Option<String>> {
        vec![None, Some("report".into()), Some("kept".into())]
    }

    fn cell(scene: usize, step: usize, failed: &[&str]) -> Cell {
        let failed = failed.iter().map(|rule| (rule.to_string(), "it is not so".into())).collect();
        Cell { scene, step, seed: 7, failed, requests: 3, error: None }
    }

    /// As it should be.
    fn good() -> Vec<Cell> {
        let fails = |scene, step| match (scene, step) {
            (1, 0) => vec!["script", "report"],
            (2, 1) => vec!["kept"],
            (2, 0) => vec!["answer"],
            _ => vec![],
        };
        let places = (0..3).flat_map(|scene| (0..3).map(move |step| (scene, step)));
        places.map(|(scene, step)| cell(scene, step, &fails(scene, step))).collect()
    }

    fn why(cell: Cell) -> String {
        broken(&cell, &steps(), &proves()).unwrap_or_default()
    }

    #[test]
    fn nothing_is_broken_where_each_scene_fails_just_before_its_step() {
        let cells = good();
        let found: Vec<String> =
            cells.iter().filter_map(|cell| broken(cell, &steps(), &proves())).collect();
        assert_eq!(found, [""; 0]);
        insta::assert_snapshot!(table(&steps(), &proves(), &cells, &found));
    }

    #[test]
    fn a_scene_must_hold_on_its_own_step_and_on_later_ones() {
        let said = "scene 00-loop on step02 must hold, and answer failed (seed 7): it is not so";
        assert_eq!(why(cell(0, 2, &["answer"])), said);
        assert!(why(cell(1, 1, &["report"])).contains("must hold"));
    }

    #[test]
    fn a_scene_must_fail_on_the_step_before_by_the_rule_that_it_names() {
        assert!(why(cell(2, 1, &[])).contains("must fail, and it holds"));
        let said = "scene 02-edit on step01 must fail by the rule kept, and fails by tests, script instead";
        assert_eq!(why(cell(2, 1, &["tests", "script"])), said);
    }

    #[test]
    fn a_scene_must_fail_on_every_step_before_but_there_by_any_rule() {
        assert_eq!(why(cell(2, 0, &["answer"])), "");
        assert!(why(cell(2, 0, &[])).contains("must fail, and it holds"));
    }

    #[test]
    fn a_program_that_never_asks_the_model_proves_nothing() {
        let mute = Cell { requests: 0, ..cell(2, 1, &["kept"]) };
        assert!(why(mute).contains("fails before it asks the model"));
        let gone = Cell { error: Some("no such file".into()), ..cell(2, 0, &[]) };
        assert!(why(gone).contains("could not be played: no such file"));
    }

    #[test]
    fn a_scene_after_the_first_must_name_the_rule_that_it_proves() {
        let found = broken(&cell(1, 0, &["report"]), &steps(), &[None, None, None]);
        assert!(found.is_some_and(|why| why.contains("must name in `proves`")));
    }
}
