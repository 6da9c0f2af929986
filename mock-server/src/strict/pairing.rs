//! Calls and results: every call has its result in the next message, every result its call before.

use std::collections::HashSet;

use serde_json::Value;

use super::Broken;
use crate::request::{Content, content, is_type, messages};

/// Messages of one role in a row are one message to the API.
fn merged(body: &Value) -> Vec<(usize, &str, Vec<&Value>)> {
    let mut merged: Vec<(usize, &str, Vec<&Value>)> = Vec::new();
    for (index, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        // A string stands for a text block; its text does not matter here.
        let all: Vec<&Value> = match content(&message["content"]) {
            Content::Text(_) => vec![&message["content"]],
            Content::Blocks(blocks) => blocks.iter().collect(),
        };
        match merged.last_mut() {
            Some((_, last, blocks)) if *last == role => blocks.extend(all),
            _ => merged.push((index, role, all)),
        }
    }
    merged
}

/// Every call has its result in the next message, every result its call in the one before.
pub fn check(body: &Value) -> Broken {
    let all = merged(body);
    let mut seen = HashSet::new();
    for (position, (index, role, blocks)) in all.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| &all[before]);
        results_have_calls(*index, blocks, before.map_or(&[], |(_, _, blocks)| blocks))?;
        if *role != "assistant" {
            continue;
        }
        for (number, block) in blocks.iter().enumerate().filter(|(_, b)| is_type(b, "tool_use")) {
            let id = block["id"].as_str().unwrap_or_default();
            if !seen.insert(id) {
                return Err(format!(
                    "messages.{index}.content.{number}: `tool_use` ids must be unique"
                ));
            }
        }
        let next = all.get(position + 1).map_or(&[][..], |(_, _, blocks)| blocks);
        calls_have_results(*index, blocks, next)?;
    }
    Ok(())
}

fn calls_have_results(index: usize, blocks: &[&Value], next: &[&Value]) -> Broken {
    let calls: Vec<usize> = (0..blocks.len()).filter(|i| is_type(blocks[*i], "tool_use")).collect();
    let Some(last) = calls.last() else { return Ok(()) };
    let text_follows = blocks[*last..].iter().any(|block| is_text(block))
        || blocks[calls[0]..*last].iter().any(|block| is_text(block));
    let results = next.iter().filter(|block| is_type(block, "tool_result"));
    let answered: HashSet<&str> =
        results.filter_map(|block| block["tool_use_id"].as_str()).collect();
    let missing: Vec<&str> = calls
        .iter()
        .map(|call| blocks[*call]["id"].as_str().unwrap_or_default())
        .filter(|id| text_follows || !answered.contains(id))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        missing.join(", ")
    ))
}

fn is_text(block: &Value) -> bool {
    block.is_string() || is_type(block, "text")
}

fn results_have_calls(index: usize, blocks: &[&Value], before: &[&Value]) -> Broken {
    let calls = before.iter().filter(|block| is_type(block, "tool_use"));
    let called: HashSet<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
    let mut seen = HashSet::new();
    for (number, block) in blocks.iter().enumerate().filter(|(_, b)| is_type(b, "tool_result")) {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !called.contains(id) {
            return Err(format!(
                "messages.{index}.content.{number}: unexpected `tool_use_id` found in \
                 `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding \
                 `tool_use` block in the previous message."
            ));
        }
        if !seen.insert(id) {
            return Err(format!(
                "messages.{index}.content.{number}: each tool_use must have a single result. \
                 Found multiple `tool_result` blocks with id: {id}"
            ));
        }
    }
    Ok(())
}
