//! The line above a block of code: where the code stands, and whether it is new.

use crate::sources::{Item, Kind, Source};

use super::At;

/// `src/agent.rs` in code, with the step before it where it is not the chapter's own.
pub fn file(at: &At, path: &str) -> String {
    match at.is_elsewhere() {
        true => format!("step {:02}, `{path}`", at.step.number),
        false => format!("`{path}`"),
    }
}

/// `, in `impl Agent`, after `new`` for whole items; nothing where there is nothing to say.
pub fn of_items(source: &Source, items: &[&Item]) -> String {
    let Some(first) = items.first() else { return String::new() };
    let follow = items
        .windows(2)
        .all(|pair| source.before(pair[1]).is_some_and(|before| before.lines == pair[0].lines));
    if !follow {
        return format!(": {}", names(items));
    }
    if first.kind == Kind::Head {
        return ", at the top".into();
    }
    let holder = source.holder(first);
    let mut place = holder.map(|holder| format!(", in `{}`", shown(holder))).unwrap_or_default();
    match source.before(first) {
        Some(before) if before.kind == Kind::Head => {}
        Some(before) => place.push_str(&format!(", after `{}`", before.name)),
        None if holder.is_some() => place.push_str(", first"),
        None => {}
    }
    place
}

/// `, in `Agent::run`` for a part of items.
pub fn inside(items: &[&Item]) -> String {
    match items {
        [] => String::new(),
        [item] if item.kind == Kind::Head => ", at the top".into(),
        _ => format!(", in {}", names(items)),
    }
}

fn shown(holder: &Item) -> String {
    match holder.kind {
        Kind::Trait => format!("trait {}", holder.name),
        Kind::Mod => format!("mod {}", holder.name),
        _ => holder.name.clone(),
    }
}

/// `` `a`, `b` and `c` ``
pub fn names(items: &[&Item]) -> String {
    let name = |item: &&Item| match item.kind {
        Kind::Head => "the head".to_string(),
        _ => format!("`{}`", item.full_name()),
    };
    let mut names: Vec<String> = items.iter().map(name).collect();
    names.dedup();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

/// ` · new`, ` · changed` or ` · as in step 02`, by how many of the lines are new; nothing in the
/// first step, where all are.
pub fn state(at: &At, lines: usize, added: usize) -> String {
    match at.before() {
        None => String::new(),
        Some(_) if added >= lines => " · new".into(),
        Some(before) if added == 0 => format!(" · as in step {:02}", before.number),
        Some(_) => " · changed".into(),
    }
}
