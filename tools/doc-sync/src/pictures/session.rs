//! Step 04: the session's file, line by line, when the process dies, and what the next process makes
//! of it.

use anyhow::{Context, Result};

use super::canvas::{Area, Canvas, MARGIN, TEXT, Tone, WIDTH, fitted};
use super::data::{Block, Data, Line, Message};

const ROW: f64 = 29.0;
const NAME: f64 = 132.0;

pub fn draw(data: &Data) -> Result<String> {
    let torn = data.session.iter().position(|line| matches!(line, Line::Torn(..)));
    let torn = torn.context("the run's session has no torn line")?;
    let mut canvas = Canvas::new(
        "What the session's file holds when the process dies",
        "The lines of the file from top to bottom. The last one of the first process is torn. Below \
         it stand the lines that the second process has written after it resumed.",
    );
    canvas.text(MARGIN, 32.0, "The session's file, line by line", TEXT.bold());
    let mut y = 46.0;
    for (at, line) in data.session.iter().enumerate() {
        y = row(&mut canvas, y, at + 1, line);
        if at == torn {
            y = process_dies(&mut canvas, y, data);
        }
    }
    Ok(canvas.svg(y + MARGIN - 4.0))
}

fn row(canvas: &mut Canvas, y: f64, number: usize, line: &Line) -> f64 {
    let small = TEXT.small();
    let (name, says, tone) = match line {
        Line::Message(message) => message_of(message),
        Line::Usage => ("usage".to_string(), "the tokens of the reply".to_string(), Tone::Pale),
        Line::Torn(text, _) => (String::new(), text.clone(), Tone::Bad),
    };
    let base = y + ROW / 2.0 + 4.5;
    canvas.text(MARGIN + 18.0, base, &number.to_string(), small.right().tone(Tone::Pale));
    let area = Area(MARGIN + 26.0, y + 2.0, WIDTH - 2.0 * MARGIN - 26.0, ROW - 4.0);
    let x = area.0 + 10.0;
    if let Line::Torn(text, bytes) = line {
        canvas.ghost(area, tone);
        let rest = format!("… torn after {bytes} bytes");
        let look = small.mono().tone(tone);
        canvas.text(x, base, &fitted(text, 270.0, look), look);
        canvas.text(area.0 + area.2 - 10.0, base, &rest, small.bold().right().tone(tone));
        return y + ROW;
    }
    canvas.area(area, tone);
    canvas.text(x, base, &name, small.bold().tone(tone));
    canvas.text(x + NAME, base, &fitted(&says, area.2 - NAME - 18.0, small), small);
    y + ROW
}

/// Whose message it is, and its last block.
fn message_of(message: &Message) -> (String, String, Tone) {
    let last = message.blocks.last();
    let is_result = last.is_some_and(|block| block.kind == "tool_result");
    let (name, tone) = match (message.is_user, is_result) {
        (true, true) => ("user · result", Tone::Tool),
        (true, false) => ("user", Tone::User),
        (false, _) => ("assistant", Tone::Model),
    };
    (name.to_string(), last.map(said).unwrap_or_default(), tone)
}

fn said(block: &Block) -> String {
    match block.kind.as_str() {
        "tool_use" => {
            let command = block.argument("command").or_else(|| block.argument("path"));
            format!("calls {}: {}", block.name, command.unwrap_or_default())
        }
        _ => block.text.replace('\n', " · "),
    }
}

/// The line between the two processes, and what the second one finds out.
fn process_dies(canvas: &mut Canvas, y: f64, data: &Data) -> f64 {
    let small = TEXT.small();
    let top = y + 16.0;
    canvas.dashes((MARGIN, top - 4.0), (WIDTH - MARGIN, top - 4.0), Tone::Bad);
    let text = "the process is killed; the next one reads the file with --resume";
    canvas.text(MARGIN, top + 16.0, text, small.bold().tone(Tone::Bad));
    let call = data.session.iter().rev().find_map(|line| match line {
        Line::Message(message) if !message.is_user => {
            message.blocks.iter().find(|block| block.kind == "tool_use")
        }
        _ => None,
    });
    let says = match call {
        Some(_) => {
            "it leaves the torn line out, and sends “interrupted” for the call without a result"
        }
        None => "it leaves the torn line out",
    };
    canvas.paragraph(MARGIN, top + 36.0, WIDTH - 2.0 * MARGIN, says, small) - 4.0
}
