//! Answers the browser: the book's files, and the numbers of its editions as they appear.

use std::convert::Infallible;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream};
use tokio::sync::{RwLock, watch};

use super::{Edition, page};

/// What the pages are served from. Held for writing while the pages are made.
#[derive(Clone)]
struct Site {
    edition: watch::Receiver<Edition>,
    making: Arc<RwLock<()>>,
}

pub fn router(edition: watch::Receiver<Edition>, making: Arc<RwLock<()>>) -> Router {
    Router::new()
        .route("/-/editions", get(editions))
        .route("/", get(front))
        .route("/{*path}", get(file))
        .with_state(Site { edition, making })
}

/// The number of the edition that is there, then of each that comes.
async fn editions(State(site): State<Site>) -> impl IntoResponse {
    Sse::new(numbers(site.edition)).keep_alive(KeepAlive::default())
}

fn numbers(edition: watch::Receiver<Edition>) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((edition, false), |(mut edition, waits)| async move {
        if waits {
            edition.changed().await.ok()?;
        }
        let number = edition.borrow_and_update().number;
        Some((Ok(Event::default().data(number.to_string())), (edition, true)))
    })
}

async fn front(State(site): State<Site>) -> Response {
    answer(&site, "index.html").await
}

async fn file(State(site): State<Site>, UrlPath(path): UrlPath<String>) -> Response {
    answer(&site, &path).await
}

async fn answer(site: &Site, path: &str) -> Response {
    let _whole = site.making.read().await;
    let edition = site.edition.borrow().clone();
    let Some(pages) = &edition.pages else {
        return respond(StatusCode::OK, "text/html", page::without_a_book(&edition).into_bytes());
    };
    match read(pages, path) {
        Some((found, bytes)) => {
            respond(StatusCode::OK, kind(&found), dressed(&found, bytes, &edition))
        }
        None => {
            let missing = read(pages, "404.html").map(|(_, bytes)| bytes);
            let bytes = missing.unwrap_or_else(|| b"<body>there is no such page</body>".to_vec());
            let bytes = dressed(Path::new("404.html"), bytes, &edition);
            respond(StatusCode::NOT_FOUND, "text/html", bytes)
        }
    }
}

/// The file that a URL's path names within `pages`, and what it holds.
fn read(pages: &Path, path: &str) -> Option<(PathBuf, Vec<u8>)> {
    let path = Path::new(path);
    // `..`, a root or a drive would lead out of the book.
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let mut file = pages.join(path);
    if file.is_dir() {
        file.push("index.html");
    }
    std::fs::read(&file).ok().map(|bytes| (file, bytes))
}

/// A page with what is new; another file as it is.
fn dressed(file: &Path, bytes: Vec<u8>, edition: &Edition) -> Vec<u8> {
    if kind(file) != "text/html" {
        return bytes;
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    page::with_news(&String::from_utf8_lossy(&bytes), &name, edition).into_bytes()
}

fn respond(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Response {
    let kind =
        if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.into() };
    // The next edition must be seen, and reading from disk costs nothing here.
    let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store".to_string())];
    (status, headers, bytes).into_response()
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        Some("txt" | "md") => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[path = "site/tests.rs"]
mod tests;
