//! What all pictures are drawn with: one card, one set of colours, two typefaces.
//!
//! A picture is 560 units wide, so that its letters can still be read where a phone makes it
//! narrower. The colours are of middle strength: the book inverts pictures in dark themes, and these
//! stay what they are then.

/// Of every picture.
pub const WIDTH: f64 = 560.0;
/// Between the card's edge and what is on it.
pub const MARGIN: f64 = 20.0;
/// The size of usual letters, and of small ones. Nothing is smaller.
pub const USUAL: f64 = 15.0;
pub const SMALL: f64 = 13.0;

/// What a colour means, the same in all pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tone {
    /// Text, frames, arrows.
    Plain,
    /// What matters less here.
    Pale,
    /// What the user says.
    User,
    /// What the model says.
    Model,
    /// What a tool does or gives.
    Tool,
    Good,
    Bad,
    /// What comes from outside, or asks.
    Ask,
}

impl Tone {
    /// Of lines and letters.
    pub fn ink(self) -> &'static str {
        match self {
            Tone::Plain => "#22282f",
            Tone::Pale => "#66707c",
            Tone::User => "#1d6487",
            Tone::Model => "#6a4a9c",
            Tone::Tool => "#27598f",
            Tone::Good => "#24713f",
            Tone::Bad => "#a83232",
            Tone::Ask => "#8a5a00",
        }
    }

    /// Of areas.
    pub fn fill(self) -> &'static str {
        match self {
            Tone::Plain => "#ffffff",
            Tone::Pale => "#eceef0",
            Tone::User => "#d5ecf5",
            Tone::Model => "#e7def5",
            Tone::Tool => "#d9e6f6",
            Tone::Good => "#d6eedd",
            Tone::Bad => "#f7dcdc",
            Tone::Ask => "#f8eac6",
        }
    }
}

/// A text's looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub size: f64,
    pub tone: Tone,
    pub bold: bool,
    pub mono: bool,
    pub anchor: &'static str,
}

/// Usual letters from the left.
pub const TEXT: Look =
    Look { size: USUAL, tone: Tone::Plain, bold: false, mono: false, anchor: "start" };

impl Look {
    pub fn small(self) -> Look {
        Look { size: SMALL, ..self }
    }

    pub fn bold(self) -> Look {
        Look { bold: true, ..self }
    }

    pub fn mono(self) -> Look {
        Look { mono: true, ..self }
    }

    pub fn tone(self, tone: Tone) -> Look {
        Look { tone, ..self }
    }

    pub fn right(self) -> Look {
        Look { anchor: "end", ..self }
    }
}

/// A rectangle: left, top, width, height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area(pub f64, pub f64, pub f64, pub f64);

/// A picture in the making.
pub struct Canvas {
    title: String,
    description: String,
    body: String,
}

impl Canvas {
    /// `title` and `description` are for those who hear the picture.
    pub fn new(title: &str, description: &str) -> Canvas {
        let (title, description) = (title.to_string(), description.to_string());
        Canvas { title, description, body: String::new() }
    }

