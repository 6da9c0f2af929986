//! Step 02: the checks that an edit passes before it is written, and where this run's edits ended.

use anyhow::{Context, Result};

use super::canvas::{Canvas, MARGIN, TEXT, Tone, WIDTH};
use super::data::{Block, Data};
use super::flow::{self, Station};

pub fn draw(data: &Data) -> Result<String> {
    let edits = data.calls("edit_file");
    edits.first().context("the run has no edit")?;
    let mut canvas = Canvas::new(
        "The checks of an edit",
        "From top to bottom: is the file editable, was it read, is it as it was read, is it UTF-8, \
         does the old text stand there once, does anything change; then it is written. To the right, \
         what the model was told where an edit of this run ended.",
    );
    canvas.text(MARGIN, 32.0, "The checks of an edit", TEXT.bold());
    canvas.text(WIDTH - MARGIN, 32.0, "where it ended", TEXT.small().right().tone(Tone::Pale));
    let end = flow::draw(&mut canvas, 50.0, &stations(&edits));
    Ok(canvas.svg(end + MARGIN))
}

fn stations(edits: &[(Block, Block)]) -> Vec<Station> {
    // In the order of `Edits::change`; last, the words of the refusal. Which edits are on their way:
    let mut on: Vec<usize> = (1..=edits.len()).collect();
    let checks = [
        ("is it editable?", "a file, writable, not long", "read-only"),
        ("was it read?", "in this session", "was not read"),
        ("is it as it was read?", "its content has the same hash", "has changed since you read it"),
        ("is it UTF-8?", "an edit harms other bytes", "is not UTF-8"),
        (
            "does the text stand there once?",
            "old_text, in the file as it is now",
            "the text stands",
        ),
        ("does anything change?", "", "nothing would change"),
    ];
    let mut stations = vec![
        Station::new(Tone::Model, "the model calls edit_file", "path, old_text, new_text")
            .goes_on(&named(&on)),
    ];
    for (title, detail, words) in checks {
        let fails = |number: &usize| {
            let result = &edits[number - 1].1;
            result.is_error && result.text.contains(words)
        };
        let (out, rest): (Vec<usize>, Vec<usize>) = on.iter().copied().partition(fails);
        on = rest;
        let station = Station::new(Tone::Plain, title, detail).goes_on(&named(&on));
        stations.push(match out.first() {
            Some(first) => {
                station.leaves(&format!("{}: {}", named(&out), told(&edits[first - 1].1)))
            }
            None => station,
        });
    }
    let detail = "a new file beside it, then one rename";
    stations.push(Station::new(Tone::Tool, "it is written", detail).goes_on(&named(&on)));
    let shown = on.first().map(|number| edits[number - 1].1.first_line()).unwrap_or_default();
    stations.push(Station::new(Tone::Good, shown, "the change goes back as a diff"));
    stations
}

/// Without the word that every error begins with.
fn told(result: &Block) -> String {
    let line = result.first_line();
    line.strip_prefix("error: ").unwrap_or(line).replace('`', "")
}

/// `edits 1, 2, 3`
fn named(numbers: &[usize]) -> String {
    let shown: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match numbers.len() {
        0 => String::new(),
        1 => format!("edit {}", shown[0]),
        _ => format!("edits {}", shown.join(", ")),
    }
}
