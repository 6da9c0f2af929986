//! Playing a line: the inner server says it, and it goes out as the scene asks.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::response::Response;
use serde_json::Value;

use crate::delivery::{Delivery, steps};
use crate::event::{Event, Next};
use crate::expect::reply_at;
use crate::front::Front;
use crate::inner::speaker;
use crate::place::Place;
use crate::reply::{self, Cue};
use crate::respond::{inner_failed, refusal, response};
use crate::scene::{LineKind, Reply};
use crate::sse::{self, Flaws};

/// A request whose line is found.
pub struct Cued {
    pub place: Place,
    pub cue: Cue,
    pub streamed: bool,
}

impl Front {
    /// Lets the line speak, and sends what it said.
    pub async fn play(self: &Arc<Self>, cued: Cued) -> Response {
        let Cued { place, cue, streamed } = cued;
        let part = &self.scene.parts[place.part];
        let Some(reply) = reply_at(part, place.line) else {
            return inner_failed(&anyhow::anyhow!("line {} is no reply", place.line), cue.number);
        };
        let asked = self.inner.ask(&speaker(&part.name, place.line), &cue).await;
        let answer =
            asked.and_then(|(status, bytes)| Ok((status, serde_json::from_slice(&bytes)?)));
        let (status, message): (u16, Value) = match answer {
            Ok(answer) => answer,
            Err(wrong) => {
                self.journal().change(cue.number, |exchange| exchange.status = 500);
                return inner_failed(&wrong, cue.number);
            }
        };
        self.journal().change(cue.number, |exchange| {
            exchange.status = status;
            exchange.reply = message.clone();
        });
        if status != 200 {
            self.journal().change(cue.number, |exchange| exchange.gone = Some(Instant::now()));
            return refusal(status, &message, reply);
        }
        self.deliver(place, &cue, reply, message, streamed)
    }

    fn deliver(
        self: &Arc<Self>,
        place: Place,
        cue: &Cue,
        reply: &Reply,
        mut message: Value,
        streamed: bool,
    ) -> Response {
        let fault = &reply.fault;
        let strikes = cue.attempt <= fault.status.len() + fault.attempts.max(1);
        let error_event = fault.error_event.clone().filter(|_| strikes);
        // A whole reply has no middle for an error event to stand in.
        let broken = streamed && error_event.is_some();
        let chunks: Vec<Vec<u8>> = if streamed {
            let flaws = Flaws { malformed: fault.malformed, error_event };
            sse::events(&message, &flaws).into_iter().map(String::into_bytes).collect()
        } else {
            if fault.malformed {
                empty_arguments(&mut message);
            }
            vec![message.to_string().into_bytes()]
        };
        let pace = self.pace.or(reply.pace).unwrap_or(self.scene.pace);
        let holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        let holds: Vec<_> = holds.iter().filter(|hold| hold.place == place).cloned().collect();
        let steps = steps(chunks, pace, fault, strikes, &holds);
        let (speech, otherwise) = reply::speech(reply, cue);
        let asks_again = !speech.calls.is_empty()
            || matches!(speech.stop.as_deref(), Some("max_tokens" | "pause_turn"));
        let next = self.next(place, asks_again, otherwise);
        let front = self.clone();
        let number = cue.number;
        let body = Delivery::new(steps, streamed, move |whole| {
            if whole {
                front.gone(number, place, next.clone(), !broken);
            }
        });
        let kind = if streamed { "text/event-stream; charset=utf-8" } else { "application/json" };
        response(200, kind, number, Body::new(body))
    }

    /// A reply's last byte is out.
    fn gone(&self, number: usize, place: Place, next: Next, delivered: bool) {
        self.journal().change(number, |exchange| exchange.gone = Some(Instant::now()));
        if delivered {
            let part = self.scene.parts[place.part].name.clone();
            self.emit(Event::Delivered { number, part, next });
        }
    }

    /// What the script has after this reply.
    fn next(&self, place: Place, asks_again: bool, otherwise: bool) -> Next {
        if asks_again {
            return Next::Request;
        }
        let lines = &self.scene.parts[place.part].lines;
        for (index, line) in lines.iter().enumerate().skip(place.line + 1) {
            match line.kind {
                LineKind::User(_) | LineKind::Types { .. } => return Next::User(index),
                // The turn goes on by itself: something sends the program back to the model.
                // Not after another reply than the script's: that one ended the turn.
                LineKind::Reply(_) if !otherwise => return Next::Request,
                LineKind::Reply(_) | LineKind::Answer(_) => {}
            }
        }
        Next::End
    }
}

/// A whole message is valid JSON, so that broken arguments can only be missing there.
fn empty_arguments(message: &mut Value) {
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if block["type"] == "tool_use" {
            block["input"] = serde_json::json!({});
        }
    }
}
