//! The diff as text.

use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, ChangeTag, capture_diff_slices};
use unicode_width::UnicodeWidthStr;

use super::files::{Pair, Step};
use super::items::{Item, around, inside, items};
use super::wrap::pieces;

/// Our own lines are no wider. Lines of code are not cut.
const WIDTH: usize = 80;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Fewer unchanged lines than this are not worth folding.
const FOLD: usize = 4;

pub struct Style {
    pub colour: bool,
    /// Columns of the terminal, at which lines of code are broken; `None` for a pipe.
    pub columns: Option<usize>,
}

impl Style {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn added(&self, text: &str) -> String {
        self.paint("32", text)
    }

    fn removed(&self, text: &str) -> String {
        self.paint("31", text)
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn place(&self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// A line of a diff. `place` is its line in the new file; a removed line has that of the line
/// which stands there now.
struct Row<'a> {
    tag: ChangeTag,
    text: &'a str,
    place: usize,
}

/// The whole diff, after the line for each file, and with its summary at the end.
pub fn render(old: &Step, new: &Step, pairs: &[Pair], style: &Style) -> String {
    let mut out = title(old, new, style);
    files(&mut out, pairs, style);
    for pair in pairs {
        let _ = writeln!(out, "\n{}", file_head(pair, style));
        match (pair.old, pair.new) {
            (None, Some((_, text))) => whole(&mut out, text, style),
            (Some((_, text)), None) => removed(&mut out, text, style),
            (Some((_, before)), Some((_, after))) => changed(&mut out, before, after, style),
            (None, None) => {}
        }
    }
    let _ = writeln!(out, "\n{}", summary(pairs, style));
    not_shown(&mut out, old, new, style);
    out
}

/// A line for each file, and the sums.
pub fn stat(old: &Step, new: &Step, pairs: &[Pair], style: &Style) -> String {
    let mut out = title(old, new, style);
    files(&mut out, pairs, style);
    let _ = writeln!(out, "\n{}", summary(pairs, style));
    not_shown(&mut out, old, new, style);
    out
}

fn files(out: &mut String, pairs: &[Pair], style: &Style) {
    out.push('\n');
    for pair in pairs {
        let (added, removed) = counts(pair);
        let name = padded(&path_of(pair), 40);
        let (plus, minus) =
            (format!("{:>6}", sum('+', added)), format!("{:>8}", sum('-', removed)));
        let numbers = style.added(&plus) + &if removed > 0 { style.removed(&minus) } else { minus };
        let _ = writeln!(out, "{}", format!("  {:<8}  {name}  {numbers}", kind(pair)).trim_end());
    }
}

/// The first step has nothing before it: its files with their sizes.
pub fn first_step(step: &Step, style: &Style) -> String {
    let mut out = String::new();
    let head = format!("{} · {} is the first step:", step.package(), step.name());
    let _ = writeln!(out, "{} there is nothing before it.", style.bold(&head));
    let _ = writeln!(out, "Its files:\n");
    let (mut lines, mut bytes) = (0, 0);
    for (path, text) in &step.files {
        let _ = writeln!(
            out,
            "  {}{:>6} lines {:>8} bytes",
            padded(path, 40),
            text.lines().count(),
            text.len()
        );
        lines += text.lines().count();
        bytes += text.len();
    }
    let _ = writeln!(out, "\n  {}{lines:>6} lines {bytes:>8} bytes", padded("in all", 40));
    out
}

fn title(old: &Step, new: &Step, style: &Style) -> String {
    let name = style.bold(&format!("{} · {}", new.package(), new.name()));
    format!("{name}: what it adds to {} · {}\n", old.package(), old.name())
}

fn kind(pair: &Pair) -> &'static str {
    match (pair.old, pair.new) {
        (None, _) => "new",
        (_, None) => "removed",
        (Some((before, _)), Some((after, _))) if before != after => "moved",
        _ => "changed",
    }
}

fn path_of(pair: &Pair) -> String {
    match (pair.old, pair.new) {
        (Some((before, _)), Some((after, _))) if before != after => {
            format!("{after} (was {before})")
        }
        (_, Some((path, _))) | (Some((path, _)), _) => path.to_string(),
        (None, None) => String::new(),
    }
}

/// `── src/edit.rs · new ────── +183`, as wide as the screen.
fn file_head(pair: &Pair, style: &Style) -> String {
    let (added, removed) = counts(pair);
    let name = cut(&format!("{} · {}", path_of(pair), kind(pair)), 56);
    let numbers = [sum('+', added), sum('-', removed)];
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
    let numbers = numbers.join(" ");
    let used = 3 + name.width() + 1 + 1 + numbers.width();
    let line = "─".repeat(WIDTH.saturating_sub(used));
    format!("── {} {} {numbers}", style.bold(&name), style.dim(&line))
}

fn whole(out: &mut String, text: &str, style: &Style) {
    for line in text.lines() {
        code(out, ChangeTag::Insert, line, style);
    }
}

/// A line of code with its sign, broken where the terminal is narrower.
fn code(out: &mut String, tag: ChangeTag, line: &str, style: &Style) {
    let sign = match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Insert => '+',
        ChangeTag::Delete => '-',
    };
    for piece in pieces(sign, line, style.columns) {
        let piece = match tag {
            ChangeTag::Equal => piece,
            ChangeTag::Insert => style.added(&piece),
            ChangeTag::Delete => style.removed(&piece),
        };
        let _ = writeln!(out, "{piece}");
    }
}

fn removed(out: &mut String, text: &str, style: &Style) {
    let lines: Vec<&str> = text.lines().collect();
    let names = items(&lines);
    fold(out, lines.len(), "removed", &inside(&names, &(0..lines.len())), style);
}

