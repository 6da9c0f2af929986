//! Taking a request in: its headers, its size, and its JSON.

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use hyper::body::Bytes;
use serde_json::Value;

/// The API's own limit for a request.
const LARGEST: usize = 32 << 20;

/// A request that cannot be played: its status and the API's message.
pub struct Refused {
    pub status: u16,
    pub message: String,
}

/// Reads a request's body; also its size in bytes.
pub async fn read(headers: &HeaderMap, body: Body) -> Result<(Value, usize), Refused> {
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

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
