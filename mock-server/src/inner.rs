//! The inner server: wiremock, with one mock for each reply line.
//!
//! The front finds the place and names it in a header; wiremock matches it and lets the line
//! speak. What it is sent is not the request but a cue made from it (see `reply.rs`): wiremock
//! keeps every matched request in memory, for as long as it lives. For the same reason it is
//! renewed after a number of requests, while open ones end on the old one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use wiremock::{Match, Mock, MockServer, Respond, ResponseTemplate};

use crate::reply::{Cue, answer, error};
use crate::scene::{LineKind, Scene};

/// The header that names what is to speak: `main:3`, or `surprise`, `models`, `tokens`.
const SPEAKER: &str = "x-speaker";
/// A cue and its bookkeeping are some kilobytes: this many keep a server below 20 MB.
const RENEW_AFTER: usize = 4_000;

type Speak = fn(&Cue) -> (u16, Value);

/// Who speaks beside the reply lines.
const OTHERS: [(&str, Speak); 3] =
    [("surprise", surprise), ("models", models), ("tokens", counted)];

type Connection = SendRequest<Full<Bytes>>;

pub struct Inner {
    scene: Arc<Scene>,
    now: Mutex<Arc<Generation>>,
    renewing: tokio::sync::Mutex<()>,
}

/// One wiremock server with its idle connections.
struct Generation {
    server: Option<MockServer>,
    idle: Mutex<Vec<Connection>>,
    requests: AtomicUsize,
}

impl Inner {
    pub async fn start(scene: Arc<Scene>) -> Self {
        let first = Arc::new(Generation::start(&scene).await);
        Self { scene, now: Mutex::new(first), renewing: tokio::sync::Mutex::new(()) }
    }

    /// What this speaker says on this cue: status and JSON.
    pub async fn ask(&self, speaker: &str, cue: &Cue) -> Result<(u16, Bytes)> {
        let generation = self.generation().await;
        generation.ask(speaker, serde_json::to_vec(cue)?).await
    }

    async fn generation(&self) -> Arc<Generation> {
        let now = self.current();
        if now.requests.fetch_add(1, Ordering::Relaxed) < RENEW_AFTER {
            return now;
        }
        let _only_one_renews = self.renewing.lock().await;
        let now = self.current();
        if now.requests.load(Ordering::Relaxed) <= RENEW_AFTER {
            return now;
        }
        let new = Arc::new(Generation::start(&self.scene).await);
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = new.clone();
        new
    }

    fn current(&self) -> Arc<Generation> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Generation {
    async fn start(scene: &Arc<Scene>) -> Self {
        let server = MockServer::builder().disable_request_recording().start().await;
        for (part, cast) in scene.parts.iter().enumerate() {
            for (line, spoken) in cast.lines.iter().enumerate() {
                if matches!(spoken.kind, LineKind::Reply(_)) {
                    let speaks = ReplyLine { scene: scene.clone(), part, line };
                    let given = Mock::given(Speaker(speaker(&cast.name, line)));
                    server.register(given.respond_with(speaks)).await;
                }
            }
        }
        for (name, speak) in OTHERS {
            let given = Mock::given(Speaker(name.to_string()));
            let speaks = move |request: &wiremock::Request| said(request, speak);
            server.register(given.respond_with(speaks)).await;
        }
        Self { server: Some(server), idle: Mutex::default(), requests: AtomicUsize::new(0) }
    }

    async fn ask(&self, speaker: &str, body: Vec<u8>) -> Result<(u16, Bytes)> {
        let request = Request::post("/")
            .header("host", "inner")
            .header(SPEAKER, speaker)
            .body(Full::new(Bytes::from(body)))?;
        let mut connection = self.connection().await?;
        let reply = connection.send_request(request).await.context("the inner server is gone")?;
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.context("the inner server broke off")?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok((status, body.to_bytes()))
    }

    /// An idle connection that still works, or a new one.
    async fn connection(&self) -> Result<Connection> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut connection) = idle else { break };
            if connection.ready().await.is_ok() {
                return Ok(connection);
            }
        }
        let server = self.server.as_ref().context("the inner server is gone")?;
        let stream = tokio::net::TcpStream::connect(server.address()).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(connection)
    }
}

impl Drop for Generation {
    /// On a thread of its own: wiremock blocks while it is dropped, and inside a task that has
    /// used up its share of time it would do so for ever.
    fn drop(&mut self) {
        let server = self.server.take();
        std::thread::spawn(move || drop(server));
    }
}

pub fn speaker(part: &str, line: usize) -> String {
    format!("{part}:{line}")
}

/// Matches requests for one speaker.
struct Speaker(String);

impl Match for Speaker {
    fn matches(&self, request: &wiremock::Request) -> bool {
        request.headers.get(SPEAKER).is_some_and(|name| name == self.0.as_str())
    }
}

/// Lets a reply line speak.
struct ReplyLine {
    scene: Arc<Scene>,
    part: usize,
    line: usize,
}

impl Respond for ReplyLine {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let part = &self.scene.parts[self.part];
        said(request, |cue| match &part.lines[self.line].kind {
            LineKind::Reply(reply) => answer(&part.name, self.line, reply, cue),
            _ => (500, error("api_error", "this line is no reply", cue.number)),
        })
    }
}

fn said(request: &wiremock::Request, speak: impl Fn(&Cue) -> (u16, Value)) -> ResponseTemplate {
    let (status, value) = match request.body_json::<Cue>() {
        Ok(cue) => speak(&cue),
        Err(wrong) => (500, error("api_error", &format!("not a cue: {wrong}"), 0)),
    };
    ResponseTemplate::new(status).set_body_json(value)
}

fn surprise(cue: &Cue) -> (u16, Value) {
    (400, error("invalid_request_error", &cue.surprise, cue.number))
}

fn counted(cue: &Cue) -> (u16, Value) {
    (200, serde_json::json!({"input_tokens": cue.usage.input_tokens}))
}

fn models(_: &Cue) -> (u16, Value) {
    let model = serde_json::json!({
        "type": "model",
        "id": "scripted",
        "display_name": "Scripted model",
        "created_at": "2025-01-01T00:00:00Z",
    });
    let list = serde_json::json!({
        "data": [model], "has_more": false, "first_id": "scripted", "last_id": "scripted",
    });
    (200, list)
}
