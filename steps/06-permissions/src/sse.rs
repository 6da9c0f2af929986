//! Server-sent events: how a reply comes while it is still being written.
//!
//! The body of the response is text in lines. `event: NAME` and `data: …` lines fill an event, an
//! empty line ends it. The network cuts that text where it likes, through a line end or through a
//! character, so bytes are collected until a line is whole, and only whole lines are read.
//!
//! This follows the standard (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//! Left out on purpose: `id` and `retry`, which serve to reconnect. A model's reply cannot be
//! resumed in its middle, so both are skipped like any unknown field.

use anyhow::{Result, bail};

/// The most bytes we hold for one event, and for one line. Real events are a few hundred bytes; a
/// server that never ends a line must not fill our memory.
pub const LIMIT: usize = 8 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// `message` where the stream gives no name.
    pub name: String,
    pub data: String,
}

/// Bytes in, events out. What is still in here when the stream ends was an event without its end,
/// and the standard says to forget it.
#[derive(Default)]
pub struct EventReader {
    line: Vec<u8>,
    event: Event,
    /// The last byte was a CR: if a LF comes next, both together were one line end.
    after_cr: bool,
    /// The first line is behind us, and with it the place for a byte-order mark.
    begun: bool,
}

impl EventReader {
    /// Takes the next bytes, however they were cut; gives the events that end in them.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > LIMIT {
                bail!("the model's stream holds a line of more than {LIMIT} bytes: given up");
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// Reads the line that is now whole. An empty one gives the event that stands before it.
    fn end_line(&mut self) -> Result<Option<Event>> {
        let line = std::mem::take(&mut self.line);
        let bom: &[u8] =
            if std::mem::replace(&mut self.begun, true) { b"" } else { b"\xef\xbb\xbf" };
        let text = line.strip_prefix(bom).unwrap_or(&line);
        if text.is_empty() {
            return Ok(self.end_event());
        }
        self.read_field(&String::from_utf8_lossy(text))?;
        Ok(None)
    }

    /// `name: value`. One space after the colon belongs to the form and not to the value; a line
    /// without a colon is a name alone; a line that begins with one is a comment.
    fn read_field(&mut self, line: &str) -> Result<()> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_string(),
            "data" => {
                if self.event.data.len() + value.len() >= LIMIT {
                    bail!("the model's stream holds an event of more than {LIMIT} bytes: given up");
                }
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            _ => {}
        }
        Ok(())
    }

    /// The event, unless no data line came: then there was none, and its name is forgotten.
    fn end_event(&mut self) -> Option<Event> {
        let mut event = std::mem::take(&mut self.event);
        event.data.pop()?; // the line feed after the last data line
        if event.name.is_empty() {
            event.name.push_str("message");
        }
        Some(event)
    }
}

#[cfg(test)]
#[path = "../tests/sse.rs"]
mod tests;
