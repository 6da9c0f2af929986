//! The lines of the screen, as text: who speaks, what is called, what comes back.

use serde_json::Value;
use unicode_width::UnicodeWidthChar;

use super::RESULT_LINES;
use super::text::{fitted, visible, width};

/// Whether to use colours, and how many columns there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paint {
    pub colour: bool,
    pub width: usize,
}

/// What a piece of a line is, and so its colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ink {
    Plain,
    Bold,
    Dim,
    User,
    Model,
    Tool,
    Good,
    Bad,
    Outside,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Plain => "",
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::User => "1;36",
            Ink::Model => "1;35",
            Ink::Tool => "34",
            Ink::Good => "32",
            Ink::Bad => "31",
            Ink::Outside => "33",
        }
    }
}

impl Paint {
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        if !self.colour || ink == Ink::Plain || text.is_empty() {
            return text.to_string();
        }
        format!("\x1b[{}m{text}\x1b[0m", ink.code())
    }

    /// `→ read_file  src/main.rs`
    pub fn calls(&self, tool: &str, input: &Value) -> String {
        self.call(self.ink(Ink::Tool, "→"), tool, input)
    }

    /// `← read_file  src/main.rs`
    pub fn answers(&self, tool: &str, input: &Value) -> String {
        self.call(self.ink(Ink::Dim, "←"), tool, input)
    }

    fn call(&self, arrow: String, tool: &str, input: &Value) -> String {
        let tool = one_line(tool);
        let room = self.width.saturating_sub(6 + width(&tool));
        let arguments = fitted(&arguments(input), room);
        let gap = if arguments.is_empty() { "" } else { "  " };
        format!("  {arrow} {}{gap}{arguments}\n", self.ink(Ink::Bold, &tool))
    }

    /// At most five lines of a result, each cut to the width, and how many more there are.
    pub fn returns(&self, text: &str, is_error: bool) -> String {
        let shown = visible(text);
        let lines: Vec<&str> = shown.lines().collect();
        let ink = if is_error { Ink::Bad } else { Ink::Plain };
        let mut painted = String::new();
        for (n, line) in lines.iter().take(RESULT_LINES).enumerate() {
            let sign = match (is_error, n) {
                (true, 0) => self.ink(Ink::Bad, "✗"),
                (true, _) => " ".to_string(),
                (false, _) => self.ink(Ink::Dim, "│"),
            };
            let line = fitted(line.trim_end(), self.width.saturating_sub(6));
            painted.push_str(format!("    {sign} {}", self.ink(ink, &line)).trim_end());
            painted.push('\n');
        }
        if lines.is_empty() {
            painted.push_str(&format!("    {}\n", self.ink(Ink::Dim, "│ (nothing)")));
        }
        if lines.len() > RESULT_LINES {
            let more = lines.len() - RESULT_LINES;
            let more = format!("⋯ {more} more {} (the model gets all)", plural(more, "line"));
            painted.push_str(&format!("    {}\n", self.ink(Ink::Dim, &more)));
        }
        painted
    }

    /// `· retry 1 of 3: the model is overloaded (529), next try in 0.5 s`
    pub fn notes(&self, text: &str) -> String {
        let wrapped = self.wrapped("  · ", "    ", text);
        format!("{}\n", self.ink(Ink::Dim, &wrapped))
    }

    pub fn fails(&self, text: &str) -> String {
        format!("\n{}\n", self.ink(Ink::Bad, &self.wrapped("✗ ", "  ", text)))
    }

    /// Ends in `[y/n/a] ` without a line end: the answer stands behind it.
    pub fn asks(&self, question: &str) -> String {
        let wrapped = self.wrapped("? ", "  ", &format!("{question} [y/n/a]"));
        format!("\n{} ", self.ink(Ink::Outside, &wrapped))
    }

    /// A line that the user types.
    pub fn user(&self, text: &str) -> String {
        let wrapped = self.wrapped("you ▸ ", "      ", text);
        let text = wrapped.strip_prefix("you ▸").unwrap_or(&wrapped);
        format!("\n{}{text}\n", self.ink(Ink::User, "you ▸"))
    }

    /// What is done from outside the program.
    pub fn outside(&self, text: &str) -> String {
        format!("{}\n", self.ink(Ink::Outside, &self.wrapped("⚡ ", "  ", text)))
    }

    /// Text wrapped between words, the first line after `first`, the others after `rest`.
    pub fn wrapped(&self, first: &str, rest: &str, text: &str) -> String {
        let mut wrapper = Wrapper::new(*self, first.to_string(), width(first), rest);
        let mut wrapped = wrapper.more(text);
        wrapped.push_str(&wrapper.end());
        wrapped.trim_end().to_string()
    }
}

/// Wraps text that comes in pieces, between words, at the width.
#[derive(Debug)]
pub struct Wrapper {
    paint: Paint,
    /// What to write before the first word; empty once it is written.
    opening: String,
    /// What the lines after the first begin with.
    indent: String,
    column: usize,
    /// Nothing has been written after the opening.
    is_new: bool,
    /// White space that waits for a word: dropped where the line breaks.
    space: String,
    /// A word that may go on in the next piece.
    word: String,
}

impl Wrapper {
    fn new(paint: Paint, opening: String, column: usize, indent: &str) -> Self {
        let indent = indent.to_string();
        let (space, word) = (String::new(), String::new());
        Self { paint, opening, indent, column, is_new: true, space, word }
    }

