//! What goes wrong on the wire because the scene says so.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::talk::{Talk, events, said, start};

/// A scene of one turn whose reply has this fault.
fn scene(fault: &str) -> String {
    format!(
        r#"
title = "One reply"
[[main]]
user = "go"
[[main]]
say = "Grüße aus Łódź 🗼 und weiter so."
{fault}
"#
    )
}

const SAID: &str = "Grüße aus Łódź 🗼 und weiter so.";

/// The network chunks of a stream, and how it ended.
async fn chunks(mut response: reqwest::Response) -> (Vec<Vec<u8>>, Result<(), reqwest::Error>) {
    let mut chunks = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => chunks.push(chunk.to_vec()),
            Ok(None) => return (chunks, Ok(())),
            Err(broken) => return (chunks, Err(broken)),
        }
    }
}

#[tokio::test]
async fn statuses_are_counted_by_attempt_and_say_when_to_come_again() {
    let model = start(&scene("fault.status = [529, 429]\nfault.retry_after_ms = 30")).await;
    let mut talk = Talk::new(&model);
    talk.user("go");
    for (status, kind) in [(529, "overloaded_error"), (429, "rate_limit_error")] {
        let response = talk.send("/v1/messages", &talk.body()).await;
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["retry-after-ms"], "30");
        assert!(response.headers().contains_key("request-id"));
        let body: Value = response.json().await.expect("JSON");
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)));
    }
    let (status, reply) = talk.ask().await;
    assert_eq!((status, said(&reply)), (200, SAID));
    let attempts: Vec<_> = model.journal().iter().map(|e| (e.attempt, e.status)).collect();
    assert_eq!(attempts, [(1, 529), (2, 429), (3, 200)]);
    assert_eq!(model.faults(), []);
}

#[tokio::test]
async fn a_cut_through_a_character_loses_no_byte() {
    let model = start(&scene("")).await;
    let mut talk = Talk::new(&model);
    let whole = talk.user("go").stream().await.text().await.expect("a text");
    // The lighthouse takes four bytes; the cut falls after its second.
    let at = whole.find('🗼').expect("it is said") + 2;
    let model = start(&scene(&format!("fault.cut = [{at}]"))).await;
    let mut talk = Talk::new(&model);
    let (chunks, ended) = chunks(talk.user("go").stream().await).await;
    assert!(ended.is_ok());
    assert_eq!(String::from_utf8(chunks.concat()).expect("valid UTF-8"), whole);
}

#[tokio::test]
async fn a_dropped_connection_breaks_the_first_attempt_only() {
    let model = start(&scene("fault.drop_at = 400")).await;
    let mut talk = Talk::new(&model);
    talk.user("go");
    let (first, ended) = chunks(talk.stream().await).await;
    assert_eq!(first.concat().len(), 400);
    assert!(ended.is_err());
    let (second, ended) = chunks(talk.stream().await).await;
    assert!(ended.is_ok());
    assert!(String::from_utf8(second.concat()).expect("valid UTF-8").contains("message_stop"));
    let gone: Vec<bool> = model.journal().iter().map(|e| e.gone.is_some()).collect();
    assert_eq!(gone, [false, true]);
}

#[tokio::test]
async fn an_error_event_ends_the_stream_instead_of_the_message() {
    let model = start(&scene("fault.error_event = \"overloaded_error\"")).await;
    let mut talk = Talk::new(&model);
    let first = talk.user("go").stream().await;
    assert_eq!(first.status(), 200);
    let first = events(&first.text().await.expect("a text"));
    let (name, data) = first.last().expect("an event");
    assert_eq!(name, "error");
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    assert_eq!(*data, json!({"type": "error", "error": error}));
    assert!(first.iter().all(|(name, _)| name != "message_stop"));
    let second = events(&talk.stream().await.text().await.expect("a text"));
    assert_eq!(second.last().expect("an event").0, "message_stop");
}

#[tokio::test]
async fn malformed_arguments_end_in_the_middle() {
    let model = start(
        r#"
title = "A broken call"
[[main]]
user = "go"
[[main]]
call.read_file.path = "logs/march.txt"
fault.malformed = true
"#,
    )
    .await;
    let mut talk = Talk::new(&model);
    let events = events(&talk.user("go").stream().await.text().await.expect("a text"));
    let arguments: String =
        events.iter().filter_map(|(_, data)| data["delta"]["partial_json"].as_str()).collect();
    assert_eq!(arguments, r#"{"path":"log"#);
}

#[tokio::test]
async fn a_stall_holds_everything_after_its_event() {
    let model = start(&scene("fault.stall = { after = 3, ms = 2000 }")).await;
    let mut talk = Talk::new(&model);
    let begun = Instant::now();
    let mut response = talk.user("go").stream().await;
    let mut before = Vec::new();
    while before.windows(2).filter(|pair| pair == b"\n\n").count() < 3 {
        before.extend(response.chunk().await.expect("no break").expect("no end"));
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "three events come at once");
    assert!(!String::from_utf8_lossy(&before).contains("content_block_delta"));
    let (rest, ended) = chunks(response).await;
    assert!(ended.is_ok() && begun.elapsed() >= Duration::from_secs(2));
    assert!(String::from_utf8_lossy(&rest.concat()).contains("content_block_delta"));
}

#[tokio::test]
async fn a_gate_holds_a_reply_at_an_event_until_it_is_released() {
    let model = start(&scene("")).await;
    let mut gate = model.hold("main", 1, 4).expect("there is a part main");
    let mut talk = Talk::new(&model);
    let mut response = talk.user("go").stream().await;
    gate.reached().await;
    let mut before = Vec::new();
    while before.windows(2).filter(|pair| pair == b"\n\n").count() < 4 {
        before.extend(response.chunk().await.expect("no break").expect("no end"));
    }
    assert!(String::from_utf8_lossy(&before).contains("Grüße"));
    assert!(!String::from_utf8_lossy(&before).contains("message_stop"));
    assert_eq!(model.journal()[0].gone, None);
    gate.release();
    let (rest, ended) = chunks(response).await;
    assert!(ended.is_ok());
    assert!(String::from_utf8_lossy(&rest.concat()).ends_with("\"message_stop\"}\n\n"));
}

#[tokio::test]
async fn a_reply_cut_by_max_tokens_leaves_its_last_block_open() {
    let model = start(&scene("stop = \"max_tokens\"")).await;
    let mut talk = Talk::new(&model);
    let events = events(&talk.user("go").stream().await.text().await.expect("a text"));
    assert!(events.iter().all(|(name, _)| name != "content_block_stop"));
    let (_, delta) = &events[events.len() - 2];
    assert_eq!(delta["delta"]["stop_reason"], "max_tokens");
}

#[tokio::test]
async fn an_empty_reply_has_no_content() {
    let model = start("title = \"x\"\n[[main]]\nuser = \"go\"\n[[main]]\nsay = \"\"").await;
    let mut talk = Talk::new(&model);
    let (status, reply) = talk.user("go").ask().await;
    assert_eq!((status, &reply["content"]), (200, &json!([])));
    assert_eq!(reply["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_dropped_whole_reply_is_no_json() {
    let model = start(&scene("fault.drop_at = 50")).await;
    let mut talk = Talk::new(&model);
    talk.user("go");
    let response = talk.send("/v1/messages", &talk.body()).await;
    let (chunks, ended) = chunks(response).await;
    assert_eq!((chunks.concat().len(), ended.is_err()), (50, true));
}
