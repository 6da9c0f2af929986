//! `serve`: the book in a browser, made anew whenever its chapters or the steps change.
//!
//! One task waits for changes, checks the book and has its pages made; the other answers the
//! browser. Between them stands the edition: the pages as they are now, and what is wrong with
//! them. A page that is open asks for the next edition and loads itself again when there is one.
//! What is added to a page for that is added on its way to the browser, and never on disk.

mod changes;
mod page;
mod site;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::{RwLock, watch};

use crate::build::{self, Made};
use crate::press;

/// The first port that is tried, and how many after it.
const PORT: u16 = 3000;
const PORTS: u16 = 100;
/// How often the files are looked at. Looking at all of them takes some milliseconds.
const LOOK: Duration = Duration::from_millis(400);
/// How long a build that has begun may go on after Ctrl+C.
const LAST_BUILD: Duration = Duration::from_secs(2);

/// What a browser gets: numbered, so that an open page can tell whether it is the newest.
#[derive(Debug, Clone)]
pub struct Edition {
    pub number: u64,
    /// The folder with the pages; none where none could be made yet.
    pub pages: Option<PathBuf>,
    pub faults: Vec<String>,
}

/// Serves the book in `book` until Ctrl+C.
pub fn serve(root: &Path, book: &Path) -> Result<()> {
    press::ready(root)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the server's runtime could not be started")?;
    let result = runtime.block_on(until_interrupted(root, book));
    runtime.shutdown_timeout(LAST_BUILD);
    result
}

async fn until_interrupted(root: &Path, book: &Path) -> Result<()> {
    let listener = listen().await?;
    let address = listener.local_addr().context("the server has no address")?;
    // Numbers of an earlier server must not come again, or its open pages would not load anew.
    let number = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let nothing_yet = Edition { number, pages: None, faults: vec!["the book is being made".into()] };
    let (sender, receiver) = watch::channel(nothing_yet);
    let making = Arc::new(RwLock::new(()));
    let site = site::router(receiver, making.clone());
    println!("the book is at http://{address}, and made anew when a chapter or a step changes; Ctrl+C ends it");
    tokio::select! {
        served = axum::serve(listener, site) => served.context("the server ended"),
        kept = keep_up(root, book, sender, making) => kept,
        interrupt = tokio::signal::ctrl_c() => {
            println!("\nended");
            interrupt.context("Ctrl+C cannot be waited for")
        }
    }
}

/// The usual port, or the next one that nobody has.
async fn listen() -> Result<TcpListener> {
    let mut last = None;
    for port in PORT..PORT + PORTS {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map(|error| error.to_string()).unwrap_or_default();
    anyhow::bail!("no port from {PORT} to {} is free: {why}", PORT + PORTS - 1)
}

/// Makes the book, and makes it anew after each change.
async fn keep_up(
    root: &Path,
    book: &Path,
    editions: watch::Sender<Edition>,
    making: Arc<RwLock<()>>,
) -> Result<()> {
    let mut seen = changes::stamps(root, book);
    loop {
        let made = {
            // Whoever asks for a page meanwhile waits: mdBook empties the folder first.
            let _making = making.write().await;
            make(root, book).await?
        };
        print!("{made}");
        editions.send_modify(|edition| {
            edition.number += 1;
            edition.faults = made.faults;
            // Where the pages could not be made, the last ones are still there to read.
            edition.pages = made.pages.or(edition.pages.take());
        });
        let changed = changes::next(root, book, &mut seen, LOOK).await;
        println!("{} changed", changed.display());
    }
}

async fn make(root: &Path, book: &Path) -> Result<Made> {
    let (root, book) = (root.to_path_buf(), book.to_path_buf());
    tokio::task::spawn_blocking(move || build::make(&root, &book))
        .await
        .context("the book could not be made")
}