    /// What the model says, after its bullet.
    pub fn speech(paint: Paint) -> Self {
        Self::new(paint, format!("\n{} ", paint.ink(Ink::Model, "●")), 2, "  ")
    }

    /// What can be shown now.
    pub fn more(&mut self, piece: &str) -> String {
        let mut shown = std::mem::take(&mut self.opening);
        for c in visible(piece).chars() {
            match c {
                '\n' => {
                    self.put_word(&mut shown);
                    self.space.clear();
                    shown.push('\n');
                    self.column = 0;
                    self.is_new = false;
                }
                ' ' => {
                    self.put_word(&mut shown);
                    self.space.push(' ');
                }
                _ => self.word.push(c),
            }
        }
        shown
    }

    /// What is left, and the end of the line.
    pub fn end(mut self) -> String {
        let mut shown = std::mem::take(&mut self.opening);
        self.put_word(&mut shown);
        if self.column > 0 {
            shown.push('\n');
        }
        shown
    }

    fn put_word(&mut self, shown: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let is_new = std::mem::replace(&mut self.is_new, false);
        if self.column == 0 && !is_new {
            self.begin_line(shown);
        } else if self.column + self.space.len() + width(&word) > self.paint.width {
            shown.push('\n');
            self.space.clear();
            self.begin_line(shown);
        }
        shown.push_str(&self.space);
        self.column += self.space.len();
        self.space.clear();
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            // A word wider than the line, or a script without spaces, breaks where it must.
            if self.column + wide > self.paint.width {
                shown.push('\n');
                self.begin_line(shown);
            }
            shown.push(c);
            self.column += wide;
        }
    }

    fn begin_line(&mut self, shown: &mut String) {
        shown.push_str(&self.indent);
        self.column = self.indent.len();
    }
}

/// The arguments of a call on one line: the first value as it is, the others after their names.
fn arguments(input: &Value) -> String {
    let Value::Object(fields) = input else {
        return if input.is_null() { String::new() } else { one_line(&input.to_string()) };
    };
    let mut shown = Vec::new();
    for (n, (name, value)) in fields.iter().enumerate() {
        let value = match value {
            Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        shown.push(if n == 0 { value } else { format!("{}={value}", one_line(name)) });
    }
    shown.join("  ")
}

fn one_line(text: &str) -> String {
    visible(text.trim_end_matches('\n')).replace('\n', "⏎")
}

pub fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_string() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: Paint = Paint { colour: false, width: 80 };
    const NARROW: Paint = Paint { colour: false, width: 24 };

    #[test]
    fn a_call_stands_on_one_line_with_its_arguments() {
        let input = json!({"path": "src/watch.rs", "old_text": "a\nb", "times": 2});
        let line = PLAIN.calls("edit_file", &input);
        assert_eq!(line, "  → edit_file  src/watch.rs  old_text=a⏎b  times=2\n");
        assert_eq!(NARROW.calls("edit_file", &input), "  → edit_file  src/watc…\n");
        assert_eq!(PLAIN.calls("list_files", &json!({})), "  → list_files\n");
        assert_eq!(PLAIN.answers("read_file", &json!({"path": "a"})), "  ← read_file  a\n");
    }

    #[test]
    fn a_result_shows_five_lines_and_counts_the_rest() {
        let text: String = (1..=19).map(|n| format!("line {n}\n")).collect();
        let shown = PLAIN.returns(&text, false);
        assert_eq!(shown.lines().count(), 6);
        assert!(shown.ends_with("    │ line 5\n    ⋯ 14 more lines (the model gets all)\n"));
        assert_eq!(PLAIN.returns("", false), "    │ (nothing)\n");
    }

    #[test]
    fn an_error_is_marked() {
        assert_eq!(
            PLAIN.returns("error: no\nsuch file", true),
            "    ✗ error: no\n      such file\n"
        );
    }

    #[test]
    fn speech_in_pieces_looks_like_speech_in_one() {
        let text = "The README should say where the settings are.\n\n  let x = 1;\nDone.";
        let whole = {
            let mut wrapper = Wrapper::speech(NARROW);
            wrapper.more(text) + &wrapper.end()
        };
        let mut wrapper = Wrapper::speech(NARROW);
        let mut pieces = String::new();
        for c in text.chars() {
            pieces.push_str(&wrapper.more(&c.to_string()));
        }
        pieces.push_str(&wrapper.end());
        assert_eq!(pieces, whole);
        assert!(whole.lines().all(|line| width(line) <= 24), "{whole}");
        assert!(whole.contains("\n    let x = 1;\n"), "{whole}");
    }

    #[test]
    fn wide_text_without_spaces_breaks_at_the_width() {
        let shown = NARROW.wrapped("", "", &"灯".repeat(30));
        assert!(shown.lines().all(|line| width(line) <= 24), "{shown}");
        assert_eq!(shown.matches('灯').count(), 30);
    }

    #[test]
    fn a_question_ends_where_the_answer_goes() {
        assert_eq!(PLAIN.asks("Run rm -rf logs?"), "\n? Run rm -rf logs? [y/n/a] ");
        let coloured = Paint { colour: true, width: 80 }.asks("Run it?");
        assert!(super::super::plain(&coloured).ends_with("[y/n/a] "));
    }

    #[test]
    fn escape_sequences_of_a_tool_do_not_reach_the_terminal() {
        let coloured = Paint { colour: true, width: 80 };
        let shown = coloured.returns("\x1b[2Jgone", false);
        assert!(!shown.contains("\x1b[2J"), "{shown:?}");
    }
}
