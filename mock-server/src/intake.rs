//! Taking a request in: its headers, its size, and its JSON.

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use hyper::body::Bytes;
use serde_json::Value;

/// The API's own limit for a request.
const LARGEST: usize = 32 << 20;

/// Why a request is not played.
pub enum Refused {
    /// It is answered with this status and message.
    Answer { status: u16, message: String },
    /// It broke off on the way: nobody asked anything, so nobody is answered.
    BrokenOff,
}

impl Refused {
    pub fn answer(status: u16, message: impl Into<String>) -> Self {
        Self::Answer { status, message: message.into() }
    }
}

/// A request's body, if its headers are as they must be.
pub async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Refused> {
    let bytes = collect(body).await?;
    has_key(headers)?;
    if header(headers, "anthropic-version").is_none() {
        return Err(Refused::answer(400, "anthropic-version: header is required"));
    }
    let is_json = header(headers, "content-type").is_some_and(|kind| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if !is_json {
        return Err(Refused::answer(400, "content-type: Input should be 'application/json'"));
    }
    Ok(bytes)
}

pub fn has_key(headers: &HeaderMap) -> Result<(), Refused> {
    match header(headers, "x-api-key") {
        Some(key) if !key.is_empty() => Ok(()),
        _ => Err(Refused::answer(401, "x-api-key header is required")),
    }
}

pub fn parse(bytes: &[u8]) -> Result<Value, Refused> {
    serde_json::from_slice(bytes).map_err(|wrong| {
        Refused::answer(400, format!("The request body is not valid JSON: {wrong}"))
    })
}

/// The whole body. A body too large is read to its end all the same, since a client that is still
/// writing would see a broken connection and not the answer.
async fn collect(mut body: Body) -> Result<Bytes, Refused> {
    let mut bytes = Vec::new();
    let mut size = 0;
    while let Some(frame) =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
    {
        // Fewer bytes than promised are no request, however whole they look.
        let frame = frame.map_err(|_| Refused::BrokenOff)?;
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size > LARGEST {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    if size > LARGEST {
        return Err(Refused::answer(413, "Request exceeds the maximum size"));
    }
    Ok(Bytes::from(bytes))
}

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
