//! A scene played from the first line to the last, whole and streamed.

use std::time::Duration;

use crate::talk::{Talk, events, said, start};
use mock_server::{Event, FaultKind, Next, Scene, ScriptedModel, Values};
use serde_json::json;

const PORT: &str = r#"
title = "Find a value two files away"
proves = "answer"
[random]
port = "int:1024..65535"

[[main]]
user = "Which port does the server listen on?"

[[main]]
say = "The README should say where the settings are."
[[main.call]]
read_file.path = "README.md"
returns = "settings.conf"

[[main]]
[[main.call]]
read_file.path = "settings.conf"
capture.seen = 'port = (\d+)'

[[main]]
say = "It listens on port <<seen>>."
otherwise.say = "I could not find it."
stage.write = { path = "notes.txt", text = "x" }

[verify]
answer = "<<port>>"
requests = 3
"#;

#[tokio::test]
async fn a_reply_quotes_what_the_program_really_sent() {
    let model = start(PORT).await;
    let mut talk = Talk::new(&model);
    let (status, reply) = talk.user("Which port does the server listen on?").ask().await;
    assert_eq!(status, 200);
    assert_eq!(
        reply["content"],
        json!([
            {"type": "text", "text": "The README should say where the settings are."},
            {"type": "tool_use", "id": "toolu_main_0001_1", "name": "read_file",
             "input": {"path": "README.md"}},
        ])
    );
    assert_eq!(reply["stop_reason"], "tool_use");
    talk.results(&["see settings.conf"]).ask().await;
    let (_, reply) = talk.results(&["port = 4711\n"]).ask().await;
    assert_eq!(said(&reply), "It listens on port 4711.");
    assert_eq!(reply["stop_reason"], "end_turn");
    assert_eq!(model.faults(), []);
    assert_eq!(model.values("key-of-the-test").get("seen"), Some("4711"));
    let places: Vec<_> = model.journal().into_iter().map(|e| (e.place, e.status)).collect();
    let main = |line| (Some(("main".to_string(), line)), 200);
    assert_eq!(places, [main(1), main(2), main(3)]);
    model.stop().await;
}

#[tokio::test]
async fn a_missed_expectation_brings_the_other_reply_and_a_fault() {
    let model = start(PORT).await;
    let mut talk = Talk::new(&model);
    talk.user("Which port does the server listen on?").ask().await;
    talk.results(&["see settings.conf"]).ask().await;
    let (_, reply) = talk.results(&["nothing here"]).ask().await;
    assert_eq!(said(&reply), "I could not find it.");
    let faults = model.faults();
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].kind, faults[0].request), (FaultKind::Missed, 3));
    assert_eq!(
        faults[0].message,
        "scene.toml:21: nothing in the result of read_file (line 17) matches `port = (\\d+)` \
         (for <<seen>>); it begins “nothing here”"
    );
}

#[tokio::test]
async fn a_stream_says_the_same_as_the_whole_reply() {
    let model = start(PORT).await;
    let mut talk = Talk::new(&model);
    let response = talk.user("Which port does the server listen on?").stream().await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let events = events(&response.text().await.expect("a text"));
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..4], ["message_start", "content_block_start", "ping", "content_block_delta"]);
    assert_eq!(names[names.len() - 2..], ["message_delta", "message_stop"]);
    let text: String =
        events.iter().filter_map(|(_, data)| data["delta"]["text"].as_str()).collect();
    assert_eq!(text, "The README should say where the settings are.");
    let arguments: String =
        events.iter().filter_map(|(_, data)| data["delta"]["partial_json"].as_str()).collect();
    assert_eq!(arguments, r#"{"path":"README.md"}"#);
    let (_, delta) = &events[events.len() - 2];
    assert_eq!(delta["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn the_stage_hears_of_a_request_before_its_reply_and_of_its_end() {
    let scene = Scene::parse(PORT, "scene.toml".as_ref()).expect("the scene reads");
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let mut options = crate::talk::options(Values::draw(&scene, 1));
    options.events = Some(sender);
    let model = ScriptedModel::start(scene, options).await.expect("the server starts");
    let mut talk = Talk::new(&model);
    talk.user("Which port does the server listen on?");
    let stage = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(event) = events.recv().await {
            match event {
                Event::Came { number, attempt, stage, go, .. } => {
                    heard.push(format!("came {number} attempt {attempt} stage {}", stage.len()));
                    let _ = go.send(());
                }
                Event::Delivered { number, next, .. } => {
                    heard.push(format!("delivered {number} {next:?}"));
                    if next == Next::End {
                        break;
                    }
                }
                Event::Fault(fault) => heard.push(fault.message),
            }
        }
        heard
    });
    talk.ask().await;
    talk.results(&["see settings.conf"]).ask().await;
    talk.results(&["port = 1"]).ask().await;
    let heard = tokio::time::timeout(Duration::from_secs(10), stage).await;
    assert_eq!(
        heard.expect("in time").expect("no panic"),
        [
            "came 1 attempt 1 stage 0",
            "delivered 1 Request",
            "came 2 attempt 1 stage 0",
            "delivered 2 Request",
            "came 3 attempt 1 stage 1",
            "delivered 3 End",
        ]
    );
}

#[tokio::test]
async fn a_drawn_value_in_a_pattern_means_its_own_letters() {
    let model = start(
        r#"
title = "Finds a file's size"
[random]
file = "one of: a+b | a+b"
[[main]]
user = "How large is it?"
[[main]]
[[main.call]]
run_shell.command = "wc -c *"
capture.size = '<<file>>: (\d+)'
[[main]]
say = "<<size>> bytes."
"#,
    )
    .await;
    let mut talk = Talk::new(&model);
    talk.user("How large is it?").ask().await;
    let (_, reply) = talk.results(&["aab: 3\na+b: 12\n"]).ask().await;
    assert_eq!(said(&reply), "12 bytes.");
}
