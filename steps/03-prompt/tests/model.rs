use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

/// A server that gives one answer to whatever comes, and the model that asks it.
fn model_that_gets(status: &str, body: &str) -> Model {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/messages", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 65_536];
        let _ = connection.read(&mut request);
        connection.write_all(answer.as_bytes()).unwrap();
    });
    Model {
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
        url,
        key: "k".to_string(),
        name: "m".to_string(),
    }
}

async fn error_of(model: Model) -> String {
    let error =
        model.ask(&json!([]), &[json!(Message::from_user("hello"))], &[]).await.unwrap_err();
    format!("{error:#}").replace(&model.url, "URL")
}

fn reply(stop_reason: &str, content: Value) -> Reply {
    Reply {
        content: serde_json::from_value(content).unwrap(),
        stop_reason: Some(stop_reason.to_string()),
        usage: Usage::default(),
    }
}

#[tokio::test]
async fn a_whole_reply_becomes_a_message_of_the_assistant() {
    let body = json!({"content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"});
    let model = model_that_gets("200 OK", &body.to_string());
    let (message, _) =
        model.ask(&json!([]), &[json!(Message::from_user("hello"))], &[]).await.unwrap();
    let content = vec![Block::Text { text: "Hello.".to_string() }];
    assert_eq!(message, Message { role: Role::Assistant, content });
}

#[tokio::test]
async fn an_http_error_names_status_type_and_message() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    assert_eq!(
        error_of(model_that_gets("401 Unauthorized", &body.to_string())).await,
        "the model answered 401 Unauthorized: authentication_error: invalid x-api-key"
    );
}

#[tokio::test]
async fn an_http_error_of_another_server_shows_its_beginning() {
    let error = error_of(model_that_gets("502 Bad Gateway", "<html>no upstream</html>")).await;
    assert_eq!(error, "the model answered 502 Bad Gateway: <html>no upstream</html>");
}

#[tokio::test]
async fn a_reply_that_is_no_message_is_quoted() {
    let error = error_of(model_that_gets("200 OK", "{\"choices\":[]}")).await;
    assert!(error.starts_with("the model's reply is not a message: {\"choices\":[]}"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let mut model = model_that_gets("200 OK", "");
    model.url = "http://127.0.0.1:1/v1/messages".to_string();
    let error = error_of(model).await;
    assert!(error.starts_with("the model at URL cannot be reached"), "{error}");
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
    for content in [json!([]), json!([{"type": "text", "text": " \n"}]), thinking] {
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
