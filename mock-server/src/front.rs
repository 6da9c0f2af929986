//! The front: takes a request, finds its place, lets the inner server speak, and drips what it
//! said as the scene asks.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::event::{Event, Exchange, Fault, FaultKind};
use crate::expect::{self, Patterns, reply_at};
use crate::gate::Hold;
use crate::inner::Inner;
use crate::intake::{Refused, has_key, header, parse, read};
use crate::journal::Journal;
use crate::keys::Keys;
use crate::place::{self, Place};
use crate::play::Cued;
use crate::reply::{self, Cue};
use crate::respond::{broken_off, inner_failed, json, whole};
use crate::scene::{Scene, StageAction};
use crate::strict;
use crate::usage::{Measured, Usage};
use crate::values::Values;

pub struct Front {
    pub scene: Arc<Scene>,
    pub inner: Inner,
    pub values: Values,
    pub pace: Option<Duration>,
    pub events: Option<mpsc::UnboundedSender<Event>>,
    pub rooms: Vec<String>,
    pub journal: Mutex<Journal>,
    pub keys: Mutex<Keys>,
    pub holds: Mutex<Vec<Arc<Hold>>>,
    pub patterns: Patterns,
    pub numbers: AtomicUsize,
}

/// From this size on, a request is read and judged on a thread of its own: others are not held up.
const LARGE: usize = 64 << 10;

/// A request as it came, not yet read.
struct Arrival {
    number: usize,
    key: String,
    bytes: Bytes,
    came: Instant,
}

/// A request that passed all rules.
struct Asked {
    number: usize,
    key: String,
    body: Value,
    measured: Measured,
    /// Of the body, in bytes.
    size: usize,
    came: Instant,
}

/// What a request turned out to be.
enum Judged {
    Refused {
        request: Value,
        size: usize,
        refused: Refused,
    },
    /// No line expects it.
    Surprise {
        asked: Box<Asked>,
        why: String,
    },
    Cued(Box<Cued>),
}

pub async fn handle(
    State(front): State<Arc<Front>>,
    request: Request,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    Ok(match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/_journal") => json(200, &front.journal().to_json()),
        (&Method::GET, "/v1/models") => front.models(&parts.headers).await,
        (&Method::POST, "/v1/messages/count_tokens") => front.count(&parts.headers, body).await,
        (&Method::POST, "/v1/messages") => front.messages(&parts.headers, body).await,
        (method, path) => {
            let refused = Refused::answer(404, format!("Not found: {method} {path}"));
            front.refuse(front.number(), Value::Null, 0, refused)
        }
    })
}

impl Front {
    pub fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn emit(&self, event: Event) {
        if let Some(events) = &self.events {
            // A stage that no longer listens misses nothing.
            let _ = events.send(event);
        }
    }

    fn fault(&self, request: usize, kind: FaultKind, message: String) {
        let fault = Fault { request, kind, message };
        self.journal().add_fault(fault.clone());
        self.emit(Event::Fault(fault));
    }

    async fn said(&self, speaker: &str, cue: &Cue) -> Response {
        match self.inner.ask(speaker, cue).await {
            Ok((status, bytes)) => whole(status, bytes),
            Err(wrong) => inner_failed(&wrong, cue.number),
        }
    }

    async fn models(&self, headers: &HeaderMap) -> Response {
        match has_key(headers) {
            Ok(()) => self.said("models", &Cue::default()).await,
            Err(refused) => self.refuse(self.number(), Value::Null, 0, refused),
        }
    }

    async fn count(self: &Arc<Self>, headers: &HeaderMap, body: Body) -> Response {
        let counted = match read(headers, body).await {
            Ok(bytes) => self.beside(bytes.len(), move |front| front.tokens_of(&bytes)).await,
            Err(refused) => Ok(Err((Value::Null, refused))),
        };
        match counted {
            Ok(Ok(input_tokens)) => {
                let usage = Usage { input_tokens, ..Usage::default() };
                self.said("tokens", &Cue { usage, ..Cue::default() }).await
            }
            Ok(Err((request, refused))) => self.refuse(self.number(), request, 0, refused),
            Err(wrong) => inner_failed(&wrong, 0),
        }
    }

