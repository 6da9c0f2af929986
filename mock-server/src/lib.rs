pub mod scene;
mod values;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

pub use scene::Scene;
pub use values::Values;

impl Scene {
    /// Reads a scene. The error names file and line of everything that is wrong.
    pub fn read(path: &Path) -> Result<Scene> {
        let _ = path;
        anyhow::bail!("not yet")
    }
}

/// A running scripted model. It listens on loopback until `stop` or drop.
pub struct ScriptedModel {}

pub struct Options {
    /// 0: any free port.
    pub port: u16,
    /// The run's values.
    pub values: Values,
    /// `Some` replaces the scene's pace.
    pub pace: Option<Duration>,
    /// Where the stage hears of what happens; without it stage actions are only noted.
    pub events: Option<mpsc::UnboundedSender<Event>>,
    /// Folder of the run; replaced before tokens are counted, so that they are the same everywhere.
    pub rooms: Vec<String>,
}

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

impl ScriptedModel {
    pub async fn start(scene: Scene, options: Options) -> Result<Self> {
        let _ = (scene, options);
        anyhow::bail!("not yet")
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        String::new()
    }

    /// All exchanges so far (the newest 200 where the server stands alone).
    pub fn journal(&self) -> Vec<Exchange> {
        Vec::new()
    }

    pub fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// The run's values, captured ones included (of the run with this API key).
    pub fn values(&self, key: &str) -> Values {
        let _ = key;
        Values::default()
    }

    /// Stops accepting, drops open connections, and ends the inner server.
    pub async fn stop(self) {}
}
