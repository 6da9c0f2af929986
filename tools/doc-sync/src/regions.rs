//! Where the generated blocks of a page stand.
//!
//! A region begins with a comment `<!-- doc-sync … -->` on a line of its own at the margin and
//! ends with `<!-- doc-sync end -->`. pulldown-cmark says which comments are HTML, so one inside a
//! fenced block is none of ours. A region that has no end yet is empty: its text is still to be
//! made.

use std::ops::Range;

use pulldown_cmark::Event;

use crate::markdown;
use crate::origin::Origin;

const OPEN: &str = "<!-- doc-sync";

#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The line of the opening comment, from 1.
    pub line: usize,
    /// What the opening comment says, or why it cannot be read.
    pub origin: Result<Origin, String>,
    /// The bytes between the opening's line and the end's, if there is an end; empty if not.
    pub body: Range<usize>,
    pub has_end: bool,
    /// Its end is missing though generated text seems to follow. Nothing can be written here
    /// before an author has mended that.
    pub is_torn: bool,
}

/// A comment of ours.
struct Mark {
    at: usize,
    /// One past its line, the line's ending included.
    line_end: usize,
    /// What stands between `<!-- doc-sync` and `-->`.
    text: String,
}

/// The regions of a page in order, and what is wrong with its comments, by line.
pub fn find(text: &str) -> (Vec<Region>, Vec<(usize, String)>) {
    let (marks, mut faults) = marks(text);
    let mut regions: Vec<Region> = Vec::new();
    for mark in marks {
        let line = line_of(text, mark.at);
        if mark.text != "end" {
            let origin = Origin::read(&mark.text).map_err(|error| format!("{error:#}"));
            let body = mark.line_end..mark.line_end;
            regions.push(Region { line, origin, body, has_end: false, is_torn: false });
            continue;
        }
        match regions.last_mut().filter(|region| !region.has_end) {
            Some(region) => {
                region.body.end = mark.at;
                region.has_end = true;
            }
            None => faults.push((
                line,
                "`doc-sync end` ends nothing; delete it, or write the opening comment above it"
                    .into(),
            )),
        }
    }
    for region in regions.iter_mut().filter(|region| !region.has_end) {
        if looks_generated(&text[region.body.start..]) {
            region.is_torn = true;
            faults.push((
                region.line,
                "the end of this block is missing: write `<!-- doc-sync end -->` on a line of its \
                 own behind it, or delete the old block"
                    .into(),
            ));
        }
    }
    faults.sort();
    (regions, faults)
}

fn marks(text: &str) -> (Vec<Mark>, Vec<(usize, String)>) {
    let (mut marks, mut faults) = (Vec::new(), Vec::new());
    for (event, range) in markdown::events(text) {
        let (Event::Html(html) | Event::InlineHtml(html)) = event else { continue };
        if !html.trim_start().starts_with(OPEN) {
            continue;
        }
        let Some(within) = text[range.clone()].find(OPEN) else { continue };
        let at = range.start + within;
        match mark(text, at) {
            Some(mark) => marks.push(mark),
            None => faults.push((
                line_of(text, at),
                "a doc-sync comment stands on one line of its own, at the margin".into(),
            )),
        }
    }
    (marks, faults)
}

/// The comment at this place, if it fills its line.
fn mark(text: &str, at: usize) -> Option<Mark> {
    let before = &text[..at];
    let at_margin = before.is_empty() || before.ends_with(['\n', '\r', '\u{feff}']);
    let line = &text[at..];
    let length = line.find(['\n', '\r']).unwrap_or(line.len());
    let ending = match &line[length..] {
        rest if rest.starts_with("\r\n") => 2,
        "" => 0,
        _ => 1,
    };
    let inner = line[..length].trim_end().strip_prefix(OPEN)?.strip_suffix("-->")?;
    if !at_margin || inner.contains("-->") {
        return None;
    }
    Some(Mark { at, line_end: at + length + ending, text: inner.trim().to_string() })
}

/// Whether what follows an opening is a block that was generated once.
fn looks_generated(following: &str) -> bool {
    let line = following.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    ["```", "~~~", "*`", "<details>"].iter().any(|start| line.starts_with(start))
}

/// The line, from 1, of a byte.
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
