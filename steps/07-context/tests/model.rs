use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

/// A server that gives these answers, one a connection, each byte for byte; and the model that asks
/// it. A pause of 60 ms stands for each `|`.
fn model_that_gets(answers: &[&str]) -> Model {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/messages", listener.local_addr().unwrap());
    let answers: Vec<String> = answers.iter().map(|answer| answer.to_string()).collect();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 65_536];
            let _ = connection.read(&mut request);
            for (place, piece) in answer.split('|').enumerate() {
                if place > 0 {
                    std::thread::sleep(Duration::from_millis(60));
                }
                // A model that has lost its patience is gone.
                let _ = connection.write_all(piece.as_bytes());
            }
        }
    });
    let http = reqwest::Client::builder().no_proxy().read_timeout(Duration::from_secs(20));
    let (key, name) = ("k".to_string(), "m".to_string());
    Model { http: http.build().unwrap(), url, key, name, max_tokens: 100 }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len() - body.matches('|').count();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

const HELLO: &str = "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello.\"}}\n\n";
const END: &str =
    "event: content_block_stop\ndata: {\"index\":0}\n\nevent: message_stop\ndata: {}\n\n";

fn hello() -> String {
    answer("200 OK", "", &format!("{HELLO}{END}"))
}

/// What the model says to one question, or why it does not; and what was handed out.
async fn asked(model: &Model) -> (Result<Message>, Vec<Piece>) {
    let (mut reply, mut pieces) = (Assembly::default(), Vec::new());
    let messages = [json!(Message::from_user("hello"))];
    let mut hand_out = |piece| pieces.push(piece);
    let ended = model.ask(&json!([]), &messages, &[], &mut reply, &mut hand_out).await;
    (ended.and_then(|()| usable(reply.into_reply())), pieces)
}

async fn error_of(model: Model) -> String {
    format!("{:#}", asked(&model).await.0.unwrap_err()).replace(&model.url, "URL")
}

fn said(text: &str) -> Message {
    Message { role: Role::Assistant, content: vec![Block::Text { text: text.to_string() }] }
}

fn reply(stop_reason: &str, content: Value) -> Reply {
    Reply {
        content: serde_json::from_value(content).unwrap(),
        stop_reason: Some(stop_reason.to_string()),
        usage: Usage::default(),
    }
}

#[tokio::test]
async fn a_reply_is_handed_out_in_pieces_and_becomes_a_message() {
    let (message, pieces) = asked(&model_that_gets(&[&hello()])).await;
    assert_eq!(message.unwrap(), said("Hello."));
    assert_eq!(pieces.first(), Some(&Piece::Text("Hello.".to_string())));
}

#[tokio::test]
async fn an_http_error_names_status_type_and_message() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    assert_eq!(
        error_of(model_that_gets(&[&answer("401 Unauthorized", "", &body.to_string())])).await,
        "the model answered 401: authentication_error: invalid x-api-key"
    );
}

#[tokio::test]
async fn what_passes_is_tried_again_and_the_wait_of_the_server_is_kept() {
    let busy = answer("529 Busy", "retry-after-ms: 20\r\n", "{}");
    let (message, _) = asked(&model_that_gets(&[&busy, &busy, &busy, &hello()])).await;
    assert_eq!(message.unwrap(), said("Hello."));
}

#[tokio::test]
async fn after_three_more_tries_it_is_an_error() {
    let busy = answer("503 Busy", "retry-after-ms: 20\r\n", "later");
    let error = error_of(model_that_gets(&[&busy, &busy, &busy, &busy, &hello()])).await;
    assert_eq!(error, "the model answered 503: later");
}