    /// A text on one line; `y` is its base line.
    pub fn text(&mut self, x: f64, y: f64, text: &str, look: Look) {
        let family = if look.mono { " class=\"m\"" } else { "" };
        let weight = if look.bold { " font-weight=\"600\"" } else { "" };
        self.body.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{family}{weight}>{}</text>\n",
            short(x),
            short(y),
            short(look.size),
            look.tone.ink(),
            look.anchor,
            escaped(text)
        ));
    }

    /// Text over several lines, cut between words at `width`. The result is the base line of the
    /// line that would come next.
    pub fn paragraph(&mut self, x: f64, y: f64, width: f64, text: &str, look: Look) -> f64 {
        let mut y = y;
        for line in wrapped(text, width, look) {
            self.text(x, y, &line, look);
            y += line_height(look);
        }
        y
    }

    /// A rounded box.
    pub fn area(&mut self, area: Area, tone: Tone) {
        self.rect(area, 6.0, tone.fill(), Some(tone.ink()), "");
    }

    /// A box that is only hinted at.
    pub fn ghost(&mut self, area: Area, tone: Tone) {
        self.rect(area, 6.0, tone.fill(), Some(tone.ink()), " stroke-dasharray=\"4 3\"");
    }

    /// A bar whose length says something: its corners take little away.
    pub fn bar(&mut self, area: Area, tone: Tone) {
        self.rect(area, 1.5, tone.fill(), Some(tone.ink()), "");
    }

    fn rect(&mut self, area: Area, round: f64, fill: &str, stroke: Option<&str>, more: &str) {
        let Area(x, y, width, height) = area;
        let stroke =
            stroke.map(|ink| format!(" stroke=\"{ink}\" stroke-width=\"1.2\"")).unwrap_or_default();
        self.body.push_str(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{fill}\"{stroke}{more}/>\n",
            short(x),
            short(y),
            short(width),
            short(height),
            short(round)
        ));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), tone: Tone) {
        self.stroke(from, to, tone, "");
    }

    pub fn dashes(&mut self, from: (f64, f64), to: (f64, f64), tone: Tone) {
        self.stroke(from, to, tone, " stroke-dasharray=\"5 4\"");
    }

    fn stroke(&mut self, from: (f64, f64), to: (f64, f64), tone: Tone, more: &str) {
        self.body.push_str(&format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"{more}/>\n",
            short(from.0),
            short(from.1),
            short(to.0),
            short(to.1),
            tone.ink()
        ));
    }

    /// A line with a head at its end, which runs down, or to the right or left.
    pub fn arrow(&mut self, from: (f64, f64), to: (f64, f64), tone: Tone) {
        self.line(from, to, tone);
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let (dx, dy) = (dx / length, dy / length);
        let back = (to.0 - 8.0 * dx, to.1 - 8.0 * dy);
        let corner = |side: f64| {
            format!("{},{}", short(back.0 + side * 4.5 * dy), short(back.1 - side * 4.5 * dx))
        };
        self.body.push_str(&format!(
            "<polygon points=\"{},{} {} {}\" fill=\"{}\"/>\n",
            short(to.0),
            short(to.1),
            corner(1.0),
            corner(-1.0),
            tone.ink()
        ));
    }

    /// The picture, `height` units high.
    pub fn svg(&self, height: f64) -> String {
        let height = short(height);
        let card = format!(
            "<rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#fafaf7\" stroke=\"#c9ccd0\"/>",
            WIDTH - 2.0,
            height.parse::<f64>().unwrap_or_default() - 2.0
        );
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>\n\
             text {{ font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }}\n\
             .m {{ font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }}\n\
             </style>\n{card}\n{}</svg>\n",
            escaped(&self.title),
            escaped(&self.description),
            self.body
        )
    }
}

/// From one base line to the next.
pub fn line_height(look: Look) -> f64 {
    (look.size * 1.35).round()
}

/// How wide a text is at the most, on any system.
pub fn width_of(text: &str, look: Look) -> f64 {
    let letter = |letter: char| match letter {
        _ if look.mono => 0.62,
        'i' | 'l' | 'j' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '('
        | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' | '…' | '→' | '%' => 0.92,
        'A'..='Z' => 0.7,
        _ if !letter.is_ascii() => 1.0,
        _ => 0.58,
    };
    let factor = if look.bold { 1.05 } else { 1.0 };
    text.chars().map(letter).sum::<f64>() * look.size * factor
}

/// The text, cut with `…` to what fits.
pub fn fitted(text: &str, width: f64, look: Look) -> String {
    if width_of(text, look) <= width {
        return text.to_string();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        let longer = format!("{cut}{letter}");
        if width_of(&longer, look) + width_of("…", look) > width {
            break;
        }
        cut = longer;
    }
    cut.trim_end().to_string() + "…"
}

/// The lines of a text that is cut between words.
pub fn wrapped(text: &str, width: f64, look: Look) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().cloned().unwrap_or_default();
        let longer = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
        if line.is_empty() || width_of(&longer, look) <= width {
            lines.pop();
            lines.push(longer);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// A number with a comma between its thousands.
pub fn number(value: u64) -> String {
    crate::tables::number(value as usize)
}

/// A number with one digit after the point at the most.
fn short(number: f64) -> String {
    let rounded = (number * 10.0).round() / 10.0;
    format!("{rounded}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_card_with_what_was_drawn_on_it() {
        let mut canvas = Canvas::new("One & two", "A <box>");
        canvas.area(Area(20.0, 20.0, 100.0, 30.25), Tone::User);
        canvas.text(30.0, 40.0, "a < b", TEXT.mono());
        let svg = canvas.svg(80.0);
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 560 80\"")
        );
        assert!(svg.contains("<title id=\"title\">One &amp; two</title>"), "{svg}");
        assert!(svg.contains("<desc id=\"desc\">A &lt;box&gt;</desc>"), "{svg}");
        assert!(svg.contains("height=\"30.3\""), "{svg}");
        assert!(svg.contains("class=\"m\">a &lt; b</text>"), "{svg}");
    }

    #[test]
    fn a_text_is_cut_or_wrapped_to_its_width() {
        let cut = fitted("a text that is far too long for it", 80.0, TEXT);
        assert!(cut.ends_with('…') && width_of(&cut, TEXT) <= 80.0, "{cut}");
        assert_eq!(fitted("short", 80.0, TEXT), "short");
        let lines = wrapped("a text that is far too long for it", 80.0, TEXT);
        assert!(lines.len() > 2 && lines.iter().all(|line| width_of(line, TEXT) <= 80.0));
        assert_eq!(lines.join(" "), "a text that is far too long for it");
    }
}
