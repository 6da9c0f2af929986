//! The order of events. A text on the screen counts from when it stood there whole.

use mock_server::Values;
use mock_server::scene::Moment;

use super::super::output::{Entry, Transcript};
use super::text::{Layout, position};

/// Each moment must come after the one before it.
pub fn judge(moments: &[Moment], transcript: &Transcript, values: &Values) -> Result<(), String> {
    let mut reached = Place { entry: 0, byte: 0 };
    let mut before: Option<&Moment> = None;
    for moment in moments {
        let told = |moment: &Moment| values.fill(&name(moment));
        match find(moment, transcript, values, reached) {
            Some(place) => reached = place,
            None if find(moment, transcript, values, Place { entry: 0, byte: 0 }).is_none() => {
                return Err(format!("{} never came", told(moment)));
            }
            None => {
                let before = before.map(told).unwrap_or_default();
                return Err(format!(
                    "{} came before {before}, and should come after",
                    told(moment)
                ));
            }
        }
        before = Some(moment);
    }
    Ok(())
}

pub fn name(moment: &Moment) -> String {
    match moment {
        Moment::Request(n) => format!("request {n}"),
        Moment::Reply(n) => format!("the end of reply {n}"),
        Moment::Screen(text) => format!("“{text}” on the screen"),
    }
}

/// A place in the log, and the byte of the screen that was reached there.
#[derive(Debug, Clone, Copy)]
struct Place {
    entry: usize,
    byte: usize,
}

/// The first time at or after a place that the moment came.
fn find(moment: &Moment, transcript: &Transcript, values: &Values, from: Place) -> Option<Place> {
    let log = &transcript.log;
    let entry_of = |wanted: Entry| {
        let at = log.iter().position(|entry| *entry == wanted)?;
        (at >= from.entry).then_some(Place { entry: at, byte: from.byte })
    };
    match moment {
        Moment::Request(n) => entry_of(Entry::Request(*n)),
        Moment::Reply(n) => entry_of(Entry::Reply(*n)),
        Moment::Screen(text) => {
            let text = values.fill(text);
            let mut search = from.byte;
            loop {
                let (_, end) = position(&transcript.text, &text, Layout::Wrapped, search)?;
                let whole = |entry: &Entry| matches!(entry, Entry::Output(bytes) if *bytes >= end);
                let at = log.iter().position(whole)?;
                if at >= from.entry {
                    return Some(Place { entry: at, byte: end });
                }
                search = end;
            }
        }
    }
}
