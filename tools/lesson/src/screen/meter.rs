//! How full the model's window is: a bar for now, and a plot with a column for each call.
//!
//! Every character drawn is one column wide, and no line is wider than the screen (or 40 columns).

use super::paint::{Ink, Paint};
use super::text::count;

/// One call to the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Tokens of its request.
    pub tokens: u64,
    /// The history was made into a summary just before.
    pub compacted: bool,
}

/// What the screen remembers for the plot.
pub struct Window {
    pub calls: Vec<Call>,
    pub usable: u64,
    pub due: u64,
    /// A compaction came since the last call.
    pub compacted: bool,
}

impl Window {
    pub const fn new() -> Self {
        Self { calls: Vec::new(), usable: 0, due: 100, compacted: false }
    }
}

/// Rows of the plot.
const ROWS: u64 = 8;

/// Columns that the plot's labels take.
const MARGIN: usize = 12;

/// The longest bar.
const BAR: usize = 24;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Paint {
    /// `▕████████░░░░░░░░▏ 52 % full · 8,320 of 16,000 tokens`
    pub fn bar(&self, tokens: u64, usable: u64, due: u64) -> String {
        let usable = usable.max(1);
        let percent = u128::from(tokens) * 100 / u128::from(usable);
        let text = format!(" {} % full", percent.min(999));
        let mut numbers = format!(" · {} of {} tokens", count(tokens), count(usable));
        let (width, used) = (self.width.max(40), 4 + text.chars().count());
        if used + numbers.chars().count() > width {
            numbers.clear();
        }
        let room = width.saturating_sub(used + numbers.chars().count()).min(BAR);
        let full = scaled(tokens, usable, room as u64) as usize;
        let ink = match percent {
            _ if percent >= u128::from(due) => Ink::Bad,
            50.. => Ink::Outside,
            _ => Ink::Good,
        };
        let (full, empty) = ("█".repeat(full), "░".repeat(room - full));
        let numbers = self.ink(Ink::Dim, &numbers);
        format!("  ▕{}{}▏{text}{numbers}\n", self.ink(ink, &full), self.ink(Ink::Dim, &empty))
    }

    /// Tokens by call, with the line at `due` percent where a summary is due, and a mark under each
    /// call that came after one. More calls than columns: each column shows the highest of several.
    pub fn plot(&self, calls: &[Call], usable: u64, due: u64) -> String {
        let usable = usable.max(1);
        let width = self.width.max(40) - MARGIN;
        let each = calls.len().div_ceil(width).max(1);
        let groups: Vec<&[Call]> = calls.chunks(each).collect();
        // A short session gets wider columns, or it would be a smear at the left edge.
        let wide = (width / groups.len().max(1)).clamp(1, 3);
        let due_row = (due.min(100) * ROWS).div_ceil(100);
        let mut drawn = String::from("\n");
        for row in (1..=ROWS).rev() {
            let empty = if row == due_row { '╌' } else { ' ' };
            let cells = groups.iter().map(|group| cell(group, row, usable, empty));
            let line: String = cells.flat_map(|cell| column(cell, empty, wide)).collect();
            let label = if row == ROWS { count(usable) } else { String::new() };
            let label = if row == due_row { format!("{due} %") } else { label };
            let line = self.ink(if row >= due_row { Ink::Outside } else { Ink::Good }, &line);
            drawn.push_str(format!("  {label:>8} ┤{line}").trim_end());
            drawn.push('\n');
        }
        let mark =
            |group: &&[Call]| if group.iter().any(|call| call.compacted) { '▲' } else { '─' };
        let axis: String = groups.iter().flat_map(|group| column(mark(group), '─', wide)).collect();
        drawn.push_str(&format!("  {:>8} └{axis}\n", 0));
        drawn + &self.ink(Ink::Dim, &legend(calls, each)) + "\n"
    }
}

fn legend(calls: &[Call], each: usize) -> String {
    let highest = calls.iter().map(|call| call.tokens).max().unwrap_or(0);
    let columns =
        if each == 1 { "a column a call".into() } else { format!("{each} calls a column") };
    let mark = if calls.iter().any(|call| call.compacted) { " · ▲ compacted" } else { "" };
    format!("{:MARGIN$}tokens: {columns}, highest {}{mark}", "", count(highest))
}

/// What stands in this row of a column: full, a part of it, or `empty`.
fn cell(group: &[Call], row: u64, usable: u64, empty: char) -> char {
    let highest = group.iter().map(|call| call.tokens).max().unwrap_or(0);
    // A call that used anything at all shows.
    let eighths = scaled(highest, usable, ROWS * 8).max(u64::from(highest > 0));
    match eighths.saturating_sub((row - 1) * 8).min(8) {
        0 => empty,
        part => EIGHTHS[part as usize],
    }
}

/// A cell as wide as a column, with a gap where there is room for one.
fn column(cell: char, gap: char, wide: usize) -> impl Iterator<Item = char> {
    let bars = if wide > 1 { wide - 1 } else { 1 };
    std::iter::repeat_n(cell, bars).chain(std::iter::repeat_n(gap, wide - bars))
}

fn scaled(part: u64, whole: u64, to: u64) -> u64 {
    (u128::from(part.min(whole)) * u128::from(to) / u128::from(whole)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::width;

    const PLAIN: Paint = Paint { colour: false, width: 80 };

    #[test]
    fn the_bar_shows_the_fill() {
        assert_eq!(
            PLAIN.bar(8_320, 16_000, 85),
            "  ▕████████████░░░░░░░░░░░░▏ 52 % full · 8,320 of 16,000 tokens\n"
        );
        assert!(PLAIN.bar(20_000, 16_000, 85).contains("█▏ 125 % full"));
        let colour = Paint { colour: true, width: 80 };
        let inks = [10, 60, 90].map(|part| colour.bar(part, 100, 85).contains("\x1b[31m█"));
        assert_eq!(inks, [false, false, true]);
    }

    #[test]
    fn no_line_is_wider_than_a_screen_of_eighty_columns_or_more() {
        for calls in [0, 1, 5, 67, 68, 69, 700] {
            for columns in [20, 40, 80, 200] {
                let calls: Vec<Call> = (0..calls)
                    .map(|at| Call { tokens: at * 997 % 20_000, compacted: at % 20 == 19 })
                    .collect();
                let paint = Paint { colour: false, width: columns };
                let drawn = paint.plot(&calls, 16_000, 85) + &paint.bar(u64::MAX / 2, 0, 85);
                let widest = drawn.lines().map(width).max();
                assert!(widest <= Some(columns.max(80)), "{columns}\n{drawn}");
            }
        }
    }

    #[test]
    fn the_plot_shows_each_call_and_each_compaction() {
        let tokens = [900, 2_000, 8_000, 9_000, 13_000, 3_000, 7_000, 13_500, 2_500, 4_000];
        let calls: Vec<Call> = tokens
            .iter()
            .enumerate()
            .map(|(at, tokens)| Call { tokens: *tokens, compacted: at == 5 || at == 8 })
            .collect();
        let drawn = PLAIN.plot(&calls, 16_000, 85);
        insta::assert_snapshot!(drawn);
    }
}
