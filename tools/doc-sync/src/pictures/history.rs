//! Step 00: each request carries the whole conversation again, and two messages more.

use anyhow::{Result, bail};

use super::canvas::{
    Area, Canvas, MARGIN, TEXT, Tone, WIDTH, fitted, line_height, number, wrapped,
};
use super::data::{Block, Data, Message};

const GAP: f64 = 16.0;
const CARD: f64 = 62.0;
const TOP: f64 = 76.0;

pub fn draw(data: &Data) -> Result<String> {
    if data.requests.len() < 2 {
        bail!("the run has fewer than two requests");
    }
    let mut canvas = Canvas::new(
        "The growing list of messages",
        "One column for each request. A column holds all messages of the column before it, in pale, \
         and below them what is new: the model's reply and our result.",
    );
    canvas.text(MARGIN, 32.0, "What each request holds", TEXT.bold());
    let count = data.requests.len() as f64;
    let width = (WIDTH - 2.0 * MARGIN - (count - 1.0) * GAP) / count;
    let mut seen: Vec<&Message> = Vec::new();
    let mut bottom = TOP;
    for (at, request) in data.requests.iter().enumerate() {
        let x = MARGIN + at as f64 * (width + GAP);
        canvas.text(x, 60.0, &format!("request {}", at + 1), TEXT.tone(Tone::Pale));
        let mut y = TOP;
        for message in &seen {
            card(&mut canvas, Area(x, y, width, CARD), message, false);
            y += CARD + 8.0;
        }
        for message in &request.new {
            card(&mut canvas, Area(x, y, width, CARD), message, true);
            y += CARD + 8.0;
            seen.push(message);
        }
        y += 10.0;
        canvas.text(x, y + 4.0, &counted(request.messages, "message"), TEXT.small().bold());
        let tokens = format!("{} tokens", number(request.tokens()));
        canvas.text(x, y + 22.0, &tokens, TEXT.small().tone(Tone::Pale));
        bottom = bottom.max(y + 22.0);
    }
    Ok(answer(canvas, data, bottom))
}

/// Below the columns, the reply that ends the loop.
fn answer(mut canvas: Canvas, data: &Data, bottom: f64) -> String {
    let says = data.requests.last().map_or(&[][..], |request| &request.says);
    let text: Vec<&str> = says.iter().map(|block| block.text.as_str()).collect();
    let y = bottom + 20.0;
    let look = TEXT.small();
    let width = WIDTH - 2.0 * MARGIN - 20.0;
    let lines = wrapped(&text.join(" "), width, look);
    let height = 30.0 + lines.len() as f64 * line_height(look);
    canvas.area(Area(MARGIN, y, WIDTH - 2.0 * MARGIN, height), Tone::Model);
    let title = "the last reply asks for nothing, and the loop ends";
    canvas.text(MARGIN + 10.0, y + 20.0, title, look.bold().tone(Tone::Model));
    canvas.paragraph(MARGIN + 10.0, y + 39.0, width, &text.join(" "), look);
    canvas.svg(y + height + MARGIN)
}

fn card(canvas: &mut Canvas, area: Area, message: &Message, is_new: bool) {
    let Area(x, y, width, _) = area;
    let (who, tone) = who(message);
    match is_new {
        true => canvas.area(area, tone),
        false => canvas.ghost(area, Tone::Pale),
    }
    let tone = if is_new { tone } else { Tone::Pale };
    let look = TEXT.small().tone(tone);
    canvas.text(x + 9.0, y + 18.0, who, look.bold());
    let shown = message.blocks.last().map(shown).unwrap_or_default();
    for (at, line) in shown.iter().enumerate() {
        let y = y + 36.0 + 17.0 * at as f64;
        canvas.text(x + 9.0, y, &fitted(line, width - 16.0, look), look);
    }
}

fn who(message: &Message) -> (&'static str, Tone) {
    let is_result = message.blocks.iter().any(|block| block.kind == "tool_result");
    match (message.is_user, is_result) {
        (true, true) => ("user", Tone::Tool),
        (true, false) => ("user", Tone::User),
        (false, _) => ("assistant", Tone::Model),
    }
}

/// Two lines of a message: what it is, and of what.
fn shown(block: &Block) -> Vec<String> {
    match block.kind.as_str() {
        "tool_use" => {
            let path = block.argument("path").unwrap_or_default();
            vec![format!("calls {}", block.name), path]
        }
        "tool_result" => {
            let text = block.first_line().to_string();
            vec!["tool_result".to_string(), text]
        }
        _ => {
            let first = wrapped(&block.text, 135.0, TEXT.small()).swap_remove(0);
            let rest = block.text[first.len()..].trim_start().to_string();
            vec![first, rest]
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
