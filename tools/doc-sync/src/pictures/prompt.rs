//! Step 03: the order of what a request holds, and what the cache keeps of it from call to call.

use anyhow::{Result, bail};

use super::canvas::{Area, Canvas, MARGIN, SMALL, TEXT, Tone, WIDTH, fitted, number};
use super::data::{Data, Layer};

const LEFT: f64 = 346.0;
const ROW: f64 = 26.0;

pub fn draw(data: &Data) -> Result<String> {
    if data.layers.len() < 3 || data.requests.is_empty() {
        bail!("the run's first request has no layers");
    }
    let mut canvas = Canvas::new(
        "The prompt's layers, and what the cache keeps",
        "Above, the parts of the first request from top to bottom, with the places of the cache \
         marks. Below, a bar for each call: the tokens read from the cache, and those written to it.",
    );
    canvas.text(MARGIN, 32.0, "What a request holds, from its first byte", TEXT.bold());
    let y = layers(&mut canvas, &data.layers, 46.0);
    let end = calls(&mut canvas, data, y + 34.0);
    Ok(canvas.svg(end + MARGIN))
}

fn layers(canvas: &mut Canvas, layers: &[Layer], mut y: f64) -> f64 {
    let small = TEXT.small();
    let mut systems = 0;
    let mut firsts = 0;
    for layer in layers {
        let (what, why, tone) = match layer.name.as_str() {
            "tools" => ("tools", "same in every run", Tone::Tool),
            "system" if systems == 0 => ("our own prompt", "same in every run", Tone::Good),
            "system" => ("environment", "folder, system, day", Tone::Pale),
            _ if firsts == 0 => ("project instructions", "in the first message", Tone::Ask),
            _ => ("what the user says", "and then the history", Tone::User),
        };
        systems += usize::from(layer.name == "system");
        firsts += usize::from(layer.name == "first message");
        let height = 40.0;
        canvas.area(Area(MARGIN, y, LEFT, height), tone);
        canvas.text(MARGIN + 12.0, y + 25.0, what, TEXT.bold().tone(tone));
        let size = format!("{} characters", number(layer.characters));
        canvas.text(MARGIN + LEFT - 10.0, y + 25.0, &size, small.right());
        let why = fitted(why, WIDTH - LEFT - 2.0 * MARGIN - 16.0, small);
        canvas.text(MARGIN + LEFT + 16.0, y + 25.0, &why, small.tone(Tone::Pale));
        y += height + 4.0;
        if layer.marked {
            canvas.dashes((MARGIN, y + 4.0), (WIDTH - MARGIN - 92.0, y + 4.0), Tone::Bad);
            let mark = small.bold().right().tone(Tone::Bad);
            canvas.text(WIDTH - MARGIN, y + 8.5, "cache mark", mark);
            y += 12.0;
        }
    }
    y
}

fn calls(canvas: &mut Canvas, data: &Data, top: f64) -> f64 {
    canvas.text(MARGIN, top, "Tokens by call", TEXT.bold());
    let small = TEXT.small();
    let mut x = WIDTH - MARGIN - 284.0;
    for (tone, what, step) in
        [(Tone::Good, "read from the cache", 158.0), (Tone::Ask, "written to it", 0.0)]
    {
        canvas.bar(Area(x, top - 11.0, 12.0, 12.0), tone);
        canvas.text(x + 18.0, top, what, small);
        x += step + 18.0;
    }
    let most = data.requests.iter().map(|request| request.tokens()).max().unwrap_or(1).max(1);
    let room = WIDTH - 2.0 * MARGIN - 28.0 - 118.0;
    let mut y = top + 14.0;
    for (at, request) in data.requests.iter().enumerate() {
        let wide = |tokens: u64| (tokens as f64 / most as f64 * room).max(0.0);
        let base = y + ROW / 2.0 + SMALL / 3.0;
        let number_of_call = (at + 1).to_string();
        canvas.text(MARGIN + 16.0, base, &number_of_call, small.right().tone(Tone::Pale));
        let x = MARGIN + 28.0;
        let (read, written) = (wide(request.read), wide(request.written + request.fresh));
        if request.read > 0 {
            canvas.bar(Area(x, y + 3.0, read, ROW - 6.0), Tone::Good);
        }
        canvas.bar(Area(x + read, y + 3.0, written, ROW - 6.0), Tone::Ask);
        let says =
            format!("{} + {}", number(request.read), number(request.written + request.fresh));
        canvas.text(WIDTH - MARGIN, base, &says, small.right());
        y += ROW;
    }
    y
}
