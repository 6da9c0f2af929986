//! What the server tells of itself: events for the stage, faults, and exchanges.

use std::time::Instant;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::scene;

/// What happened at the model.
pub enum Event {
    /// A request has come that a line expects. Its reply waits until `go` is sent or dropped.
    Came {
        number: usize,
        part: String,
        attempt: usize,
        stage: Vec<scene::StageAction>,
        go: oneshot::Sender<()>,
    },
    /// A reply has gone out whole.
    Delivered { number: usize, part: String, next: Next },
    /// The program broke a rule of the API, or an expectation of the scene was missed.
    Fault(Fault),
}

/// What the script has after a delivered reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The reply called tools (or was cut): the program asks again by itself.
    Request,
    /// The turn is over; the next user line, as an index into the part's lines.
    User(usize),
    End,
}

/// Something that should not have happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Number of the request, counted from 1 over all parts.
    pub request: usize,
    pub kind: FaultKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultKind {
    /// The request broke a rule of the API (it was answered with a 4xx).
    Protocol,
    /// No line of the scene expects this request.
    Unexpected,
    /// The request came, but not as the line expects it.
    Missed,
}

/// One request and what was answered.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Counted from 1 over all parts.
    pub number: usize,
    /// The part it belongs to, and the reply's index among the part's lines; `None` if no line expected it.
    pub place: Option<(String, usize)>,
    pub attempt: usize,
    pub request: Value,
    pub status: u16,
    /// The reply as one JSON value, also where it was streamed.
    pub reply: Value,
    pub came: Instant,
    pub gone: Option<Instant>,
}
