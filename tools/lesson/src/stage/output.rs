//! What a program writes: read as it comes, decoded, and kept up to a limit.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use crate::screen::plain;

/// Output that is kept. A demonstration writes a few kilobytes; one that passes this never ends.
pub const LIMIT: usize = 4 * 1024 * 1024;

/// A piece of output: valid text, with its colours.
#[derive(Debug)]
pub struct Piece {
    pub text: String,
    /// Bytes came that are not UTF-8.
    pub broken: bool,
}

/// Reads a pipe until it ends. The channel is bounded, so a program that writes without end waits.
pub async fn read_pieces(mut pipe: impl AsyncRead + Unpin, pieces: mpsc::Sender<Piece>) {
    let mut buffer = vec![0; 16 * 1024];
    let mut open = Vec::new();
    loop {
        let count = pipe.read(&mut buffer).await.unwrap_or(0);
        open.extend_from_slice(&buffer[..count]);
        let piece = take_piece(&mut open, count == 0);
        if !piece.text.is_empty() && pieces.send(piece).await.is_err() {
            return;
        }
        if count == 0 {
            return;
        }
    }
}

/// Takes what can be decoded. A character or a colour whose end has not come yet stays.
fn take_piece(open: &mut Vec<u8>, is_last: bool) -> Piece {
    let whole = if is_last { open.len() } else { whole_length(open) };
    let bytes: Vec<u8> = open.drain(..whole).collect();
    match String::from_utf8(bytes) {
        Ok(text) => Piece { text, broken: false },
        Err(error) => {
            Piece { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), broken: true }
        }
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

/// Everything written so far, without colours, and where each request found it.
#[derive(Debug, Default)]
pub struct Transcript {
    pub text: String,
    /// Where the answer to the last request begins.
    pub answer_from: usize,
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
        self.text.push_str(&plain(&piece.text));
        self.broken |= piece.broken;
        self.log.push(Entry::Output(self.text.len()));
        self.text.len() <= LIMIT
    }

    pub fn answer(&self) -> &str {
        &self.text[self.answer_from..]
    }

    /// The last line that is not empty, for messages.
    pub fn last_words(&self) -> Option<&str> {
        self.text.lines().map(str::trim).rfind(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.to_string(), broken: false }
    }

    #[test]
    fn a_character_cut_by_the_pipe_arrives_whole() {
        let text = "灯 \x1b[32mgrün\x1b[0m 🏮";
        let mut open = Vec::new();
        let mut seen = String::new();
        for byte in text.bytes() {
            open.push(byte);
            let piece = take_piece(&mut open, false);
            assert!(!piece.broken);
            seen.push_str(&piece.text);
        }
        seen.push_str(&take_piece(&mut open, true).text);
        assert_eq!(seen, text);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_noticed() {
        let mut open = b"ab\xff\xfecd".to_vec();
        let piece = take_piece(&mut open, false);
        assert!(piece.broken);
        assert_eq!(piece.text, "ab\u{fffd}\u{fffd}cd");
    }

    #[test]
    fn colours_are_not_part_of_what_was_written() {
        let mut transcript = Transcript::default();
        assert!(transcript.add(&piece("\x1b[1mport\x1b[0m 4711\n")));
        assert_eq!(transcript.text, "port 4711\n");
        assert_eq!(transcript.last_words(), Some("port 4711"));
    }

    #[test]
    fn output_without_end_passes_the_limit() {
        let mut transcript = Transcript::default();
        let much = piece(&"x".repeat(LIMIT / 2));
        assert!(transcript.add(&much) && transcript.add(&much));
        assert!(!transcript.add(&much));
    }
}
