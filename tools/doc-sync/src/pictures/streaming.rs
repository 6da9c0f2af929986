//! Step 05: one axis of time, and on it the wire, the screen and the tools of the first turn.

use anyhow::{Context, Result};
use serde_json::Value;

use super::canvas::{Area, Canvas, MARGIN, TEXT, Tone, WIDTH, number};

/// Where the axis begins, below the names of the rows.
const LEFT: f64 = MARGIN + 6.0;
const RIGHT: f64 = WIDTH - MARGIN - 6.0;
/// The scene's model sends an event so often, in milliseconds.
const PACE: f64 = 30.0;

pub fn draw(times: &str) -> Result<String> {
    let turn = Turn::read(times)?;
    let mut canvas = Canvas::new(
        "Events, text and tools on one axis of time",
        "Three rows over the same milliseconds: the replies as they drip over the wire, the words as \
         they stand on the screen, and the three reads, which begin before the reply has ended.",
    );
    canvas.text(MARGIN, 32.0, "The first turn, in milliseconds", TEXT.bold());
    let mut y = 52.0;
    y = wire(&mut canvas, &turn, y);
    y = screen(&mut canvas, &turn, y);
    y = tools(&mut canvas, &turn, y);
    axis(&mut canvas, &turn, y);
    Ok(canvas.svg(y + 54.0 + MARGIN))
}

/// What happened until the first turn was over.
struct Turn {
    /// Status, begin, end.
    replies: Vec<(u64, f64, f64)>,
    /// Words of the model on the screen.
    words: Vec<f64>,
    /// What is read, begin, and when the result stands on the screen.
    reads: Vec<(String, f64, f64)>,
    end: f64,
}

impl Turn {
    fn read(times: &str) -> Result<Turn> {
        let json: Value = serde_json::from_str(times).context("the stored times are no JSON")?;
        let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
        let pieces: Vec<(f64, String)> = list("screen")
            .iter()
            .map(|piece| (piece[0].as_f64().unwrap_or(0.0), text(&piece[1])))
            .collect();
        let shown: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        let until = shown.find("you ▸").unwrap_or(shown.len());
        let stands = Stands { pieces: &pieces, shown: &shown };
        let end = stands.at(until.saturating_sub(1));
        let reads = stands.reads();
        let mut replies = Vec::new();
        for request in list("requests") {
            let [came, gone] = ["came", "gone"].map(|name| request[name].as_f64());
            let Some(came) = came.filter(|came| *came < end) else { continue };
            replies.push((request["status"].as_u64().unwrap_or(0), came, gone.unwrap_or(came)));
        }
        let words = stands.words(&replies);
        anyhow::ensure!(
            replies.len() > 1 && !reads.is_empty(),
            "the run's first turn reads nothing"
        );
        Ok(Turn { replies, words, reads, end })
    }

    fn x(&self, time: f64) -> f64 {
        LEFT + time / self.end * (RIGHT - LEFT)
    }
}

/// The screen, and when each byte of it stood there.
struct Stands<'a> {
    pieces: &'a [(f64, String)],
    shown: &'a str,
}

impl Stands<'_> {
    /// When the byte at this place stood on the screen.
    fn at(&self, byte: usize) -> f64 {
        let mut length = 0;
        for (time, text) in self.pieces {
            length += text.len();
            if byte < length {
                return *time;
            }
        }
        self.pieces.last().map_or(0.0, |(time, _)| *time)
    }

    /// Each read's line with an arrow to the right, and the one with an arrow to the left.
    fn reads(&self) -> Vec<(String, f64, f64)> {
        let calls = self.shown.match_indices("→ read_file  ");
        let read = |(at, arrow): (usize, &str)| {
            let file = self.shown[at + arrow.len()..].lines().next()?;
            let answer = self.shown.find(&format!("← read_file  {file}"))?;
            Some((file.to_string(), self.at(at), self.at(answer)))
        };
        calls.filter_map(read).collect()
    }

    /// The times at which the model's words stood there: those between its bullet and the line's
    /// end in each reply.
    fn words(&self, replies: &[(u64, f64, f64)]) -> Vec<f64> {
        let mut words = Vec::new();
        let Some((_, _, last)) = replies.last() else { return words };
        for (at, _) in self.shown.match_indices('●') {
            let speech = &self.shown[at..];
            let length = speech.find("\n  →").or(speech.find("\n  ·")).unwrap_or(speech.len());
            let places = speech[..length].match_indices(' ').map(|(space, _)| at + space);
            words.extend(places.map(|place| self.at(place)).filter(|time| time <= last));
        }
        words
    }
}

