//! Several items in one fence. Where some stand in an `impl` and some do not, those that do keep it
//! around them, with `// …` for its other members; where all stand in the same one, the line above
//! the fence names it, and they are moved to the margin.

use super::item::dedented;
use crate::sources::{Item, Source};

const GAP: &str = "    // …";

/// The items' text, an empty line between.
pub fn together(source: &Source, items: &[&Item]) -> String {
    let holders: Vec<Option<&Item>> = items.iter().map(|item| source.holder(item)).collect();
    let is_mixed = holders.windows(2).any(|pair| !is_same(pair[0], pair[1]));
    let mut texts = Vec::new();
    let mut at = 0;
    while at < items.len() {
        let same = holders[at..].iter().take_while(|holder| is_same(**holder, holders[at]));
        let end = at + same.count();
        match holders[at] {
            Some(holder) if is_mixed => texts.push(framed(source, holder, &items[at..end])),
            _ => texts.extend(items[at..end].iter().map(|item| dedented(source, &item.lines))),
        }
        at = end;
    }
    texts.join("\n\n")
}

fn is_same(a: Option<&Item>, b: Option<&Item>) -> bool {
    a.map(|item| &item.lines) == b.map(|item| &item.lines)
}

/// Members within the first and the last line of what holds them.
fn framed(source: &Source, holder: &Item, members: &[&Item]) -> String {
    let lines = source.lines();
    let place = |member: &Item| holder.inner.iter().position(|inner| inner.lines == member.lines);
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(0);
    for member in members {
        let this = place(member);
        if this != next {
            parts.push(GAP.into());
        }
        parts.push(lines[member.lines.clone()].join("\n"));
        next = this.map(|this| this + 1);
    }
    if next != Some(holder.inner.len()) {
        parts.push(GAP.into());
    }
    let header = lines[holder.header(&lines)].join("\n");
    let text =
        format!("{}\n{}\n{}", header.trim_end(), parts.join("\n\n"), lines[holder.lines.end - 1]);
    // A gap needs no empty line beside it.
    text.replace(&format!("\n\n{GAP}\n\n"), &format!("\n{GAP}\n"))
        .replace(&format!("{GAP}\n\n"), &format!("{GAP}\n"))
        .replace(&format!("\n\n{GAP}"), &format!("\n{GAP}"))
}
