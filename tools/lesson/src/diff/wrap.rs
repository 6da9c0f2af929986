//! Lines of code on a terminal that is narrower than they are.
//!
//! Steps are written up to 100 columns wide. A terminal would break such a line in the middle of a
//! word and at its left edge; here it is broken at a space, and its rest stands under it, indented.
//! The rest of a comment is a comment again.

use unicode_width::UnicodeWidthStr;

/// How much further the rest of a line is indented than its beginning.
const FURTHER: usize = 8;

/// The line behind its sign, in pieces that fit into so many columns. A word that does not fit is
/// left whole. `None`: the line as it is, for a pipe.
pub fn pieces(sign: char, line: &str, columns: Option<usize>) -> Vec<String> {
    let whole = format!("{sign} {line}").trim_end().to_string();
    let Some(columns) = columns.filter(|columns| whole.width() > *columns) else {
        return vec![whole];
    };
    let indent = line.len() - line.trim_start().len();
    let comment = ["//! ", "/// ", "// "].into_iter().find(|c| line[indent..].starts_with(c));
    let rest = match comment {
        Some(comment) => format!("{}{comment}  ", &line[..indent]),
        None => " ".repeat((indent + FURTHER).min(columns / 2)),
    };
    let mut pieces = vec![format!("{sign} {}", &line[..indent])];
    let mut is_begun = false;
    for word in line[indent..].split(' ') {
        let last = pieces.len() - 1;
        let gap = usize::from(is_begun);
        if is_begun && pieces[last].width() + gap + word.width() > columns {
            pieces.push(format!("{sign} {rest}{word}"));
            continue;
        }
        if is_begun {
            pieces[last].push(' ');
        }
        pieces[last].push_str(word);
        is_begun = true;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "    let answer = ask(the_model, about_something).await;";

    #[test]
    fn a_line_that_fits_or_goes_to_a_pipe_stays_whole() {
        assert_eq!(pieces('+', LINE, Some(80)), [format!("+ {LINE}")]);
        assert_eq!(pieces('+', LINE, None), [format!("+ {LINE}")]);
        assert_eq!(pieces('+', "", Some(80)), ["+"]);
    }

    #[test]
    fn a_wide_line_is_broken_at_spaces_and_its_rest_indented() {
        assert_eq!(
            pieces('+', LINE, Some(40)),
            ["+     let answer = ask(the_model,", "+             about_something).await;"]
        );
    }

    #[test]
    fn the_rest_of_a_comment_is_a_comment() {
        assert_eq!(
            pieces('+', "  /// Asks the model.", Some(18)),
            ["+   /// Asks the", "+   ///   model."]
        );
    }

    #[test]
    fn a_word_wider_than_the_terminal_stays_whole() {
        let word = "x".repeat(50);
        assert_eq!(pieces('-', &word, Some(20)), [format!("- {word}")]);
    }
}
