//! What a request brings for the script: values to capture, and what is not as a line expects it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use crate::place::{Place, tool_use_id};
use crate::request::{all_texts, list, results, short, texts};
use crate::scene::{Call, Expect, LineKind, Part, Reply, Scene};
use crate::values::Values;

/// Compiled patterns; a scene has few.
#[derive(Debug, Default)]
pub struct Patterns {
    compiled: Mutex<HashMap<String, Regex>>,
}

impl Patterns {
    /// The last match in a text: its first group, or the whole.
    fn last_match(&self, pattern: &str, text: &str) -> Option<String> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains_key(pattern) {
            compiled.insert(pattern.to_string(), Regex::new(pattern).ok()?);
        }
        let found = compiled[pattern].captures_iter(text).last()?;
        found.get(1).or(found.get(0)).map(|group| group.as_str().to_string())
    }
}

/// A call of the script with the result that the request holds for it.
struct Answered<'a> {
    call: &'a Call,
    result: Option<&'a Value>,
}

/// Sets every value that results in this request give, up to the place it stands at.
pub fn capture(
    scene: &Scene,
    place: Place,
    body: &Value,
    patterns: &Patterns,
    values: &mut Values,
) {
    let part = &scene.parts[place.part];
    let results = results(body);
    for line in 0..place.line {
        for answered in answered(part, line, &results) {
            let Some(result) = answered.result else { continue };
            capture_from(&answered.call.capture, &texts(&result["content"]), patterns, values);
        }
    }
    if let Some(reply) = reply_at(part, place.line) {
        capture_from(&reply.capture, &all_texts(body), patterns, values);
    }
}

fn capture_from(
    captures: &[(String, String)],
    texts: &[&str],
    patterns: &Patterns,
    values: &mut Values,
) {
    for (name, pattern) in captures {
        let pattern = values.fill_pattern(pattern);
        let found = texts.iter().rev().find_map(|text| patterns.last_match(&pattern, text));
        if let Some(found) = found {
            values.set(name, found);
        }
    }
}

/// What is not as the line at this place expects it; empty if all is.
pub fn misses(
    scene: &Scene,
    place: Place,
    body: &Value,
    patterns: &Patterns,
    values: &Values,
) -> Vec<String> {
    let part = &scene.parts[place.part];
    let mut missed = Vec::new();
    if let Some(before) = calls_before(part, place.line) {
        for answered in answered(part, before, &results(body)) {
            result_misses(&answered, patterns, values, &mut missed);
        }
    }
    if let Some(reply) = reply_at(part, place.line) {
        request_misses(&reply.expect, body, values, &mut missed);
        for (name, pattern) in &reply.capture {
            let pattern = values.fill_pattern(pattern);
            if !all_texts(body).iter().any(|text| patterns.last_match(&pattern, text).is_some()) {
                missed.push(format!("nothing in the request matches `{pattern}` (for <<{name}>>)"));
            }
        }
    }
    missed
}

pub fn reply_at(part: &Part, line: usize) -> Option<&Reply> {
    match &part.lines.get(line)?.kind {
        LineKind::Reply(reply) => Some(reply),
        _ => None,
    }
}

/// The reply just before, where no user line comes between.
fn calls_before(part: &Part, line: usize) -> Option<usize> {
    let before = (0..line)
        .rev()
        .find(|index| matches!(part.lines[*index].kind, LineKind::Reply(_) | LineKind::User(_)))?;
    reply_at(part, before).map(|_| before)
}

/// The calls that were really made at this line: its own, or those of `otherwise`.
fn answered<'a>(
    part: &'a Part,
    line: usize,
    results: &HashMap<&str, &'a Value>,
) -> Vec<Answered<'a>> {
    let Some(reply) = reply_at(part, line) else { return Vec::new() };
    let find = |calls: &'a [Call], otherwise: bool| -> Vec<Answered<'a>> {
        let id = |number| tool_use_id(&part.name, line, number, otherwise);
        let calls = calls.iter().enumerate();
        let result = |number| results.get(id(number).as_str()).copied();
        calls.map(|(n, call)| Answered { call, result: result(n) }).collect()
    };
    if let Some(other) = &reply.otherwise {
        let answered = find(&other.calls, true);
        if answered.iter().any(|answered| answered.result.is_some()) {
            return answered;
        }
    }
    find(&reply.speech.calls, false)
}

fn result_misses(
    answered: &Answered<'_>,
    patterns: &Patterns,
    values: &Values,
    missed: &mut Vec<String>,
) {
    let call = answered.call;
    let expects_nothing = call.returns.is_empty()
        && call.lacks.is_empty()
        && call.error.is_none()
        && call.capture.is_empty();
    if expects_nothing {
        return;
    }
    let tool = format!("the result of {} (line {})", call.tool, call.at);
    let Some(result) = answered.result else {
        missed.push(format!("{tool} is not in the request"));
        return;
    };
    let text = texts(&result["content"]).join("\n");
    let shown = short(&text);
    for wanted in call.returns.iter().map(|wanted| values.fill(wanted)) {
        if !text.contains(&wanted) {
            missed.push(format!("{tool} must hold “{wanted}”, but begins “{shown}”"));
        }
    }
    for unwanted in call.lacks.iter().map(|unwanted| values.fill(unwanted)) {
        if text.contains(&unwanted) {
            missed.push(format!("{tool} must not hold “{unwanted}”, but does"));
        }
    }
    missed.extend(error_missed(call, result, &tool, &shown));
    for (name, pattern) in &call.capture {
        let pattern = values.fill_pattern(pattern);
        if patterns.last_match(&pattern, &text).is_none() {
            missed.push(format!(
                "nothing in {tool} matches `{pattern}` (for <<{name}>>); it begins “{shown}”"
            ));
        }
    }
}

fn error_missed(call: &Call, result: &Value, tool: &str, shown: &str) -> Option<String> {
    match (call.error?, result["is_error"] == true) {
        (true, false) => Some(format!("{tool} must be an error, but is “{shown}”")),
        (false, true) => Some(format!("{tool} is an error: “{shown}”")),
        _ => None,
    }
}

fn request_misses(expect: &Expect, body: &Value, values: &Values, missed: &mut Vec<String>) {
    let all = all_texts(body);
    for wanted in expect.holds.iter().map(|wanted| values.fill(wanted)) {
        if !all.iter().any(|text| text.contains(&wanted)) {
            missed.push(format!("the request must hold “{wanted}”, but does not"));
        }
    }
    for unwanted in expect.lacks.iter().map(|unwanted| values.fill(unwanted)) {
        if all.iter().any(|text| text.contains(&unwanted)) {
            missed.push(format!("the request must not hold “{unwanted}”, but does"));
        }
    }
    let offered: Vec<&str> =
        list(body, "tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    for wanted in &expect.tools {
        if !offered.contains(&wanted.as_str()) {
            missed.push(format!(
                "the tool {wanted} must be offered; offered are: {}",
                offered.join(", ")
            ));
        }
    }
}