fn name(canvas: &mut Canvas, y: f64, name: &str, says: &str) {
    canvas.text(MARGIN, y, name, TEXT.bold().small());
    canvas.text(WIDTH - MARGIN, y, says, TEXT.small().right().tone(Tone::Pale));
}

fn wire(canvas: &mut Canvas, turn: &Turn, y: f64) -> f64 {
    name(canvas, y + 4.0, "on the wire", "a line an event, where they are paced");
    let top = y + 14.0;
    for (status, begin, end) in &turn.replies {
        let (x, width) = (turn.x(*begin), (turn.x(*end) - turn.x(*begin)).max(5.0));
        let tone = if *status == 200 { Tone::Model } else { Tone::Bad };
        canvas.bar(Area(x, top, width, 26.0), tone);
        // Only the first reply of the turn has a pace.
        let is_paced = *begin == turn.replies[0].1;
        let events = if is_paced { ((end - begin) / PACE) as usize } else { 0 };
        for event in 1..events {
            let x = turn.x(begin + event as f64 * PACE);
            canvas.line((x, top + 5.0), (x, top + 21.0), tone);
        }
    }
    let failed = turn.replies.iter().find(|(status, ..)| *status != 200);
    if let Some((status, begin, _)) = failed {
        let says = format!("{status}, then once more");
        // It comes late in the turn: to its right there is no room.
        let x = turn.x(*begin) - 6.0;
        canvas.text(x, top + 42.0, &says, TEXT.small().right().tone(Tone::Bad));
    }
    top + 62.0
}

fn screen(canvas: &mut Canvas, turn: &Turn, y: f64) -> f64 {
    name(canvas, y + 4.0, "on the screen", "a line a word");
    let top = y + 14.0;
    canvas.bar(Area(LEFT, top, RIGHT - LEFT, 26.0), Tone::Pale);
    for word in &turn.words {
        let x = turn.x(*word);
        canvas.line((x, top + 4.0), (x, top + 22.0), Tone::User);
    }
    top + 46.0
}

fn tools(canvas: &mut Canvas, turn: &Turn, y: f64) -> f64 {
    name(canvas, y + 4.0, "tools", "from call to result");
    let mut top = y + 14.0;
    for (file, begin, end) in &turn.reads {
        let x = turn.x(*begin);
        canvas.bar(Area(x, top, (turn.x(*end) - x).max(5.0), 22.0), Tone::Tool);
        let says = format!("read_file {file}");
        let (at, look) = match x - LEFT > 190.0 {
            true => (x - 8.0, TEXT.small().right()),
            false => (turn.x(*end) + 8.0, TEXT.small()),
        };
        canvas.text(at, top + 15.5, &says, look);
        top += 28.0;
    }
    let (_, _, end) = turn.replies[0];
    canvas.dashes((turn.x(end), 66.0), (turn.x(end), top + 6.0), Tone::Pale);
    let first = turn.words.first().copied().unwrap_or_default();
    let says = format!(
        "first word after {} ms, first read after {} ms, end of the reply after {} ms",
        number(first as u64),
        number(turn.reads[0].1 as u64),
        number(end as u64)
    );
    canvas.text(MARGIN, top + 62.0, &says, TEXT.small());
    top + 14.0
}

fn axis(canvas: &mut Canvas, turn: &Turn, y: f64) {
    canvas.line((LEFT, y), (RIGHT, y), Tone::Plain);
    let mut time = 0.0;
    while time <= turn.end {
        let x = turn.x(time);
        canvas.line((x, y), (x, y + 5.0), Tone::Plain);
        let look = TEXT.small().tone(Tone::Pale);
        let label = number(time as u64);
        canvas.text(x - 4.0 * label.len() as f64, y + 19.0, &label, look);
        time += 200.0;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
