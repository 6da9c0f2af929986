//! The server as a whole: a thread of its own that runs the front until it is told to stop.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{mpsc, oneshot};

use crate::event::{Event, Exchange, Fault};
use crate::front::{self, Front};
use crate::gate::{self, Gate};
use crate::journal::Journal;
use crate::place::Place;
use crate::scene::Scene;
use crate::values::Values;
use crate::{expect, inner};

/// How long `stop` waits for the server's thread, which may be in the middle of a large request.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running scripted model. It listens on loopback until `stop` or drop.
pub struct ScriptedModel {
    address: SocketAddr,
    front: Arc<Front>,
    /// Dropped, it ends the server.
    stop: Option<oneshot::Sender<()>>,
    ended: Option<oneshot::Receiver<()>>,
}

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

impl ScriptedModel {
    /// Starts the server on a thread of its own, so that nothing the caller does can stall it.
    pub async fn start(scene: Scene, options: Options) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
            .with_context(|| format!("cannot listen on port {} of 127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let (started, front) = oneshot::channel();
        let (ending, ended) = oneshot::channel();
        std::thread::Builder::new().name("scripted-model".into()).spawn(move || {
            run(scene, options, listener, started, stopped);
            let _ = ending.send(());
        })?;
        let front = front.await.context("the scripted model did not start")??;
        Ok(Self { address, front, stop: Some(stop), ended: Some(ended) })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All exchanges so far (the newest 200 where the server stands alone).
    pub fn journal(&self) -> Vec<Exchange> {
        self.front.journal().exchanges()
    }

    /// All faults so far (the newest 200 where the server stands alone).
    pub fn faults(&self) -> Vec<Fault> {
        self.front.journal().faults()
    }

    /// The run's values, captured ones included (of the run with this API key).
    pub fn values(&self, key: &str) -> Values {
        self.front.values_of(key)
    }

    /// Holds every reply of a line (an index among the part's lines), after so many events of it,
    /// until the gate is released or dropped. Errors if there is no such part.
    pub fn hold(&self, part: &str, line: usize, after: usize) -> Result<Gate> {
        let part = self.front.scene.parts.iter().position(|known| known.name == part);
        let part = part.context("there is no such part")?;
        let (hold, gate) = gate::gate(Place { part, line }, after);
        self.front.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
        Ok(gate)
    }

    /// Stops accepting, drops open connections, and ends the inner server. A thread that is busy
    /// is waited for one second; it ends by itself.
    pub async fn stop(mut self) {
        self.stop.take();
        if let Some(ended) = self.ended.take() {
            let _ = tokio::time::timeout(PATIENCE, ended).await;
        }
    }
}

/// The server's thread: serves until it is told to stop.
fn run(
    scene: Scene,
    options: Options,
    listener: TcpListener,
    started: oneshot::Sender<Result<Arc<Front>>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(wrong) => {
            let _ = started.send(Err(wrong).context("cannot start a runtime"));
            return;
        }
    };
    runtime.block_on(async {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(wrong) => {
                let _ = started.send(Err(wrong).context("cannot listen"));
                return;
            }
        };
        let front = Arc::new(front(scene, options).await);
        let _ = started.send(Ok(front.clone()));
        tokio::select! {
            () = accept(listener, front) => {}
            _ = stopped => {}
        }
    });
    // Open connections are dropped; a large request that is being judged is not waited for.
    runtime.shutdown_background();
}

/// Serves every connection in a task of its own.
async fn accept(listener: tokio::net::TcpListener, front: Arc<Front>) {
    // Without a stage, a program that has sent its request may close its side and still listen.
    // With one, an end of the connection means that the program was killed or interrupted: its
    // reply has then not been delivered.
    let half_close = front.events.is_none();
    let router = axum::Router::new().fallback(front::handle).with_state(front);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Too many open files, most likely: some will be closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Without it the system holds small events back, and a stream runs at a seventh.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let mut server = http1::Builder::new();
        let server = server.timer(TokioTimer::new()).half_close(half_close);
        tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
    }
}

async fn front(scene: Scene, options: Options) -> Front {
    let scene = Arc::new(scene);
    Front {
        inner: inner::Inner::start(scene.clone()).await,
        scene,
        values: options.values,
        pace: options.pace,
        journal: Mutex::new(Journal::new(options.events.is_none())),
        events: options.events,
        rooms: options.rooms,
        keys: Mutex::default(),
        holds: Mutex::default(),
        patterns: expect::Patterns::default(),
        numbers: AtomicUsize::new(0),
    }
}
