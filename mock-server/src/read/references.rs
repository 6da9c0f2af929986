//! What the parts of a scene say of each other: names of values, of rules and of files, and user
//! lines that could not be told apart.

use std::collections::BTreeSet;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::files;
use super::table::Faults;
use crate::scene::{Check, Draw, Line, LineKind, Part, Reply, Scene};
use crate::values::MOST_LINES;

/// Whether this can be the name of a value.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The names in `<<name>>`, `<<name * text>>` and `<<name as number>>`.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("<<").skip(1).filter_map(|rest| {
        let inner = &rest[..rest.find(">>")?];
        let name = inner.split_once(" * ").map_or(inner, |(name, _)| name);
        let name = name.strip_suffix(" as number").unwrap_or(name);
        is_name(name).then_some(name)
    })
}

pub fn check(scene: &Scene, document: &DeTable<'_>, text: &str, faults: &mut Faults) {
    check_names(scene, document, faults);
    for part in &scene.parts {
        check_order(scene, part, faults);
    }
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

fn check_names(scene: &Scene, document: &DeTable<'_>, faults: &mut Faults) {
    let mut known: BTreeSet<&str> = scene.random.iter().map(|(name, _)| name.as_str()).collect();
    for line in scene.parts.iter().flat_map(|part| &part.lines) {
        known.extend(captured_for(line).chain(captured_after(line)));
    }
    known.insert("mark");
    let mut texts = Vec::new();
    for value in document.values() {
        texts_in(value, &mut texts);
    }
    for (at, text) in texts {
        for name in names(text).filter(|name| !known.contains(name)) {
            faults.add(
                at,
                format!("nothing draws or captures `<<{name}>>`; known: {}", listed(&known)),
            );
        }
    }
}

/// Every text of a value, with its place.
fn texts_in<'t>(value: &'t Spanned<DeValue<'t>>, texts: &mut Vec<(usize, &'t str)>) {
    match value.get_ref() {
        DeValue::String(text) => texts.push((value.span().start, text)),
        DeValue::Array(items) => items.iter().for_each(|item| texts_in(item, texts)),
        DeValue::Table(table) => table.values().for_each(|value| texts_in(value, texts)),
        _ => {}
    }
}

/// Names that a line captures from its request, before it is said.
fn captured_for(line: &Line) -> impl Iterator<Item = &str> {
    let reply = reply_of(line);
    reply.into_iter().flat_map(|reply| &reply.capture).map(|(name, _)| name.as_str())
}

/// Names that a line captures from the results of its calls, for the lines after it.
fn captured_after(line: &Line) -> impl Iterator<Item = &str> {
    let reply = reply_of(line);
    let speeches = reply.into_iter().flat_map(|r| std::iter::once(&r.speech).chain(&r.otherwise));
    let calls = speeches.flat_map(|speech| &speech.calls);
    calls.flat_map(|call| &call.capture).map(|(name, _)| name.as_str())
}

fn reply_of(line: &Line) -> Option<&Reply> {
    match &line.kind {
        LineKind::Reply(reply) => Some(reply),
        _ => None,
    }
}

/// What a conversation captures, it can quote only afterwards; and `main` has no mark.
fn check_order(scene: &Scene, part: &Part, faults: &mut Faults) {
    let mut later: Vec<(&str, usize)> = Vec::new();
    for line in &part.lines {
        later.extend(captured_for(line).chain(captured_after(line)).map(|name| (name, line.at)));
    }
    let mut seen: BTreeSet<&str> = scene.random.iter().map(|(name, _)| name.as_str()).collect();
    for line in &part.lines {
        seen.extend(captured_for(line));
        let said = said_in(line);
        for name in said.iter().flat_map(|text| names(text)) {
            if name == "mark" && part.when.is_none() {
                let why = "`<<mark>>` says how far main had come: only other parts say it";
                faults.add_at_line(line.at, why);
            }
            let captured = later.iter().find(|(later, _)| *later == name && !seen.contains(name));
            if let Some((_, at)) = captured {
                faults.add_at_line(
                    line.at,
                    format!("`<<{name}>>` is quoted before anything captures it (line {at})"),
                );
            }
        }
        seen.extend(captured_after(line));
    }
}

/// What a line says or sends.
fn said_in(line: &Line) -> Vec<String> {
    let reply = match &line.kind {
        LineKind::User(text) | LineKind::Answer(text) => return vec![text.clone()],
        LineKind::Types { text, until } => return vec![text.clone(), until.clone()],
        LineKind::Reply(reply) => reply,
    };
    let mut said = reply.expect.holds.clone();
    said.extend(reply.expect.lacks.iter().cloned());
    for speech in std::iter::once(&reply.speech).chain(&reply.otherwise) {
        said.extend(speech.thinking.iter().chain(&speech.say).cloned());
        for call in &speech.calls {
            said.extend(call.input.values().map(|value| value.to_string()));
        }
    }
    said
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
        if let Some(why) = files::leads_out(file) {
            faults.add_at_line(line, format!("`fill` names `{file}`: {why}"));
            continue;
        }
        let path = match file.strip_prefix("~/") {
            Some(inside) => folder.join("home").join(inside),
            None => folder.join("workspace").join(file),
        };
        let content = match files::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(wrong) => {
                let path = path.display();
                faults.add_at_line(
                    line,
                    format!("`fill` names a file that cannot be read: {path}: {wrong}"),
                );
                continue;
            }
        };
        check_repeats(scene, file, &content, line, faults);
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

/// A line that is repeated `<<name * text>>` times must stay within bounds.
fn check_repeats(scene: &Scene, file: &str, content: &str, line: usize, faults: &mut Faults) {
    let most = i64::try_from(MOST_LINES).unwrap_or(i64::MAX);
    for (name, draw) in &scene.random {
        let Draw::Int(_, below) = draw else { continue };
        if *below - 1 > most && content.contains(&format!("<<{name} * ")) {
            faults.add_at_line(
                line,
                format!("{file} repeats a line `<<{name}>>` times: at most {MOST_LINES} may be"),
            );
        }
    }
}

fn check_parts(scene: &Scene, faults: &mut Faults) {
    for rule in &scene.verify {
        let (Check::Request { part, .. }
        | Check::CacheRead { part, .. }
        | Check::Tokens { part, .. }
        | Check::Prefix { part }) = &rule.check
        else {
            continue;
        };
        if !scene.parts.iter().any(|known| known.name == *part) {
            faults.add_at_line(rule.at, format!("there is no part `{part}`"));
        }
    }
}
