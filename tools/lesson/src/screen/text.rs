//! Text that is safe to show, and as wide as it looks.
//!
//! What a tool or a model prints can hold escape sequences, which would recolour, erase or retitle
//! the terminal. Here every control character becomes one that can be seen.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A number for people: `3,210`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Columns of a text without control characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with every control character made visible, save line ends. A tab is four columns.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => shown.push('\n'),
            '\t' => shown.push_str("    "),
            '\r' if rest.peek() == Some(&'\n') => {}
            _ => push_visible(&mut shown, c),
        }
    }
    shown
}

fn push_visible(shown: &mut String, c: char) {
    let code = u32::from(c);
    match code {
        // Unicode has a picture for each of the old control characters: ␛ for escape, ␇ for bell.
        0..0x20 => shown.extend(char::from_u32(0x2400 + code)),
        0x7f => shown.push('␡'),
        // The later control characters, marks that turn the direction of writing, and the
        // byte-order mark: unseen themselves, they change what is seen.
        0x80..0xa0 | 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069 | 0xfeff => {
            shown.push_str(&format!("⟨{code:x}⟩"));
        }
        _ => shown.push(c),
    }
}

/// One line, cut with `…` where it is wider than so many columns.
pub fn fitted(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_string();
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// A program's output with nothing but text and colours: other escape sequences and control
/// characters are made visible.
pub fn only_colours(output: &str) -> String {
    let mut shown = String::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, colour, after)) = split_at_colour(rest) {
        shown.push_str(&visible(before));
        shown.push_str(colour);
        rest = after;
    }
    shown.push_str(&visible(rest));
    shown
}

/// A program's output without its colours, and with its control characters as they came.
pub fn plain(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, _, after)) = split_at_colour(rest) {
        text.push_str(before);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// What stands before the next colour sequence, the sequence, and what stands after it.
fn split_at_colour(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices("\x1b[").find_map(|(at, _)| {
        let end = at + colour_length(&text[at..])?;
        Some((&text[..at], &text[at..end], &text[end..]))
    })
}

/// Bytes of the colour sequence (`ESC [ digits and semicolons m`) that the text begins with.
fn colour_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\x1b[")?;
    let digits = inner.bytes().take_while(|b| b.is_ascii_digit() || *b == b';').count();
    (inner.as_bytes().get(digits) == Some(&b'm')).then_some(2 + digits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            [0, 999, 1_000, 3_210, 1_234_567].map(count).join(" "),
            "0 999 1,000 3,210 1,234,567"
        );
    }

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(visible("a\tb\r\nc\x1b[2Jd\x07\u{9b}e"), "a    b\nc␛[2Jd␇⟨9b⟩e");
        assert_eq!(visible("over\rwritten"), "over␍written");
        assert_eq!(visible("\u{202e}gnp.exe\u{feff}"), "⟨202e⟩gnp.exe⟨feff⟩");
    }

    #[test]
    fn a_wide_character_counts_two_columns_and_is_never_halved() {
        assert_eq!(fitted("灯台の記録", 10), "灯台の記録");
        assert_eq!(fitted("灯台の記録", 9), "灯台の記…");
        assert_eq!(fitted("灯台の記録", 8), "灯台の…");
    }

    #[test]
    fn colours_pass_and_other_sequences_do_not() {
        let output = "\x1b[1;32mgreen\x1b[0m \x1b[2Jgone \x1b]0;title\x07";
        assert_eq!(only_colours(output), "\x1b[1;32mgreen\x1b[0m ␛[2Jgone ␛]0;title␇");
        assert_eq!(plain("\x1b[1;32mgreen\x1b[0m!"), "green!");
        assert_eq!(plain("\x1b[2Jx"), "\x1b[2Jx");
    }
}
