//! What a program writes: read as it comes, decoded, and kept up to a limit.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use crate::screen::plain;

/// Output that is kept. A demonstration writes a few kilobytes; one that passes this never ends.
pub const LIMIT: usize = 4 * 1024 * 1024;

/// Characters of a line that a message quotes.
const LAST_WORDS: usize = 200;

/// A piece of output: valid text, with its colours.
#[derive(Debug)]
pub struct Piece {
    pub text: String,
    /// Bytes came that are not UTF-8.
    pub broken: bool,
    pub from: Pipe,
}

/// Which of a program's two outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pipe {
    Output,
    Errors,
}

/// Reads a pipe until it ends. The channel is bounded, so a program that writes without end waits.
pub async fn read_pieces(
    mut pipe: impl AsyncRead + Unpin,
    from: Pipe,
    pieces: mpsc::Sender<Piece>,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut open = Vec::new();
    loop {
        let count = pipe.read(&mut buffer).await.unwrap_or(0);
        open.extend_from_slice(&buffer[..count]);
        let piece = take_piece(&mut open, from, count == 0);
        if !piece.text.is_empty() && pieces.send(piece).await.is_err() {
            return;
        }
        if count == 0 {
            return;
        }
    }
}

/// Takes what can be decoded. A character or a colour whose end has not come yet stays.
fn take_piece(open: &mut Vec<u8>, from: Pipe, is_last: bool) -> Piece {
    let whole = if is_last { open.len() } else { whole_length(open) };
    let bytes: Vec<u8> = open.drain(..whole).collect();
    match String::from_utf8(bytes) {
        Ok(text) => Piece { text, broken: false, from },
        Err(error) => Piece {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            broken: true,
            from,
        },
    }
}

fn whole_length(bytes: &[u8]) -> usize {
    let mut whole = bytes.len();
    // A character has at most four bytes.
    for back in 1..=whole.min(3) {
        let lead = bytes[whole - back];
        let long = match lead {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => continue,
        };
        if long > back {
            whole -= back;
        }
        break;
    }
    // `ESC [ 1 ; 3 2 m` is short; what goes on longer than this without an end is no colour.
    let tail = &bytes[whole.saturating_sub(12)..whole];
    match tail.iter().rposition(|byte| *byte == 0x1b) {
        Some(at) if !tail[at..].contains(&b'm') => whole - (tail.len() - at),
        _ => whole,
    }
}

/// Everything written so far, without colours.
#[derive(Debug, Default)]
pub struct Transcript {
    pub text: String,
    /// What was written to standard output since the last request came.
    pub answer: String,
    /// What was written to standard error since then.
    pub errors: String,
    pub broken: bool,
    pub log: Vec<Entry>,
}

/// What happened, in the order in which the stage saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Entry {
    /// The text had grown to this many bytes.
    Output(usize),
    /// The Nth request of the main part has come.
    Request(usize),
    /// Its reply has gone out whole.
    Reply(usize),
}

impl Transcript {
    /// Adds a piece; false where the limit is passed.
    pub fn add(&mut self, piece: &Piece) -> bool {
        let text = plain(&piece.text);
        self.text.push_str(&text);
        match piece.from {
            Pipe::Output => self.answer.push_str(&text),
            Pipe::Errors => self.errors.push_str(&text),
        }
        self.broken |= piece.broken;
        self.log.push(Entry::Output(self.text.len()));
        self.text.len() <= LIMIT
    }

    /// The last line that is not empty, for messages; of a long one, its end.
    pub fn last_words(&self) -> Option<String> {
        let line = self.text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        match line.char_indices().rev().nth(LAST_WORDS) {
            None => Some(line.to_string()),
            Some((at, _)) => Some(format!("… {}", &line[at..])),
        }
    }

    /// The Nth request of the main part has come: what was written before it is no answer to it.
    pub fn request_came(&mut self, count: usize) {
        self.answer.clear();
        self.errors.clear();
        self.log.push(Entry::Request(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.to_string(), broken: false, from: Pipe::Output }
    }

    #[test]
    fn a_character_cut_by_the_pipe_arrives_whole() {
        let text = "灯 \x1b[32mgrün\x1b[0m 🏮";
        let mut open = Vec::new();
        let mut seen = String::new();
        for byte in text.bytes() {
            open.push(byte);
            let piece = take_piece(&mut open, Pipe::Output, false);
            assert!(!piece.broken);
            seen.push_str(&piece.text);
        }
        seen.push_str(&take_piece(&mut open, Pipe::Output, true).text);
        assert_eq!(seen, text);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_noticed() {
        let mut open = b"ab\xff\xfecd".to_vec();
        let piece = take_piece(&mut open, Pipe::Output, false);
        assert!(piece.broken);
        assert_eq!(piece.text, "ab\u{fffd}\u{fffd}cd");
    }

    #[test]
    fn colours_are_not_part_of_what_was_written() {
        let mut transcript = Transcript::default();
        assert!(transcript.add(&piece("\x1b[1mport\x1b[0m 4711\n")));
        assert_eq!(transcript.text, "port 4711\n");
        assert_eq!(transcript.last_words().as_deref(), Some("port 4711"));
    }

    #[test]
    fn of_a_long_line_only_the_end_is_quoted() {
        let mut transcript = Transcript::default();
        transcript.add(&piece(&format!("{}灯 off", "x".repeat(LIMIT / 2))));
        let quoted = transcript.last_words().expect("there are some");
        assert!(quoted.starts_with("… x") && quoted.ends_with("x灯 off"), "{quoted}");
        assert!(quoted.chars().count() < 210, "{quoted}");
    }

    #[test]
    fn what_goes_to_standard_error_is_no_answer() {
        let mut transcript = Transcript::default();
        transcript.add(&Piece { text: "warning\n".to_string(), broken: false, from: Pipe::Errors });
        transcript.add(&piece("4711\n"));
        assert_eq!(transcript.text, "warning\n4711\n");
        assert_eq!(transcript.answer, "4711\n");
    }

    #[test]
    fn output_without_end_passes_the_limit() {
        let mut transcript = Transcript::default();
        let much = piece(&"x".repeat(LIMIT / 2));
        assert!(transcript.add(&much) && transcript.add(&much));
        assert!(!transcript.add(&much));
    }
}
