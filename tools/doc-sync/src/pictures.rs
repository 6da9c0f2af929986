//! The chapters' pictures, as SVG. Each is drawn from what its step's own run did.
//!
//! `canvas` is the style, one file a picture the rest. A picture is written by `sync` beside the
//! pages, as `images/NAME.svg`; `check` holds the file against what would be drawn.

mod call;
mod canvas;
mod context;
mod data;
mod edit;
mod flow;
mod history;
mod permissions;
mod prompt;
mod session;
mod streaming;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::book::{Book, Runs};
use crate::near;
use crate::runs::{What, transcript};
use crate::sources;
use data::Data;

/// Draws the picture of a chapter, from its run.
#[derive(Clone, Copy)]
enum Draw {
    FromFigures(fn(&Data) -> Result<String>),
    FromTimes(fn(&str) -> Result<String>),
}

use Draw::{FromFigures, FromTimes};

/// By the step's name without its number.
const PICTURES: [(&str, Draw); 8] = [
    ("loop", FromFigures(history::draw)),
    ("tools", FromFigures(call::draw)),
    ("edit", FromFigures(edit::draw)),
    ("prompt", FromFigures(prompt::draw)),
    ("session", FromFigures(session::draw)),
    ("streaming", FromTimes(streaming::draw)),
    ("permissions", FromFigures(permissions::draw)),
    ("context", FromFigures(context::draw)),
];

/// The image, and its file beside the pages.
pub fn picture(name: &str, alt: &str, book: &Book) -> Result<String> {
    let slug = name.split_once('-').map_or(name, |(_, slug)| slug);
    let Some((_, draw)) = PICTURES.iter().find(|(known, _)| *known == slug) else {
        let known: Vec<&str> = PICTURES.iter().map(|(known, _)| *known).collect();
        bail!("there is no picture {name}{}", near::hint(slug, &known));
    };
    let step = book.steps.iter().find(|step| step.name.ends_with(&format!("-{slug}")));
    let step = step.with_context(|| format!("there is no step that {name} could be drawn from"))?;
    let step = step.number;
    let svg = match draw {
        FromFigures(draw) => draw(&Data::read(&transcript(&What::Figures { step }, book)?)?),
        FromTimes(draw) => draw(&transcript(&What::Times { step }, book)?),
    };
    let svg = svg.with_context(|| format!("{name} cannot be drawn from its run"))?;
    keep(&book.src.join("images").join(format!("{name}.svg")), &svg, book)?;
    Ok(format!("![{alt}](images/{name}.svg)\n"))
}

/// Writes the file where `sync` asks for that; else it has to be the same.
fn keep(path: &PathBuf, svg: &str, book: &Book) -> Result<()> {
    let is_same = path.is_file() && sources::read(path)? == svg;
    if is_same {
        return Ok(());
    }
    let shown = book.shown(path);
    if !matches!(book.runs, Runs::Renewed | Runs::AllRenewed) {
        bail!("{shown} is not what its run gives; `cargo run -p doc-sync -- sync` draws it anew");
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(path, svg).with_context(|| format!("{shown} cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use canvas::{MARGIN, TEXT, WIDTH, width_of};
    use regex::Regex;

    /// What the book's pictures are drawn from, by step.
    fn stored(step: usize, what: &What) -> Option<String> {
        let runs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/runs");
        let text = fs::read_to_string(runs.join(what.file())).ok();
        assert!(text.is_some() || step > 2, "step {step} has a picture");
        text
    }

    fn drawn() -> Vec<(&'static str, String)> {
        let mut drawn = Vec::new();
        for (step, (name, draw)) in PICTURES.iter().enumerate() {
            let svg = match draw {
                FromFigures(draw) => stored(step, &What::Figures { step })
                    .map(|figures| draw(&Data::read(&figures).unwrap()).unwrap()),
                FromTimes(draw) => {
                    stored(step, &What::Times { step }).map(|times| draw(&times).unwrap())
                }
            };
            drawn.extend(svg.map(|svg| (*name, svg)));
        }
        drawn
    }

    #[test]
    fn no_text_of_a_picture_leaves_its_card() {
        let text = Regex::new(
            "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" font-size=\"([0-9.]+)\" fill=\"[^\"]*\" \
             text-anchor=\"(start|end)\"([^>]*)>([^<]*)</text>",
        )
        .unwrap();
        let height = Regex::new("viewBox=\"0 0 560 ([0-9.]+)\"").unwrap();
        for (name, svg) in drawn() {
            let height: f64 = height.captures(&svg).unwrap()[1].parse().unwrap();
            for found in text.captures_iter(&svg) {
                let number = |at: usize| found[at].parse::<f64>().unwrap();
                let (x, y, size) = (number(1), number(2), number(3));
                let look = canvas::Look { size, mono: found[5].contains("class"), ..TEXT };
                let said = found[6].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
                // Our estimate is a tenth more than the letters of most systems.
                let width = width_of(&said, look) * 0.9;
                let (left, right) =
                    if &found[4] == "end" { (x - width, x) } else { (x, x + width) };
                let fits = left >= 4.0 && right <= WIDTH - MARGIN / 2.0 && y < height - 6.0;
                assert!(fits && size >= 13.0, "{name}: {said:?} from {left} to {right} at {y}");
            }
        }
    }

    #[test]
    fn a_picture_says_what_it_shows_to_those_who_cannot_see_it() {
        for (name, svg) in drawn() {
            for part in ["<title id=\"title\">", "<desc id=\"desc\">", "role=\"img\""] {
                assert!(svg.contains(part), "{name} has no {part}");
            }
        }
    }

    #[test]
    fn a_run_that_does_not_do_what_is_drawn_is_an_error_and_no_empty_picture() {
        let nothing = Data::read("{}").unwrap();
        for (name, draw) in PICTURES {
            let drawn = match draw {
                FromFigures(draw) => draw(&nothing),
                FromTimes(draw) => draw("{}"),
            };
            assert!(drawn.is_err(), "{name}");
        }
    }
}
