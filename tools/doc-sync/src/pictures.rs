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
