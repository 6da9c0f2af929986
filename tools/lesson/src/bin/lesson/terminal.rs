//! What a terminal would show of a program's output: lines of cells, each with its colour.
//! It knows the few sequences that our screen uses, and drops all others.

use unicode_width::UnicodeWidthChar;

/// How a piece of text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Look {
    /// 0 to 7 as a terminal counts them, 8 to 15 the bright ones.
    pub colour: Option<u8>,
    pub bold: bool,
    pub dim: bool,
}

/// Text of one look that begins at a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub column: usize,
    pub text: String,
    pub look: Look,
}

/// The lines of the output as runs. A character that is not ASCII gets a run of its own, so that it
/// stands on its cell whatever width the reader's font gives it.
pub fn lines(output: &str) -> Vec<Vec<Run>> {
    let mut look = Look::default();
    output.lines().map(|line| one_line(line, &mut look)).collect()
}

fn one_line(line: &str, look: &mut Look) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            sequence(&mut letters, look);
            continue;
        }
        let Some(width) = letter.width() else { continue };
        let joins =
            |last: &&mut Run| letter.is_ascii() && last.look == *look && last.text.is_ascii();
        match runs.last_mut() {
            // A combining mark belongs to the character before it.
            Some(last) if width == 0 => last.text.push(letter),
            _ if width == 0 => {}
            _ => match runs.last_mut().filter(joins) {
                Some(last) => last.text.push(letter),
                None => runs.push(Run { column, text: letter.to_string(), look: *look }),
            },
        }
        column += width;
    }
    runs.retain(|run| !run.text.trim().is_empty());
    runs
}

/// The rest of an escape sequence; colours change the look.
fn sequence(letters: &mut std::str::Chars, look: &mut Look) {
    if letters.next() != Some('[') {
        return;
    }
    let mut numbers = String::new();
    for letter in letters.by_ref() {
        match letter {
            '0'..='9' | ';' | '?' => numbers.push(letter),
            'm' => return numbers.split(';').for_each(|number| set(look, number)),
            _ => return,
        }
    }
}

fn set(look: &mut Look, number: &str) {
    match number.parse::<u8>().unwrap_or(0) {
        0 => *look = Look::default(),
        1 => look.bold = true,
        2 => look.dim = true,
        22 => (look.bold, look.dim) = (false, false),
        39 => look.colour = None,
        n @ 30..=37 => look.colour = Some(n - 30),
        n @ 90..=97 => look.colour = Some(n - 90 + 8),
        _ => {}
    }
}

/// How many columns a line takes.
pub fn width(runs: &[Run]) -> usize {
    let end = |run: &Run| {
        run.column + run.text.chars().filter_map(UnicodeWidthChar::width).sum::<usize>()
    };
    runs.last().map_or(0, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(column: usize, text: &str, look: Look) -> Run {
        Run { column, text: text.into(), look }
    }

    #[test]
    fn colours_last_until_they_are_reset() {
        let red = Look { colour: Some(1), bold: true, dim: false };
        let found = lines("a\x1b[1;31mb\nc\x1b[0md");
        let plain = Look::default();
        assert_eq!(found[0], [run(0, "a", plain), run(1, "b", red)]);
        assert_eq!(found[1], [run(0, "c", red), run(1, "d", plain)]);
    }

    #[test]
    fn wide_characters_take_two_cells_and_combining_ones_none() {
        let found = lines("灯x e\u{301}y");
        let texts: Vec<(usize, &str)> =
            found[0].iter().map(|run| (run.column, run.text.as_str())).collect();
        assert_eq!(texts, [(0, "灯"), (2, "x e\u{301}"), (5, "y")]);
        assert_eq!(width(&found[0]), 6);
    }

    #[test]
    fn other_sequences_and_control_characters_are_dropped() {
        assert_eq!(lines("a\x1b[2Kb\x07"), [[run(0, "ab", Look::default())]]);
    }
}
