//! Stations from top to bottom, some with a way out to the right: what both a call and an edit go
//! through.

use super::canvas::{
    Area, Canvas, MARGIN, TEXT, Tone, WIDTH, fitted, line_height, width_of, wrapped,
};

/// The stations stand left, the ways out right.
const LEFT: f64 = 318.0;
const BETWEEN: f64 = 30.0;
pub const RIGHT: f64 = WIDTH - 2.0 * MARGIN - LEFT - BETWEEN;
/// Lines of a way out at the most.
const LINES: usize = 6;

pub struct Station {
    tone: Tone,
    title: String,
    detail: String,
    /// What becomes of whoever leaves here.
    out: Option<(Tone, String)>,
    /// Who goes on below.
    on: String,
}

impl Station {
    pub fn new(tone: Tone, title: &str, detail: &str) -> Station {
        let (title, detail) = (title.to_string(), detail.to_string());
        Station { tone, title, detail, out: None, on: String::new() }
    }

    /// Who fails here is told this.
    pub fn leaves(self, out: &str) -> Station {
        self.leaves_as(Tone::Bad, out)
    }

    pub fn leaves_as(self, tone: Tone, out: &str) -> Station {
        Station { out: Some((tone, out.to_string())), ..self }
    }

    pub fn goes_on(self, on: &str) -> Station {
        Station { on: on.to_string(), ..self }
    }
}

/// Draws the stations from `y` on; the result is where they end.
pub fn draw(canvas: &mut Canvas, mut y: f64, stations: &[Station]) -> f64 {
    for (at, station) in stations.iter().enumerate() {
        let end = y + place(canvas, y, station);
        if at + 1 == stations.len() {
            return end;
        }
        canvas.arrow((MARGIN + 28.0, end), (MARGIN + 28.0, end + 20.0), Tone::Plain);
        canvas.text(MARGIN + 42.0, end + 16.0, &station.on, TEXT.small().tone(Tone::Pale));
        y = end + 22.0;
    }
    y
}

/// Draws a station; the result is its height.
fn place(canvas: &mut Canvas, y: f64, station: &Station) -> f64 {
    let look = TEXT.small();
    let out = station.out.as_ref().map(|(tone, out)| {
        let lines = out.lines().flat_map(|line| wrapped(line, RIGHT - 20.0, look));
        (*tone, lines.take(LINES).collect::<Vec<String>>())
    });
    let lines = out.as_ref().map_or(0, |(_, lines)| lines.len());
    let title = TEXT.bold().tone(station.tone);
    let both = width_of(&station.title, title) + width_of(&station.detail, look);
    let is_flat = lines == 0 && both < LEFT - 30.0;
    let least = if is_flat { 38.0 } else { 56.0 };
    let height = (lines as f64 * line_height(look) + 18.0).max(least);
    let middle = y + height / 2.0;
    canvas.area(Area(MARGIN, y, LEFT, height), station.tone);
    let shown = fitted(&station.title, LEFT - 16.0, title);
    if is_flat {
        canvas.text(MARGIN + 12.0, middle + 5.0, &shown, title);
        canvas.text(MARGIN + LEFT - 12.0, middle + 5.0, &station.detail, look.right());
    } else {
        canvas.text(MARGIN + 12.0, middle - 4.0, &shown, title);
        let detail = fitted(&station.detail, LEFT - 20.0, look);
        canvas.text(MARGIN + 12.0, middle + 16.0, &detail, look);
    }
    let Some((tone, out)) = out else { return height };
    let x = MARGIN + LEFT + BETWEEN;
    canvas.arrow((MARGIN + LEFT, middle), (x - 2.0, middle), tone);
    canvas.area(Area(x, y, RIGHT, height), tone);
    let first = middle - (lines as f64 - 1.0) * line_height(look) / 2.0 + 4.5;
    for (at, line) in out.iter().enumerate() {
        canvas.text(x + 10.0, first + at as f64 * line_height(look), line, look.tone(tone));
    }
    height
}
