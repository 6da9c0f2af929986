//! Rules on the generated blocks: `comment`, `block`, `drift`, `twice`.

use similar::TextDiff;

use super::Checked;
use crate::fault::Fault;
use crate::origin::{Origin, Verb};
use crate::regions::Region;
use crate::sync::{ending, framed};

/// Lines of a drift that are shown.
const LONGEST: usize = 24;

/// What is wrong with the blocks of a page.
pub fn faults(page: &Checked) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, text) in &page.page.faults {
        let rule = if *line <= page.page.front.lines { "front" } else { "comment" };
        faults.push(page.fault(*line, rule, text));
    }
    for (region, block) in page.page.regions.iter().zip(&page.blocks) {
        match (&region.origin, block) {
            (Err(text), _) => faults.push(page.fault(region.line, "comment", text)),
            (Ok(_), Err(text)) => faults.push(page.fault(region.line, "block", text)),
            (Ok(_), Ok(block)) if !region.is_torn => {
                faults.extend(drift(page, region, &block.markdown));
            }
            _ => {}
        }
    }
    faults
}

fn drift(page: &Checked, region: &Region, body: &str) -> Option<Fault> {
    if !region.has_end {
        let text = "this block is not made yet; `cargo run -p doc-sync -- sync` makes it";
        return Some(page.fault(region.line, "drift", text));
    }
    let stands = &page.page.text[region.body.clone()];
    let wanted = framed(body, ending(&page.page.text, region));
    if stands == wanted {
        return None;
    }
    let diff = TextDiff::from_lines(stands, &wanted).unified_diff().context_radius(1).to_string();
    let lines: Vec<&str> = diff.lines().filter(|line| !line.starts_with("@@")).collect();
    let mut text = String::from(
        "this block is not what its origin gives; `cargo run -p doc-sync -- sync` writes it anew",
    );
    for line in lines.iter().take(LONGEST) {
        text.push_str(format!("\n    {line}").trim_end());
    }
    if lines.len() > LONGEST {
        text.push_str(&format!("\n    … {} lines more", lines.len() - LONGEST));
    }
    Some(page.fault(region.line, "drift", text))
}

/// Origins that stand in the book a second time and do not say `again`.
pub fn used_twice(pages: &[Checked]) -> Vec<Fault> {
    let mut seen: Vec<(Option<usize>, &Verb, String)> = Vec::new();
    let mut faults = Vec::new();
    for page in pages {
        for region in &page.page.regions {
            let Ok(Origin { verb, step, again, .. }) = &region.origin else { continue };
            let step = step.or(page.page.front.step);
            let first = seen.iter().find(|(other, known, _)| *other == step && *known == verb);
            match first {
                Some((_, _, place)) if !again => faults.push(page.fault(
                    region.line,
                    "twice",
                    format!("this block stands at {place} too; if both are meant, end this one's origin with `again`"),
                )),
                Some(_) => {}
                None => seen.push((step, verb, format!("{}:{}", page.file, region.line))),
            }
        }
    }
    faults
}
