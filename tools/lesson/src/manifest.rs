//! What the manifest beside a scene tells a person: what its step adds, and, in a crate of the
//! learner's own, whose story it plays.

use std::path::Path;

use toml::{Table, Value};

/// The `description`.
pub fn what_is_new(dir: &Path) -> Option<String> {
    text(package(dir)?.get("description")?)
}

/// The number of the step whose story this crate plays, as `lesson start` has noted it.
pub fn story(dir: &Path) -> Option<String> {
    text(package(dir)?.get("metadata")?.get("lesson")?.get("story")?)
}

/// What `lesson start` notes in a manifest's `package`.
pub fn note_story(package: &mut Table, number: &str) {
    let story = Table::from_iter([("story".to_string(), Value::from(number))]);
    let lesson = Table::from_iter([("lesson".to_string(), Value::from(story))]);
    package.insert("metadata".to_string(), Value::from(lesson));
}

fn package(dir: &Path) -> Option<Value> {
    let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).ok()?;
    manifest.parse::<Table>().ok()?.remove("package")
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_string)
}