fn changed(out: &mut String, before: &str, after: &str, style: &Style) {
    let rows = rows(before, after);
    let lines: Vec<&str> = after.lines().collect();
    let items = items(&lines);
    let mut folded = 0;
    for hunk in hunks(&rows) {
        fold_rows(out, &rows[folded..hunk.start], &items, style);
        if let Some(place) = place(&rows[hunk.clone()], &items) {
            let _ = writeln!(out, "{}", style.place(&cut(&format!("in {place}:"), WIDTH)));
        }
        for row in &rows[hunk.clone()] {
            code(out, row.tag, row.text, style);
        }
        folded = hunk.end;
    }
    fold_rows(out, &rows[folded..], &items, style);
}

fn rows<'a>(before: &'a str, after: &'a str) -> Vec<Row<'a>> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let mut rows = Vec::new();
    // Patience keeps whole functions together where the shortest diff would mix their braces.
    for op in capture_diff_slices(Algorithm::Patience, &old, &new) {
        for change in op.iter_changes(&old, &new) {
            let place = change.new_index().unwrap_or(op.new_range().start);
            rows.push(Row { tag: change.tag(), text: change.value(), place });
        }
    }
    rows
}

/// The rows that are shown: changes with their context, near ones joined.
fn hunks(rows: &[Row]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (at, _) in rows.iter().enumerate().filter(|(_, row)| row.tag != ChangeTag::Equal) {
        let start = at.saturating_sub(CONTEXT);
        let end = (at + 1 + CONTEXT).min(rows.len());
        match hunks.last_mut() {
            Some(last) if start < last.end + FOLD => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    for hunk in &mut hunks {
        // The end of the function before says nothing.
        while rows[hunk.start].tag == ChangeTag::Equal && closes(rows[hunk.start].text) {
            hunk.start += 1;
        }
        while rows[hunk.end - 1].tag == ChangeTag::Equal && rows[hunk.end - 1].text.is_empty() {
            hunk.end -= 1;
        }
    }
    if let Some(first) = hunks.first_mut().filter(|first| first.start < FOLD) {
        first.start = 0;
    }
    if let Some(last) = hunks.last_mut().filter(|last| rows.len() - last.end < FOLD) {
        last.end = rows.len();
    }
    hunks
}

fn closes(line: &str) -> bool {
    ["", "}"].contains(&line.trim())
}

/// The item that a hunk stands in, unless the hunk itself shows where that begins.
fn place(hunk: &[Row], items: &[Item]) -> Option<String> {
    let first = hunk.iter().find(|row| row.tag != ChangeTag::Equal)?;
    let shown = hunk.first()?.place;
    let names: Vec<&str> = around(items, first.place)
        .into_iter()
        .filter(|item| item.lines.start < shown)
        .map(|item| item.name.as_str())
        .collect();
    if names.is_empty() { None } else { Some(names.join(", ")) }
}

fn fold_rows(out: &mut String, rows: &[Row], items: &[Item], style: &Style) {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    let names = inside(items, &(first.place..last.place + 1));
    let around = around(items, first.place);
    let what = match around.last() {
        Some(item) if names.is_empty() => format!("of {}", item.name),
        _ => String::new(),
    };
    fold(out, rows.len(), &what, &names, style);
}

/// `⋯ 41 lines: fn ask, fn send`, with as many names as fit.
fn fold(out: &mut String, lines: usize, what: &str, names: &[&str], style: &Style) {
    let space = if what.is_empty() { "" } else { " " };
    let mut text = format!("⋯ {lines} lines{space}{what}");
    for (at, name) in names.iter().enumerate() {
        let joined = format!("{text}{} {name}", if at == 0 { ":" } else { "," });
        let left = names.len() - at;
        // Room for ", and 12 more" unless this is the last.
        let room = if left == 1 { WIDTH } else { WIDTH - 13 };
        if joined.width() > room {
            let _ = write!(text, "{} {left} more", if at == 0 { ":" } else { ", and" });
            break;
        }
        text = joined;
    }
    let _ = writeln!(out, "{}", style.dim(&text));
}

fn counts(pair: &Pair) -> (usize, usize) {
    let before = pair.old.map_or("", |(_, text)| text);
    let after = pair.new.map_or("", |(_, text)| text);
    let rows = rows(before, after);
    let count = |tag| rows.iter().filter(|row| row.tag == tag).count();
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

fn summary(pairs: &[Pair], style: &Style) -> String {
    if pairs.is_empty() {
        return "no difference in src/ and Cargo.toml".to_string();
    }
    let (mut added, mut removed) = (0, 0);
    for pair in pairs {
        let (plus, minus) = counts(pair);
        added += plus;
        removed += minus;
    }
    let mut kinds = Vec::new();
    for name in ["new", "changed", "moved", "removed"] {
        let count = pairs.iter().filter(|pair| kind(pair) == name).count();
        if count > 0 {
            kinds.push(format!("{count} {name}"));
        }
    }
    let added = style.added(&format!("{} added", plural(added, "line")));
    let removed = style.removed(&format!("{removed} removed"));
    format!("{}: {} · {added}, {removed}", plural(pairs.len(), "file"), kinds.join(", "))
}

fn not_shown(out: &mut String, old: &Step, new: &Step, style: &Style) {
    let names = new.rest_changed(old);
    if !names.is_empty() {
        let text = format!("also: {} (not shown)", names.join(", "));
        let _ = writeln!(out, "{}", style.dim(&cut(&text, WIDTH)));
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn sum(sign: char, count: usize) -> String {
    if count == 0 { String::new() } else { format!("{sign}{count}") }
}

fn padded(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let space = " ".repeat(width - text.width());
    text + &space
}

/// The text, cut with an ellipsis where it is wider.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + letter.to_string().width() + 1 > width {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}
