//! Step 07: how full the window is at each call.

use anyhow::{Result, bail};

use super::canvas::{Area, Canvas, MARGIN, TEXT, Tone, WIDTH, number};
use super::data::{Data, Request};

const TOP: f64 = 64.0;
const HEIGHT: f64 = 250.0;
/// Room for the numbers at the left.
const SCALE: f64 = 58.0;
/// Where a summary is due, in percent.
const DUE: f64 = 85.0;

pub fn draw(data: &Data) -> Result<String> {
    let calls = Calls::of(data);
    if data.usable == 0 || calls.list.is_empty() {
        bail!("the run does not say how full its window is");
    }
    let mut canvas = Canvas::new(
        "The fill of the window by call",
        "A column for each call, as high as the request has tokens, below the line of what the \
         window can hold. A dashed line at 85 percent says where a summary is due; where one was \
         made, the next column is low again.",
    );
    let title = "Tokens in the window, a column a call";
    canvas.text(MARGIN, 32.0, title, TEXT.bold());
    scale(&mut canvas, data.usable);
    let room = WIDTH - 2.0 * MARGIN - SCALE;
    let step = room / calls.list.len() as f64;
    let base = TOP + HEIGHT;
    for (at, call) in calls.list.iter().enumerate() {
        let high = call.tokens as f64 / data.usable as f64 * HEIGHT;
        let x = MARGIN + SCALE + at as f64 * step;
        let (read, width) = (call.read as f64 / data.usable as f64 * HEIGHT, step - 6.0);
        if call.read > 0 {
            canvas.bar(Area(x + 3.0, base - read, width, read), Tone::Good);
        }
        canvas.bar(Area(x + 3.0, base - high, width, high - read), Tone::Ask);
        if call.is_compacted {
            let due = data.due as f64 / data.usable as f64 * HEIGHT;
            let (from, to) = (base - due, base - high);
            canvas.ghost(Area(x + 3.0, from, width, (to - from).max(0.0)), Tone::Bad);
            canvas.arrow((x, base + 26.0), (x, base + 4.0), Tone::Bad);
        }
    }
    canvas.line((MARGIN + SCALE, base), (WIDTH - MARGIN, base), Tone::Plain);
    Ok(legend(canvas, &calls, base, data.due))
}

struct Call {
    tokens: u64,
    read: u64,
    /// The history before it was made into a summary.
    is_compacted: bool,
}

struct Calls {
    list: Vec<Call>,
}

impl Calls {
    /// The calls of the main conversation; a summary in between marks the next one.
    fn of(data: &Data) -> Calls {
        let mut list = Vec::new();
        let mut is_compacted = false;
        for request in data.requests.iter().filter(|request| request.status == 200) {
            if request.part == "main" {
                list.push(Call { tokens: tokens(request), read: request.read, is_compacted });
                is_compacted = false;
            } else {
                is_compacted = true;
            }
        }
        Calls { list }
    }
}

fn tokens(request: &Request) -> u64 {
    request.tokens()
}

fn scale(canvas: &mut Canvas, usable: u64) {
    let small = TEXT.small().right();
    let at = |percent: f64| TOP + HEIGHT * (1.0 - percent / 100.0);
    let line = |y: f64| ((MARGIN + SCALE, y), (WIDTH - MARGIN, y));
    let (from, to) = line(at(100.0));
    canvas.line(from, to, Tone::Plain);
    let (from, to) = line(at(DUE));
    canvas.dashes(from, to, Tone::Bad);
    for (percent, text, tone) in [
        (100.0, number(usable), Tone::Plain),
        (DUE, "85 %".to_string(), Tone::Bad),
        (0.0, "0".to_string(), Tone::Plain),
    ] {
        canvas.text(MARGIN + SCALE - 8.0, at(percent) + 4.5, &text, small.tone(tone));
    }
}

fn legend(mut canvas: Canvas, calls: &Calls, base: f64, due: u64) -> String {
    let small = TEXT.small();
    let most = calls.list.iter().map(|call| call.tokens).max().unwrap_or_default();
    let y = base + 46.0;
    let mut x = MARGIN;
    for (tone, what, step) in
        [(Tone::Good, "read from the cache", 172.0), (Tone::Ask, "new to it", 96.0)]
    {
        canvas.bar(Area(x, y - 11.0, 12.0, 12.0), tone);
        canvas.text(x + 18.0, y, what, small);
        x += step;
    }
    let y = y + 24.0;
    canvas.arrow((MARGIN + 6.0, y + 2.0), (MARGIN + 6.0, y - 12.0), Tone::Bad);
    let text = format!("{} tokens would have come next; a summary took their place", number(due));
    canvas.text(MARGIN + 18.0, y, &text, small);
    let sum: u64 = calls.list.iter().map(|call| call.tokens).sum();
    let last = format!(
        "{} calls, the largest with {} tokens; all together {}",
        calls.list.len(),
        number(most),
        number(sum)
    );
    canvas.text(MARGIN, y + 24.0, &last, small.tone(Tone::Pale));
    canvas.svg(y + 24.0 + MARGIN)
}
