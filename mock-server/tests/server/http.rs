//! Paths, headers and sizes.

use serde_json::{Value, json};

use crate::talk::{Talk, start};

const HELLO: &str = r#"
title = "Says hello"
[[main]]
user = "Hi"
[[main]]
say = "Hello."
"#;

/// Sends raw bytes with these headers.
async fn post(url: &str, headers: &[(&str, &str)], body: Vec<u8>) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut request = client.post(url).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, response.json().await.expect("JSON"))
}

/// Address, headers, body; status, type and beginning of the message.
type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, Vec<u8>, u16, &'a str, &'a str);

const ALL: [(&str, &str); 3] = [
    ("x-api-key", "key"),
    ("anthropic-version", "2023-06-01"),
    ("content-type", "application/json"),
];

#[tokio::test]
async fn what_is_no_request_of_the_api_is_answered_in_the_api_s_words() {
    let model = start(HELLO).await;
    let _client_is_ready = Talk::new(&model);
    let messages = format!("{}/v1/messages", model.url());
    let elsewhere = format!("{}/v1/complete", model.url());
    let without = |name: &str| -> Vec<(&str, &str)> {
        ALL.into_iter().filter(|(header, _)| *header != name).collect()
    };
    let large = vec![b' '; (32 << 20) + 1];
    let cases: [Case; 6] = [
        (&elsewhere, ALL.into(), b"{}".into(), 404, "not_found_error", "Not found: POST"),
        (&messages, without("x-api-key"), b"{}".into(), 401, "authentication_error", "x-api-key"),
        (
            &messages,
            without("anthropic-version"),
            b"{}".into(),
            400,
            "invalid_request_error",
            "anthropic-version: header is required",
        ),
        (
            &messages,
            without("content-type"),
            b"{}".into(),
            400,
            "invalid_request_error",
            "content-type: Input should be 'application/json'",
        ),
        (
            &messages,
            ALL.into(),
            b"{\"model\": ".into(),
            400,
            "invalid_request_error",
            "The request body is not valid JSON",
        ),
        (&messages, ALL.into(), large, 413, "request_too_large", "Request exceeds the maximum"),
    ];
    for (url, headers, body, status, kind, words) in cases {
        let (got, reply) = post(url, &headers, body).await;
        assert_eq!((got, &reply["error"]["type"]), (status, &json!(kind)), "{words}");
        let message = reply["error"]["message"].as_str().expect("a message");
        assert!(message.starts_with(words), "{message}");
        assert!(reply["request_id"].as_str().expect("an id").starts_with("req_"));
    }
    assert_eq!(model.faults().len(), 6);
}

#[tokio::test]
async fn models_are_listed_and_tokens_are_counted_without_a_place_in_the_script() {
    let model = start(HELLO).await;
    let mut talk = Talk::new(&model);
    assert_eq!(talk.get("/v1/models").await["data"][0]["id"], "scripted");
    talk.tools.clear();
    talk.user("Hi there, how are you?");
    let counted: Value =
        talk.send("/v1/messages/count_tokens", &talk.body()).await.json().await.expect("JSON");
    assert_eq!(counted, json!({"input_tokens": 6}));
    assert_eq!(model.journal().len(), 0);
}

#[tokio::test]
async fn a_request_that_no_line_expects_hears_what_came_and_what_was_expected() {
    let model = start(HELLO).await;
    let mut talk = Talk::new(&model);
    let (status, reply) = talk.user("Good day to you").ask().await;
    assert_eq!(status, 400);
    assert_eq!(
        reply["error"]["message"],
        "no line of scene.toml expects this request of 1 messages (part main), whose last user \
         text is “Good day to you”: expected was the user line of line 3: “Hi”"
    );
    let mut talk = Talk::new(&model);
    talk.user("Hi").ask().await;
    let (_, reply) = talk.user("More").ask().await;
    assert_eq!(
        reply["error"]["message"],
        "no line of scene.toml expects this request of 3 messages (part main), whose last user \
         text is “More”: the script of this part ends with line 5"
    );
}

#[tokio::test]
async fn the_journal_is_read_over_http_and_keeps_the_newest_200() {
    let model = start(HELLO).await;
    let mut talk = Talk::new(&model);
    talk.user("Hi");
    for _ in 0..201 {
        assert_eq!(talk.send("/v1/messages", &talk.body()).await.status(), 200);
    }
    let journal = talk.get("/_journal").await;
    let exchanges = journal["exchanges"].as_array().expect("exchanges");
    let numbers = (&exchanges[0]["number"], &exchanges[exchanges.len() - 1]["number"]);
    assert_eq!((exchanges.len(), numbers), (200, (&json!(2), &json!(201))));
    assert_eq!(exchanges[0]["reply"]["content"][0]["text"], "Hello.");
    assert_eq!(exchanges[0]["line"], 1);
}

#[tokio::test]
async fn after_stop_the_port_is_free() {
    let model = start(HELLO).await;
    let address = model.url().replace("http://", "");
    model.stop().await;
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// What the server answers to these bytes, after which the client closes its side.
async fn answer_to(model: &mock_server::ScriptedModel, sent: String) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = model.url().replace("http://", "");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
    stream.write_all(sent.as_bytes()).await.expect("it is sent");
    stream.shutdown().await.expect("this side is closed");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

const HELLO_BODY: &str =
    r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;

fn raw(framing: &str, body: &str) -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: 1\r\n\
         content-type: application/json\r\n{framing}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_request_that_broke_off_is_not_played_and_leaves_no_trace() {
    let model = start(HELLO).await;
    let chunk = format!("{:x}\r\n{HELLO_BODY}\r\n", HELLO_BODY.len());
    let too_long = format!("content-length: {}", HELLO_BODY.len() + 10);
    for broken in [raw("transfer-encoding: chunked", &chunk), raw(&too_long, HELLO_BODY)] {
        assert_eq!(answer_to(&model, broken).await, "");
    }
    assert_eq!((model.journal().len(), model.faults()), (0, vec![]));
}

#[tokio::test]
async fn a_whole_request_is_answered_although_the_client_has_closed_its_side() {
    let model = start(HELLO).await;
    let chunks = format!("{:x}\r\n{HELLO_BODY}\r\n0\r\n\r\n", HELLO_BODY.len());
    let length = format!("content-length: {}", HELLO_BODY.len());
    for whole in [raw("transfer-encoding: chunked", &chunks), raw(&length, HELLO_BODY)] {
        let answer = answer_to(&model, whole).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Hello."), "{answer}");
    }
    assert_eq!(model.journal().len(), 2);
}

#[tokio::test]
async fn models_are_listed_only_to_those_who_have_a_key() {
    let model = start(HELLO).await;
    let _client_is_ready = Talk::new(&model);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let refused = client.get(format!("{}/v1/models", model.url())).send().await.expect("an answer");
    assert_eq!(refused.status(), 401);
}

#[tokio::test]
async fn a_large_request_holds_up_neither_others_nor_the_end() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let model = start(HELLO).await;
    let address = model.url().replace("http://", "");
    let message = r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#;
    let messages = vec![message; 200_000].join(",");
    let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}]}}"#);
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
    let large = raw(&format!("content-length: {}", body.len()), &body);
    stream.write_all(large.as_bytes()).await.expect("it is sent");
    let answer = tokio::spawn(async move { stream.read_u8().await.is_ok() });
    let mut talk = Talk::new(&model);
    assert_eq!(talk.user("Hi").ask().await.0, 200);
    assert!(!answer.is_finished(), "the large request was answered first");
    model.stop().await;
    assert!(!answer.await.expect("it ends"), "stop has waited for the large request");
}