    fn tokens_of(&self, bytes: &[u8]) -> Result<u64, (Value, Refused)> {
        let body = parse(bytes).map_err(|refused| (Value::Null, refused))?;
        match strict::check_counted(&body) {
            Ok(()) => Ok(Measured::new(&body, &self.rooms).total()),
            Err(message) => Err((body, Refused::answer(400, message))),
        }
    }

    async fn messages(self: &Arc<Self>, headers: &HeaderMap, body: Body) -> Response {
        let came = Instant::now();
        let bytes = match read(headers, body).await {
            Ok(bytes) => bytes,
            Err(Refused::BrokenOff) => return broken_off(),
            Err(refused) => return self.refuse(self.number(), Value::Null, 0, refused),
        };
        let number = self.number();
        let key = header(headers, "x-api-key").unwrap_or_default().to_string();
        let size = bytes.len();
        let arrival = Arrival { number, key, bytes, came };
        match self.beside(size, move |front| front.judge(arrival)).await {
            Ok(Judged::Cued(cued)) => {
                self.wait_for_stage(cued.cue.number, cued.place, cued.cue.attempt).await;
                self.play(*cued).await
            }
            Ok(Judged::Surprise { asked, why }) => self.surprised(*asked, why).await,
            Ok(Judged::Refused { request, size, refused }) => {
                self.refuse(number, request, size, refused)
            }
            Err(wrong) => inner_failed(&wrong, number),
        }
    }

