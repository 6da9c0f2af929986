//! What the parts of a scene say of each other: names of values, of rules and of files, and user
//! lines that could not be told apart.

use std::collections::BTreeSet;
use std::path::Path;

use super::table::Faults;
use crate::scene::{LineKind, Scene};

/// Whether this can be the name of a value.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The names in `<<name>>` and `<<name * text>>`.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("<<").skip(1).filter_map(|rest| {
        let inner = &rest[..rest.find(">>")?];
        let name = inner.split_once(" * ").map_or(inner, |(name, _)| name);
        is_name(name).then_some(name)
    })
}

pub fn check(scene: &Scene, text: &str, faults: &mut Faults) {
    check_names(scene, text, faults);
    check_proves(scene, text, faults);
    check_user_lines(scene, faults);
    check_files(scene, text, faults);
    check_parts(scene, faults);
}

/// The first line that begins with this key, for values that have no line of their own.
fn line_of_key(text: &str, key: &str) -> usize {
    let is_it = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().position(is_it).map_or(1, |index| index + 1)
}

fn check_names(scene: &Scene, text: &str, faults: &mut Faults) {
    let mut known: BTreeSet<&str> = scene.random.iter().map(|(name, _)| name.as_str()).collect();
    for line in scene.parts.iter().flat_map(|part| &part.lines) {
        let LineKind::Reply(reply) = &line.kind else { continue };
        known.extend(reply.capture.iter().map(|(name, _)| name.as_str()));
        for call in reply.speech.calls.iter().chain(reply.otherwise.iter().flat_map(|o| &o.calls)) {
            known.extend(call.capture.iter().map(|(name, _)| name.as_str()));
        }
    }
    known.insert("mark");
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for name in names(line).filter(|name| !known.contains(name)) {
            faults.add_at_line(
                index + 1,
                format!("nothing draws or captures `<<{name}>>`; known: {}", listed(&known)),
            );
        }
    }
}

fn listed(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

fn check_proves(scene: &Scene, text: &str, faults: &mut Faults) {
    let Some(proves) = &scene.proves else { return };
    if !scene.verify.iter().any(|rule| rule.name == *proves) {
        let rules: Vec<&str> = scene.verify.iter().map(|rule| rule.name.as_str()).collect();
        faults.add_at_line(
            line_of_key(text, "proves"),
            format!(
                "`proves` names no rule of [verify]: `{proves}`; there are: {}",
                rules.join(", ")
            ),
        );
    }
}

/// A user line is found in a request by its text: one that stands in another is ambiguous.
fn check_user_lines(scene: &Scene, faults: &mut Faults) {
    for part in &scene.parts {
        let users: Vec<(usize, &str)> = part
            .lines
            .iter()
            .filter_map(|line| match &line.kind {
                LineKind::User(text) => Some((line.at, text.trim())),
                _ => None,
            })
            .collect();
        for (index, (at, text)) in users.iter().enumerate() {
            for (other_at, other) in &users[index + 1..] {
                if text.contains(other) || other.contains(text) {
                    faults.add_at_line(
                        *other_at,
                        format!(
                            "this user line cannot be told from the one in line {at}: one stands \
                             in the other; word it otherwise"
                        ),
                    );
                }
            }
        }
    }
}

/// Files to fill must stand beside the scene, and quote only drawn values.
fn check_files(scene: &Scene, text: &str, faults: &mut Faults) {
    let folder = scene.path.parent().unwrap_or(Path::new(""));
    let line = line_of_key(text, "fill");
    for file in &scene.fill {
        let path = match file.strip_prefix("~/") {
            Some(inside) => folder.join("home").join(inside),
            None => folder.join("workspace").join(file),
        };
        let Ok(content) = std::fs::read_to_string(&path) else {
            faults.add_at_line(
                line,
                format!("`fill` names a file that cannot be read: {}", path.display()),
            );
            continue;
        };
        for name in names(&content) {
            if !scene.random.iter().any(|(drawn, _)| drawn == name) {
                faults.add_at_line(
                    line,
                    format!("{file} quotes `<<{name}>>`, which [random] does not draw"),
                );
            }
        }
    }
}

fn check_parts(scene: &Scene, faults: &mut Faults) {
    for rule in &scene.verify {
        let crate::scene::Check::Request { part, .. } = &rule.check else { continue };
        if !scene.parts.iter().any(|known| known.name == *part) {
            faults.add_at_line(rule.at, format!("there is no part `{part}`"));
        }
    }
}
