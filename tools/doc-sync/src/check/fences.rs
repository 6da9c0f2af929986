//! The rule `fence`: code that a page shows has an origin.

use super::Checked;
use crate::fault::Fault;
use crate::markdown::CodeBlock;

/// The mark of a block that shows no code of the project.
const ILLUSTRATION: &str = "illustration";

pub fn faults(page: &Checked) -> Vec<Fault> {
    let outside =
        page.outline.code_blocks.iter().filter(|block| !page.is_generated(block.range.start));
    outside.filter_map(|block| fault(page, block)).collect()
}

fn fault(page: &Checked, block: &CodeBlock) -> Option<Fault> {
    let text = match &block.info {
        None => {
            "an indented block has no origin; fence it and write its origin above it, or end \
                 the indentation"
        }
        Some(info) if words(info).any(|word| word == ILLUSTRATION) => return None,
        Some(info) if words(info).next() == Some("sh") => return None,
        Some(_) => {
            "this block has no origin; write one above it (`<!-- doc-sync item … -->`) in \
                    its place, or `,illustration` behind its language"
        }
    };
    Some(page.fault_at(block.range.start, "fence", text))
}

/// The words of a fence: `text,illustration` has two.
pub fn words(info: &str) -> impl Iterator<Item = &str> {
    info.split([',', ' ']).filter(|word| !word.is_empty())
}
