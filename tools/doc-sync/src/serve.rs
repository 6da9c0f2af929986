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

use anyhow::{Context, Result, bail};
use tokio::net::TcpListener;
use tokio::sync::{RwLock, watch};
use tokio::task::spawn_blocking;

use crate::build::{self, Made};
use crate::press;

/// How many ports are tried.
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

/// Serves the book in `folder`, a path from the repository's root, until Ctrl+C: at `port`, or at
/// the next one that is free.
pub fn serve(root: &Path, folder: &Path, port: u16) -> Result<()> {
    press::ready(root)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the server's runtime could not be started")?;
    let desk = Desk { root: root.to_path_buf(), folder: folder.to_path_buf() };
    let result = runtime.block_on(until_interrupted(&desk, port));
    runtime.shutdown_timeout(LAST_BUILD);
    result
}

/// Where the book is written.
#[derive(Debug, Clone)]
struct Desk {
    root: PathBuf,
    /// From the root.
    folder: PathBuf,
}

async fn until_interrupted(desk: &Desk, port: u16) -> Result<()> {
    let listener = listen(port).await?;
    let address = listener.local_addr().context("the server has no address")?;
    // Numbers of an earlier server must not come again, or its open pages would not load anew.
    let number = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let first = Edition { number, pages: None, faults: vec!["the book is being made".into()] };
    let (editions, newest) = watch::channel(first);
    let making = Arc::new(RwLock::new(()));
    let site = site::router(newest, making.clone());
    println!(
        "the book is at http://{address} and follows the chapters and the steps; Ctrl+C ends it"
    );
    tokio::select! {
        served = axum::serve(listener, site) => served.context("the server ended"),
        kept = keep_up(desk, editions, making) => kept,
        interrupt = tokio::signal::ctrl_c() => {
            println!("\nended");
            interrupt.context("Ctrl+C cannot be waited for")
        }
    }
}

/// The port, or the next one that nobody has.
async fn listen(port: u16) -> Result<TcpListener> {
    let last = port.saturating_add(PORTS);
    let mut why = String::new();
    for port in port..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => why = error.to_string(),
        }
    }
    bail!("no port from {port} to {last} can be had ({why}); name another with --port")
}

/// Makes the book, and makes it anew after each change.
async fn keep_up(
    desk: &Desk,
    editions: watch::Sender<Edition>,
    making: Arc<RwLock<()>>,
) -> Result<()> {
    let mut seen = changes::stamps(desk);
    loop {
        let made = make(desk, &making).await?;
        print!("{made}");
        editions.send_modify(|edition| {
            edition.number += 1;
            edition.faults = made.faults;
            // Where the pages could not be made, the last ones are still there to read.
            edition.pages = made.pages.or(edition.pages.take());
        });
        let changed = changes::next(desk, &mut seen, LOOK).await;
        println!("\n{} changed", changed.display());
    }
}

async fn make(desk: &Desk, making: &RwLock<()>) -> Result<Made> {
    let (at, failed) = (desk.clone(), "the check of the book broke off");
    let faults =
        spawn_blocking(move || build::faults(&at.root, &at.folder)).await.context(failed)?;
    // Whoever asks for a page meanwhile waits: mdBook empties the folder first.
    let _making = making.write().await;
    let (at, failed) = (desk.clone(), "the making of the pages broke off");
    spawn_blocking(move || build::pages(&at.root, &at.folder, faults)).await.context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_is_taken_is_passed_over() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let found = listen(port).await.unwrap().local_addr().unwrap().port();
        assert!(found > port && found <= port.saturating_add(PORTS), "{found} after {port}");
    }
}
