//! The HTTP responses of the front.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::Bytes;
use serde_json::Value;

use crate::delivery::{Delivery, Step};
use crate::reply;
use crate::scene::Reply;

/// An error that the scene asks for.
pub fn refusal(status: u16, body: &Value, reply: &Reply) -> Response {
    let mut response = json(status, body);
    if let Some(wait) = reply.fault.retry_after
        && let Ok(value) = wait.as_millis().to_string().parse()
    {
        response.headers_mut().insert("retry-after-ms", value);
    }
    response
}

pub fn inner_failed(wrong: &anyhow::Error, number: usize) -> Response {
    let message = format!("the scripted model failed: {wrong:#}");
    json(500, &reply::error("api_error", &message, number))
}

/// No answer: the connection ends, since what came over it ended in its middle.
pub fn broken_off() -> Response {
    let nothing = Delivery::new([Step::Drop].into(), true, |_| {});
    response(400, "application/json", 0, Body::new(nothing))
}

pub fn json(status: u16, value: &Value) -> Response {
    let number = value["request_id"].as_str().and_then(|id| id.strip_prefix("req_")?.parse().ok());
    response(status, "application/json", number.unwrap_or(0), Body::from(value.to_string()))
}

pub fn whole(status: u16, bytes: Bytes) -> Response {
    response(status, "application/json", 0, Body::from(bytes))
}

pub fn response(status: u16, kind: &'static str, number: usize, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static(kind));
    if let Ok(id) = reply::request_id(number).parse() {
        headers.insert("request-id", id);
    }
    response
}
