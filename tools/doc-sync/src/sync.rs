//! `sync`: writes every block anew.
//!
//! A page is cut at its regions; what stands between them is copied byte by byte. A block whose
//! origin cannot be read or made stays as it is, and is named.

use std::fmt;
use std::fs;

use anyhow::{Context, Result};

use crate::book::{Book, Page};
use crate::fault::Fault;
use crate::generate::{Block, generate};
use crate::origin::Verb;
use crate::regions::{self, Region};

pub const END: &str = "<!-- doc-sync end -->";

/// Why a page is not written.
const TORN: &str = "a block written here would not be found again, since the HTML above it is \
                    still open; close that first";

/// What `sync` did.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    /// The pages that were written.
    pub written: Vec<String>,
    /// The blocks that could not be made.
    pub faults: Vec<Fault>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        for page in &self.written {
            writeln!(f, "wrote {page}")?;
        }
        if self.written.is_empty() && self.faults.is_empty() {
            writeln!(f, "every block is as its origin gives it")?;
        }
        Ok(())
    }
}

/// Writes the pages whose blocks are not what their origins give.
pub fn sync(book: &Book) -> Result<Report> {
    let mut report = Report::default();
    for page in &book.pages {
        let file = book.shown(&page.path);
        let blocks = blocks(page, book);
        let bodies: Vec<Option<&str>> = blocks
            .iter()
            .map(|block| block.as_ref().ok().map(|block| block.markdown.as_str()))
            .collect();
        let written = rewrite(&page.text, &page.regions, &bodies);
        let mut fault = |line, text| {
            report.faults.push(Fault { file: file.clone(), line, rule: "block", text });
        };
        let text = match written {
            Ok(text) => text,
            Err(line) => {
                fault(line, TORN.into());
                continue;
            }
        };
        // The lines to name are those of the page as it is written now.
        let (regions, faults) = regions::find(&text);
        faults.into_iter().for_each(|(line, text)| fault(line, text));
        for (region, block) in regions.iter().zip(blocks) {
            if let Err(text) = block {
                fault(region.line, text);
            }
        }
        if text != page.text {
            fs::write(&page.path, text).with_context(|| format!("cannot write {file}"))?;
            report.written.push(file);
        }
    }
    report.faults.sort();
    Ok(report)
}

/// The block of each region of a page, or why there is none.
pub fn blocks(page: &Page, book: &Book) -> Vec<Result<Block, String>> {
    let block = |region: &Region| {
        let origin = region.origin.as_ref().map_err(Clone::clone)?;
        generate(origin, page, book).map_err(|error| format!("{error:#}"))
    };
    page.regions.iter().map(block).collect()
}

/// The same for blocks of the steps' code alone. The others show no line of a step.
pub fn blocks_of_code(page: &Page, book: &Book) -> Vec<Result<Block, String>> {
    let origins = page.regions.iter().filter_map(|region| region.origin.as_ref().ok());
    let of_code = origins.filter(|origin| {
        matches!(
            origin.verb,
            Verb::Item { .. } | Verb::File { .. } | Verb::Diff { .. } | Verb::Rest
        )
    });
    of_code
        .map(|origin| generate(origin, page, book).map_err(|error| format!("{error:#}")))
        .collect()
}

/// The page with the bodies put into its regions; `None` leaves a region as it is. The error is the
/// line of a block that would not be found again in what would be written.
pub fn rewrite(text: &str, regions: &[Region], bodies: &[Option<&str>]) -> Result<String, usize> {
    let mut written = String::with_capacity(text.len());
    let mut copied = 0;
    for (region, body) in regions.iter().zip(bodies) {
        let Some(body) = body.filter(|_| !region.is_torn) else { continue };
        let ending = ending(text, region);
        let has_line_end = text[..region.body.start].ends_with(['\n', '\r']);
        written.push_str(&text[copied..region.body.start]);
        if !has_line_end {
            written.push_str(ending);
        }
        written.push_str(&framed(body, ending));
        if !region.has_end {
            written.push_str(END);
            written.push_str(if has_line_end { ending } else { "" });
        }
        copied = region.body.end;
    }
    written.push_str(&text[copied..]);
    let (found, _) = regions::find(&written);
    for (at, (region, body)) in regions.iter().zip(bodies).enumerate() {
        let (body, has_end) = match body.filter(|_| !region.is_torn) {
            Some(body) => (framed(body, ending(text, region)), true),
            None => (text[region.body.clone()].to_string(), region.has_end),
        };
        let stands = found.get(at).is_some_and(|found| {
            found.origin == region.origin
                && found.has_end == has_end
                && written[found.body.clone()] == body
        });
        if !stands || found.len() != regions.len() {
            return Err(region.line);
        }
    }
    Ok(written)
}

/// What stands between the opening's line and the end's: the block with an empty line on either
/// side, in the line endings of the page.
pub fn framed(body: &str, ending: &str) -> String {
    format!("\n{}\n\n", body.trim_end()).replace('\n', ending)
}

/// How the lines around a region end.
pub fn ending(text: &str, region: &Region) -> &'static str {
    let opening = &text[..region.body.start];
    let sample = if opening.ends_with(['\n', '\r']) { opening } else { first_line(text) };
    match sample {
        _ if sample.ends_with("\r\n") => "\r\n",
        _ if sample.ends_with('\r') => "\r",
        _ => "\n",
    }
}

fn first_line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or(text)
}
