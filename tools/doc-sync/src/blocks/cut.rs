//! A part of a text, from the line that holds one text to the line that holds another.

use std::ops::Range;

use anyhow::{Result, bail};

use crate::origin::Part;

/// The lines of the part, from 0. Each text has to stand in one line alone of `lines`; `of` says
/// to a person what was searched.
pub fn cut<T: AsRef<str>>(lines: &[T], part: &Part, of: &str) -> Result<Range<usize>> {
    let from = match &part.from {
        Some(text) => only_line(lines, text, of)?,
        None => 0,
    };
    let to = match &part.to {
        Some(text) => only_line(lines, text, of)? + 1,
        None => lines.len(),
    };
    if from >= to {
        bail!("in {of}, the text after `to` stands above the text after `from`; exchange them");
    }
    Ok(from..to)
}

fn only_line<T: AsRef<str>>(lines: &[T], text: &str, of: &str) -> Result<usize> {
    let holds = |line: &T| line.as_ref().contains(text);
    let found: Vec<usize> = (0..lines.len()).filter(|at| holds(&lines[*at])).collect();
    match found[..] {
        [line] => Ok(line),
        [] => bail!("{of} has no line with `{text}`; take a text that stands there once"),
        _ => bail!("{} lines of {of} hold `{text}`; take a longer text", found.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: &str, to: &str) -> Part {
        Part { from: Some(from.into()), to: Some(to.into()) }
    }

    #[test]
    fn both_lines_belong_to_the_part() {
        let lines = ["a", "b", "c", "d"];
        assert_eq!(cut(&lines, &part("b", "c"), "x").unwrap(), 1..3);
        assert_eq!(cut(&lines, &part("b", "b"), "x").unwrap(), 1..2);
        assert_eq!(cut(&lines, &Part { from: None, to: Some("b".into()) }, "x").unwrap(), 0..2);
        assert_eq!(cut(&lines, &Part { from: Some("c".into()), to: None }, "x").unwrap(), 2..4);
    }

    #[test]
    fn a_text_that_is_not_there_once_is_an_error() {
        let lines = ["a", "ab", "c"];
        let error = |from, to| cut(&lines, &part(from, to), "`f`").unwrap_err().to_string();
        assert_eq!(error("x", "c"), "`f` has no line with `x`; take a text that stands there once");
        assert_eq!(error("a", "c"), "2 lines of `f` hold `a`; take a longer text");
        assert_eq!(
            error("c", "ab"),
            "in `f`, the text after `to` stands above the text after `from`; exchange them"
        );
    }
}
