//! The front: takes a request, finds its place, lets the inner server speak, and drips what it
//! said as the scene asks.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::delivery::{Delivery, steps};
use crate::expect::{self, Patterns, reply_at};
use crate::gate::Hold;
use crate::inner::{Inner, speaker};
use crate::journal::Journal;
use crate::keys::Keys;
use crate::place::{self, Place};
use crate::reply::{self, Cue};
use crate::scene::{LineKind, Reply, Scene};
use crate::sse::{self, Flaws};
use crate::strict;
use crate::usage::{Measured, Usage};
use crate::values::Values;
use crate::{Event, Exchange, Fault, FaultKind, Next};

/// The API's own limit for a request.
const LARGEST: usize = 32 << 20;

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

/// A request that cannot be played: its status and the API's message.
struct Refused {
    status: u16,
    message: String,
}

/// A request that passed all rules.
struct Asked {
    number: usize,
    key: String,
    body: Value,
    measured: Measured,
}

/// A request whose line is found.
struct Cued {
    place: Place,
    cue: Cue,
    streamed: bool,
}

pub async fn handle(
    State(front): State<Arc<Front>>,
    request: Request,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    Ok(match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/_journal") => json(200, &front.journal().to_json()),
        (&Method::GET, "/v1/models") => front.said("models", &Cue::default()).await,
        (&Method::POST, "/v1/messages/count_tokens") => front.count(&parts.headers, body).await,
        (&Method::POST, "/v1/messages") => front.messages(&parts.headers, body).await,
        (method, path) => {
            let message = format!("Not found: {method} {path}");
            front.refuse(front.number(), Value::Null, Refused { status: 404, message })
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

    fn emit(&self, event: Event) {
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

    async fn count(&self, headers: &HeaderMap, body: Body) -> Response {
        let body = match read(headers, body).await {
            Ok((body, _)) => body,
            Err(refused) => return self.refuse(self.number(), Value::Null, refused),
        };
        let total = Measured::new(&body, &self.rooms).total();
        let usage = Usage { input_tokens: total, ..Usage::default() };
        self.said("tokens", &Cue { usage, ..Cue::default() }).await
    }

    async fn messages(self: &Arc<Self>, headers: &HeaderMap, body: Body) -> Response {
        let came = Instant::now();
        let number = self.number();
        let (body, size) = match read(headers, body).await {
            Ok(read) => read,
            Err(refused) => return self.refuse(number, Value::Null, refused),
        };
        let measured = Measured::new(&body, &self.rooms);
        if let Err(message) = strict::check(&body, &self.scene.limits, measured.total()) {
            return self.refuse(number, body, Refused { status: 400, message });
        }
        let key = header(headers, "x-api-key").unwrap_or_default().to_string();
        let place = {
            let values = self.values_of(&key);
            place::find(&self.scene, &values, &body).map(|place| (place, values))
        };
        let (place, values) = match place {
            Ok(found) => found,
            Err(surprise) => return self.surprised(number, body, size, came, surprise).await,
        };
        let asked = Asked { number, key, body, measured };
        let cued = self.cue(asked, place, values, size, came).await;
        self.play(cued).await
    }

    /// The run's values with those that this key has captured so far.
    pub fn values_of(&self, key: &str) -> Values {
        let captured = self.keys().get(key).and_then(|memory| memory.captured.clone());
        captured.unwrap_or_else(|| self.values.clone())
    }

    /// Answers a request that breaks a rule of the API.
    fn refuse(&self, number: usize, request: Value, refused: Refused) -> Response {
        let Refused { status, message } = refused;
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
        self.journal().add(exchange, message.len());
        self.fault(number, FaultKind::Protocol, message);
        json(status, &answer)
    }

    /// Answers a request that no line expects.
    async fn surprised(
        &self,
        number: usize,
        request: Value,
        size: usize,
        came: Instant,
        surprise: String,
    ) -> Response {
        self.fault(number, FaultKind::Unexpected, surprise.clone());
        let now = Some(Instant::now());
        let answer = reply::error("invalid_request_error", &surprise, number);
        let exchange = Exchange {
            number,
            place: None,
            attempt: 1,
            request,
            status: 400,
            reply: answer,
            came,
            gone: now,
        };
        self.journal().add(exchange, size);
        self.said("surprise", &Cue { number, surprise, ..Cue::default() }).await
    }

    /// Notes the request, looks at what it brings, and waits for the stage.
    async fn cue(
        &self,
        asked: Asked,
        place: Place,
        mut values: Values,
        size: usize,
        came: Instant,
    ) -> Cued {
        let Asked { number, key, body, measured } = asked;
        let part = &self.scene.parts[place.part];
        expect::capture(&self.scene, place, &body, &self.patterns, &mut values);
        let missed = expect::misses(&self.scene, place, &body, &self.patterns, &values);
        let is_start = crate::request::messages(&body).len() == 1;
        let attempt = {
            let mut keys = self.keys();
            let memory = keys.of(&key);
            memory.captured = Some(values.clone());
            memory.attempt(place, is_start)
        };
        let line = &part.lines[place.line];
        for miss in &missed {
            if self.keys().of(&key).is_new(place, miss) {
                let message = format!("{}:{}: {miss}", self.scene.path.display(), line.at);
                self.fault(number, FaultKind::Missed, message);
            }
        }
        let reply = reply_at(part, place.line);
        let strikes = reply.is_some_and(|reply| attempt <= reply.fault.status.len());
        let usage = if strikes {
            Usage::default()
        } else {
            let minimum = self.scene.limits.cache_minimum;
            self.keys().of(&key).cache.usage(&measured, minimum, Instant::now())
        };
        let main = place::main_so_far(&self.scene, &values, &body);
        let streamed = body["stream"] == true;
        let model = body["model"].as_str().unwrap_or_default().to_string();
        values.set("mark", place::mark(main, &part.name, place.line));
        let exchange = Exchange {
            number,
            place: Some((part.name.clone(), place.line)),
            attempt,
            request: body,
            status: 0,
            reply: Value::Null,
            came,
            gone: None,
        };
        self.journal().add(exchange, size);
        self.wait_for_stage(number, place, attempt).await;
        let missed = !missed.is_empty();
        let surprise = String::new();
        let cue = Cue { number, attempt, model, values, missed, usage, surprise };
        Cued { place, cue, streamed }
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

    /// Lets the line speak, and sends what it said.
    async fn play(self: &Arc<Self>, cued: Cued) -> Response {
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
            Err(wrong) => return inner_failed(&wrong, cue.number),
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
        let broken = error_event.is_some();
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

/// Reads a request's body; also its size in bytes.
async fn read(headers: &HeaderMap, body: Body) -> Result<(Value, usize), Refused> {
    let refused = |status, message: &str| Err(Refused { status, message: message.to_string() });
    let Some(bytes) = collect(body).await else {
        return refused(413, "Request exceeds the maximum size");
    };
    if header(headers, "x-api-key").is_none_or(str::is_empty) {
        return refused(401, "x-api-key header is required");
    }
    if header(headers, "anthropic-version").is_none() {
        return refused(400, "anthropic-version: header is required");
    }
    let is_json = header(headers, "content-type").is_some_and(|kind| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if !is_json {
        return refused(400, "content-type: Input should be 'application/json'");
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok((value, bytes.len())),
        Err(wrong) => refused(400, &format!("The request body is not valid JSON: {wrong}")),
    }
}

/// The whole body, or `None` if it is too large. A body too large is read to its end all the
/// same, since a client that is still writing would see a broken connection and not the answer.
async fn collect(mut body: Body) -> Option<Bytes> {
    let mut bytes = Vec::new();
    let mut size = 0;
    while let Some(frame) =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
    {
        let Some(data) = frame.ok().and_then(|frame| frame.into_data().ok()) else { break };
        size += data.len();
        if size > LARGEST {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    (size <= LARGEST).then(|| Bytes::from(bytes))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A whole message is valid JSON, so that broken arguments can only be missing there.
fn empty_arguments(message: &mut Value) {
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if block["type"] == "tool_use" {
            block["input"] = serde_json::json!({});
        }
    }
}

/// An error that the scene asks for.
fn refusal(status: u16, body: &Value, reply: &Reply) -> Response {
    let mut response = json(status, body);
    if let Some(wait) = reply.fault.retry_after
        && let Ok(value) = wait.as_millis().to_string().parse()
    {
        response.headers_mut().insert("retry-after-ms", value);
    }
    response
}

fn inner_failed(wrong: &anyhow::Error, number: usize) -> Response {
    let message = format!("the scripted model failed: {wrong:#}");
    json(500, &reply::error("api_error", &message, number))
}

fn json(status: u16, value: &Value) -> Response {
    let number = value["request_id"].as_str().and_then(|id| id.strip_prefix("req_")?.parse().ok());
    response(status, "application/json", number.unwrap_or(0), Body::from(value.to_string()))
}

fn whole(status: u16, bytes: Bytes) -> Response {
    response(status, "application/json", 0, Body::from(bytes))
}

fn response(status: u16, kind: &'static str, number: usize, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert("content-type", axum::http::HeaderValue::from_static(kind));
    if let Ok(id) = reply::request_id(number).parse() {
        headers.insert("request-id", id);
    }
    response
}