    /// Work that grows with a request of so many bytes: of a large one on a thread of its own.
    async fn beside<T: Send + 'static>(
        self: &Arc<Self>,
        bytes: usize,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        if bytes < LARGE {
            return Ok(work(self));
        }
        let front = self.clone();
        let worked = tokio::task::spawn_blocking(move || work(&front)).await;
        worked.context("a request could not be judged")
    }

    /// Reads a request, tries the rules of the API on it, and finds its line.
    fn judge(&self, arrival: Arrival) -> Judged {
        let Arrival { number, key, bytes, came } = arrival;
        let size = bytes.len();
        let body = match parse(&bytes) {
            Ok(body) => body,
            Err(refused) => return Judged::Refused { request: Value::Null, size: 0, refused },
        };
        let measured = Measured::new(&body, &self.rooms);
        if let Err(message) = strict::check(&body, &self.scene.limits, measured.total()) {
            return Judged::Refused { request: body, size, refused: Refused::answer(400, message) };
        }
        let asked = Asked { number, key, body, measured, size, came };
        let values = self.values_of(&asked.key);
        match place::find(&self.scene, &values, &asked.body) {
            Ok(place) => Judged::Cued(Box::new(self.cue(asked, place, values))),
            Err(why) => Judged::Surprise { asked: Box::new(asked), why },
        }
    }

    /// The run's values with those that this key has captured so far.
    pub fn values_of(&self, key: &str) -> Values {
        let captured = self.keys().get(key).and_then(|memory| memory.captured.clone());
        captured.unwrap_or_else(|| self.values.clone())
    }

    /// Answers a request that breaks a rule of the API; `size` in bytes.
    fn refuse(&self, number: usize, request: Value, size: usize, refused: Refused) -> Response {
        let Refused::Answer { status, message } = refused else { return broken_off() };
        let (kind, _) = reply::kind_of_status(status);
        let answer = reply::error(kind, &message, number);
        let now = Instant::now();
        let exchange = Exchange {
            number,
            place: None,
            attempt: 1,
            request,
            status,
            reply: answer.clone(),
            came: now,
            gone: Some(now),
        };
        self.journal().add(exchange, size);
        self.fault(number, FaultKind::Protocol, message);
        json(status, &answer)
    }

    /// Answers a request that no line expects.
    async fn surprised(&self, asked: Asked, surprise: String) -> Response {
        let number = asked.number;
        self.fault(number, FaultKind::Unexpected, surprise.clone());
        let (size, mut exchange) = asked.into_exchange(None, 1);
        exchange.status = 400;
        exchange.reply = reply::error("invalid_request_error", &surprise, number);
        exchange.gone = Some(Instant::now());
        self.journal().add(exchange, size);
        self.said("surprise", &Cue { number, surprise, ..Cue::default() }).await
    }

    /// Looks at what the request brings, and notes it.
    fn cue(&self, asked: Asked, place: Place, mut values: Values) -> Cued {
        let part = &self.scene.parts[place.part];
        expect::capture(&self.scene, place, &asked.body, &self.patterns, &mut values);
        let misses = expect::misses(&self.scene, place, &asked.body, &self.patterns, &values);
        let attempt = self.attempt(&asked, place, &values);
        self.report(&asked, place, &misses);
        if place.part != 0 {
            let main = place::main_so_far(&self.scene, &values, &asked.body);
            values.set("mark", place::mark(main, &part.name, place.line));
        }
        let cue = Cue {
            number: asked.number,
            attempt,
            model: asked.body["model"].as_str().unwrap_or_default().to_string(),
            values,
            missed: !misses.is_empty(),
            usage: self.usage(&asked, place, attempt),
            surprise: String::new(),
        };
        let streamed = asked.body["stream"] == true;
        let (size, exchange) = asked.into_exchange(Some((part.name.clone(), place.line)), attempt);
        self.journal().add(exchange, size);
        Cued { place, cue, streamed }
    }

    /// Which attempt of this place this is; remembers the values as well.
    fn attempt(&self, asked: &Asked, place: Place, values: &Values) -> usize {
        let is_start = crate::request::messages(&asked.body).len() == 1;
        let mut keys = self.keys();
        let memory = keys.of(&asked.key);
        memory.captured = Some(values.clone());
        memory.attempt(place, is_start)
    }

    fn report(&self, asked: &Asked, place: Place, misses: &[String]) {
        let at = self.scene.parts[place.part].lines[place.line].at;
        for miss in misses {
            let is_new = self.keys().of(&asked.key).is_new(place, miss);
            if is_new {
                let message = format!("{}:{at}: {miss}", self.scene.path.display());
                self.fault(asked.number, FaultKind::Missed, message);
            }
        }
    }

    /// Usage of this attempt. One that is answered with an error reads and writes no cache. The time
    /// that the scene lets pass with its line passes for the cache afterwards.
    fn usage(&self, asked: &Asked, place: Place, attempt: usize) -> Usage {
        let reply = reply_at(&self.scene.parts[place.part], place.line);
        let (minimum, now) = (self.scene.limits.cache_minimum, Instant::now());
        let mut keys = self.keys();
        let cache = &mut keys.of(&asked.key).cache;
        let usage = match reply {
            Some(reply) if attempt <= reply.fault.status.len() => Usage::default(),
            _ => cache.usage(&asked.measured, minimum, now),
        };
        // Where the scene moves the program's clock on, what is kept grows old as well.
        for action in reply.filter(|_| attempt == 1).map_or(&[][..], |reply| &reply.stage) {
            if let StageAction::Clock(by) = action {
                cache.grow_old(*by, now);
            }
        }
        usage
    }

    /// Tells the stage that the request has come; the reply waits for its word.
    async fn wait_for_stage(&self, number: usize, place: Place, attempt: usize) {
        if self.events.is_none() {
            return;
        }
        let part = &self.scene.parts[place.part];
        let stage = match reply_at(part, place.line) {
            Some(reply) if attempt == 1 => reply.stage.clone(),
            _ => Vec::new(),
        };
        let (go, gone) = oneshot::channel();
        self.emit(Event::Came { number, part: part.name.clone(), attempt, stage, go });
        // Sent or dropped: both mean go.
        let _ = gone.await;
    }
}

impl Asked {
    /// Its entry in the journal, not yet answered, and its size.
    fn into_exchange(self, place: Option<(String, usize)>, attempt: usize) -> (usize, Exchange) {
        let exchange = Exchange {
            number: self.number,
            place,
            attempt,
            request: self.body,
            status: 0,
            reply: Value::Null,
            came: self.came,
            gone: None,
        };
        (self.size, exchange)
    }
}