#[tokio::test]
async fn what_is_wrong_is_not_tried_again() {
    for status in ["400 Bad Request", "401 Unauthorized"] {
        let wrong = answer(status, "x-should-retry: true\r\nretry-after-ms: 20\r\n", "no");
        let error = error_of(model_that_gets(&[&wrong, &hello()])).await;
        assert!(error.starts_with("the model answered 40"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_any_text_is_tried_again() {
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nevent: ping\n";
    let (message, _) = asked(&model_that_gets(&["", broken, &hello()])).await;
    assert_eq!(message.unwrap(), said("Hello."));
}

#[tokio::test]
async fn once_text_was_shown_the_reply_is_not_tried_again() {
    let broken = format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{HELLO}");
    let error = error_of(model_that_gets(&[&broken, &hello()])).await;
    assert!(error.starts_with("no connection to the model"), "{error}");
    let overloaded = "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Later.\"}}\n\n";
    let broken = answer("200 OK", "", &format!("{HELLO}{overloaded}"));
    let error = error_of(model_that_gets(&[&broken, &hello()])).await;
    assert_eq!(error, "the model broke off: overloaded_error: Later.");
}

#[tokio::test]
async fn every_byte_counts_as_a_sign_of_life_and_silence_ends_the_call() {
    // Sixteen comments, 60 ms apart, come to more than the patience of half a second.
    let slow = answer("200 OK", "", &format!("{}{HELLO}{END}", ":\n|".repeat(16)));
    let silent = answer("200 OK", "", &format!("{HELLO}{}{END}", "|".repeat(40)));
    let mut model = model_that_gets(&[&slow, &silent]);
    let patience = Duration::from_millis(500);
    model.http = patient(reqwest::Client::builder().no_proxy(), patience).build().unwrap();
    assert_eq!(asked(&model).await.0.unwrap(), said("Hello."));
    let error = format!("{:#}", asked(&model).await.0.unwrap_err());
    assert!(error.contains("timed out"), "{error}");
}

const JSON: &str = "content-type: application/json; charset=utf-8\r\n";

#[tokio::test]
async fn a_message_that_comes_whole_is_used() {
    let body =
        json!({ "content": [{ "type": "text", "text": "Hello." }], "stop_reason": "end_turn" });
    let (message, pieces) =
        asked(&model_that_gets(&[&answer("200 OK", JSON, &body.to_string())])).await;
    assert_eq!(message.unwrap(), said("Hello."));
    assert_eq!(pieces.first(), Some(&Piece::Text("Hello.".to_string())));
}

#[tokio::test]
async fn what_is_neither_stream_nor_message_is_quoted_and_not_tried_again() {
    let odd = answer("200 OK", JSON, "{\"choices\":[]}");
    let error = error_of(model_that_gets(&[&odd, &hello()])).await;
    assert_eq!(error, "the model sent neither a stream nor a message: {\"choices\":[]}");
}

#[tokio::test]
async fn a_message_is_known_by_its_content_type_in_any_case() {
    let json = "Content-Type: Application/JSON\r\n";
    let body = json!({ "content": [{ "type": "text", "text": "Hello." }] }).to_string();
    let (message, _) = asked(&model_that_gets(&[&answer("200 OK", json, &body)])).await;
    assert_eq!(message.unwrap(), said("Hello."));
    let stream = "Content-Type: Text/Event-Stream; charset=utf-8\r\n";
    let body = format!("{HELLO}{END}");
    let (message, _) = asked(&model_that_gets(&[&answer("200 OK", stream, &body)])).await;
    assert_eq!(message.unwrap(), said("Hello."));
}

#[tokio::test]
async fn a_page_in_place_of_a_reply_is_quoted_and_not_tried_again() {
    for (kind, page) in [("text/html", "<h1>Log in</h1>"), ("text/plain", "It works!\n")] {
        let page_of = answer("200 OK", &format!("content-type: {kind}\r\n"), page);
        let error = error_of(model_that_gets(&[&page_of, &hello()])).await;
        assert_eq!(error, format!("the model sent neither a stream nor a message: {page}"));
    }
}

#[tokio::test]
async fn a_whole_message_is_held_up_to_the_limit_of_a_stream() {
    let of = |length: usize| {
        let frame = json!({ "content": [{ "type": "text", "text": "" }] }).to_string();
        let text = "x".repeat(length - frame.len());
        answer("200 OK", JSON, &frame.replace("\"\"", &format!("\"{text}\"")))
    };
    assert!(asked(&model_that_gets(&[&of(LIMIT)])).await.0.is_ok());
    // Most of this body never comes: who wants to have it all gets a broken connection.
    let long = of(LIMIT + 1).replace("content-length: 8", "content-length: 88");
    let error = error_of(model_that_gets(&[&long, &hello()])).await;
    assert_eq!(error, "the model's message is longer than 8 MiB: given up");
}

#[tokio::test]
async fn a_stream_without_an_event_is_an_error() {
    let error = error_of(model_that_gets(&[answer("200 OK", "", "{}").as_str(); 4])).await;
    assert_eq!(error, "the model broke off");
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_said_and_not_waited_for() {
    let busy = answer("529 Busy", "retry-after: 3600\r\n", "later");
    let error = error_of(model_that_gets(&[&busy, &hello()])).await;
    assert_eq!(error, "the model answered 529: later; it wants to be left alone for 3600 s");
}

#[test]
fn a_cut_reply_is_an_error_though_it_holds_a_call() {
    for reason in ["max_tokens", "model_context_window_exceeded", "refusal"] {
        let call = json!([{"type": "tool_use", "id": "t", "name": "read_file", "input": {}}]);
        let error = usable(reply(reason, call)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the model's reply broke off ({reason})")), "{error}");
    }
}

#[test]
fn an_empty_reply_is_an_error_that_names_its_stop_reason() {
    let thinking = json!([{"type": "thinking", "thinking": "so", "signature": "s"}]);
    for content in [json!([]), thinking] {
        let error = usable(reply("end_turn", content)).unwrap_err().to_string();
        assert!(error.contains("empty, no text and no whole call (end_turn)"), "{error}");
    }
}

#[test]
fn a_torn_call_is_not_taken_for_an_answer() {
    let content = json!([{"type": "text", "text": "I read it."}, {"type": "tool_use", "id": "t"}]);
    let error = usable(reply("tool_use", content)).unwrap_err().to_string();
    assert!(error.contains("no whole call (tool_use)"), "{error}");
}

#[test]
fn an_empty_text_beside_a_call_is_left_out() {
    let content = json!([
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a"}},
    ]);
    let message = usable(reply("tool_use", content)).unwrap();
    assert!(matches!(message.content.as_slice(), [Block::ToolUse { .. }]), "{message:?}");
}

#[test]
fn a_text_behind_a_call_goes_before_it() {
    let content = json!([
        {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a"}},
        {"type": "text", "text": "I read it."},
    ]);
    let message = usable(reply("tool_use", content)).unwrap();
    assert!(
        matches!(message.content.as_slice(), [Block::Text { .. }, Block::ToolUse { .. }]),
        "{message:?}"
    );
}

#[test]
fn an_odd_call_in_a_reply_is_put_in_form() {
    let content = json!([{"type": "tool_use", "id": "", "name": "read file", "input": "a"}]);
    let message = usable(reply("tool_use", content)).unwrap();
    let input = json!({ "unreadable_arguments": "a" });
    let call = Block::ToolUse { id: "_".to_string(), name: "read_file".to_string(), input };
    assert_eq!(message.content, [call]);
}
