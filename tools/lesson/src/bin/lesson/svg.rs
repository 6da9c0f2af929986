//! A terminal's screen as an SVG: a frame, and a `text` for each run of one colour. Nothing else,
//! so that it looks the same in every viewer; the dark frame reads on light and dark pages.

use std::fmt::Write;

use crate::terminal::{Look, Run, width};

/// Columns of the frame; a longer line widens it.
const COLUMNS: usize = 80;
/// A cell's width and height, in pixels, for 14 px text.
const CELL: f64 = 8.4;
const LINE: f64 = 19.0;
const SIZE: f64 = 14.0;
const MARGIN: f64 = 18.0;

const PAPER: &str = "#1b1f27";
const INK: &str = "#d8dee9";
const FAINT: &str = "#8a94a6";
/// As a terminal counts them: black, red, green, yellow, blue, magenta, cyan, white.
const COLOURS: [&str; 8] =
    ["#4c566a", "#f07178", "#a3d977", "#f2c76e", "#7fb4f0", "#cf9df0", "#6fd0d8", "#e5e9f0"];

pub fn draw(lines: &[Vec<Run>], title: &str) -> String {
    let columns = lines.iter().map(|line| width(line)).max().unwrap_or(0).max(COLUMNS);
    let wide = columns as f64 * CELL + 2.0 * MARGIN;
    let high = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"0 0 {wide:.0} {high:.0}\" role=\"img\" aria-label=\"{}\" font-size=\"{SIZE}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">",
        escaped(title)
    );
    let _ = writeln!(svg, "<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{PAPER}\"/>");
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + row as f64 * LINE + SIZE;
        for run in line {
            let _ = writeln!(svg, "{}", text(run, y));
        }
    }
    svg + "</svg>\n"
}

fn text(run: &Run, y: f64) -> String {
    // Leading blanks move the text, since XML may fold them; those inside are kept by `xml:space`.
    let blank = run.text.len() - run.text.trim_start().len();
    let x = MARGIN + (run.column + blank) as f64 * CELL;
    let weight = if run.look.bold { " font-weight=\"bold\"" } else { "" };
    let shown = run.text.trim();
    // The reader's font may be wider or narrower: the text is fitted to its cells.
    let cells = width(&[Run { column: 0, text: shown.to_string(), look: run.look }]);
    let fit = if cells > 1 {
        format!(" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"", cells as f64 * CELL)
    } else {
        String::new()
    };
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\"{weight}{fit} xml:space=\"preserve\">{}</text>",
        fill(run.look),
        escaped(shown)
    )
}

fn fill(look: Look) -> &'static str {
    match look.colour {
        Some(colour) => COLOURS[usize::from(colour) % 8],
        None if look.dim => FAINT,
        None => INK,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::lines;

    #[test]
    fn a_screen_becomes_text_and_rect_and_nothing_else() {
        let svg = draw(&lines("\x1b[32m✓\x1b[0m 1 < 2 & \"so\"\n  灯 \x1b[1;36myou"), "a run");
        insta::assert_snapshot!(svg);
    }

    #[test]
    fn a_long_line_widens_the_frame() {
        let narrow = draw(&lines("x"), "");
        let wide = draw(&lines(&"x".repeat(100)), "");
        assert!(narrow.contains("width=\"708\""), "{narrow}");
        assert!(wide.contains("width=\"876\""), "{wide}");
    }
}
