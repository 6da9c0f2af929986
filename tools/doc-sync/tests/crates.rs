//! What a learner built for one step is built for all: no program has cargo build a crate a second
//! time with other features.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tools/doc-sync lies two down")
}

/// `step00` …, and the programs of the workshop.
fn programs() -> Vec<String> {
    let steps = doc_sync::repo::steps(root()).unwrap();
    let mut programs: Vec<String> =
        steps.iter().map(|step| format!("step{:02}", step.number)).collect();
    programs.extend(["lesson".to_string(), "doc-sync".to_string()]);
    programs
}

/// The crates that are linked into a program: name and version, and the features.
fn crates(program: &str) -> BTreeMap<String, String> {
    let edges = "normal,no-proc-macro";
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--locked", "--package", program, "--edges", edges])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}\t{f}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let lines = tree.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(name, features)| (name.to_string(), features.to_string())).collect()
}

#[test]
fn every_step_is_built_from_the_same_crates() {
    let mut features: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for program in programs() {
        for (name, set) in crates(&program) {
            features.entry(name).or_default().entry(set).or_default().push(program.clone());
        }
    }
    assert!(features.len() > 100, "too few to be all: {features:?}");
    let differing: BTreeSet<String> = features
        .iter()
        .filter(|(_, sets)| sets.len() > 1)
        .map(|(name, sets)| format!("{name}: {sets:?}"))
        .collect();
    assert_eq!(differing, BTreeSet::new(), "name their features in tools/lesson/Cargo.toml");
}
