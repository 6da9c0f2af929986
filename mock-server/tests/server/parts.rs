//! Conversations beside the main one, and histories that were cut, compacted or forked.

use serde_json::{Value, json};

use crate::talk::{Talk, said, start};
use mock_server::FaultKind;

const COMPACTS: &str = r#"
title = "A summary twice"
[parts]
summary = "Summarise the conversation"

[[main]]
user = "Count the nights"

[[main]]
call.read_file.path = "january"

[[main]]
call.read_file.path = "february"

[[main]]
call.read_file.path = "march"

[[main]]
say = "Ninety nights."

[[main]]
user = "And the hours?"

[[main]]
say = "A thousand."

[[summary]]
say = "January is read. <<mark>>"

[[summary]]
say = "All is read. <<mark>>"
"#;

/// What the summariser says to this history.
async fn summary(talk: &Talk) -> String {
    let mut body = talk.body();
    body["system"] = json!("Summarise the conversation");
    let reply: Value = talk.send("/v1/messages", &body).await.json().await.expect("JSON");
    said(&reply).to_string()
}

#[tokio::test]
async fn a_compacted_history_goes_on_where_its_mark_says() {
    let model = start(COMPACTS).await;
    let mut talk = Talk::new(&model);
    talk.user("Count the nights").ask().await;
    talk.results(&["31"]);
    let first = summary(&talk).await;
    assert_eq!(first, "January is read. [loopwright main:0001 summary:0000]");
    // The first request survives word for word, the rest is the summary.
    talk.messages = vec![json!({"role": "user", "content": [
        {"type": "text", "text": "Count the nights"},
        {"type": "text", "text": first},
    ]})];
    let (_, reply) = talk.ask().await;
    assert_eq!(reply["content"][0]["input"]["path"], "february");
    let (_, reply) = talk.results(&["28"]).ask().await;
    assert_eq!(reply["content"][0]["input"]["path"], "march");
    talk.results(&["31"]);
    let second = summary(&talk).await;
    assert_eq!(second, "All is read. [loopwright main:0003 summary:0001]");
    talk.messages = vec![json!({"role": "user", "content": format!("Count the nights\n{second}")})];
    assert_eq!(said(&talk.ask().await.1), "Ninety nights.");
    assert_eq!(said(&talk.user("And the hours?").ask().await.1), "A thousand.");
    assert_eq!(model.faults(), []);
}

#[tokio::test]
async fn a_user_line_that_is_quoted_later_does_not_turn_the_script_back() {
    let model = start(COMPACTS).await;
    let mut talk = Talk::new(&model);
    talk.user("Count the nights").ask().await;
    talk.results(&["31"]);
    let results = talk.messages.last_mut().expect("a message");
    let reminder = json!({"type": "text", "text": "Remember: Count the nights"});
    results["content"].as_array_mut().expect("blocks").push(reminder);
    let (_, reply) = talk.ask().await;
    assert_eq!(reply["content"][0]["input"]["path"], "february");
}

#[tokio::test]
async fn two_sub_agents_at_once_are_told_apart_by_their_tasks() {
    let model = start(
        r#"
title = "Two children"
[parts]
child = "You are a sub-agent"
[[main]]
user = "go"
[[main]]
say = "from main"
[[child]]
user = "Look at the lamp"
[[child]]
say = "The lamp burns."
[[child]]
user = "Look at the log"
[[child]]
say = "The log is kept."
"#,
    )
    .await;
    let mut lamp = Talk::new(&model);
    let mut log = Talk::new(&model);
    lamp.system = json!("You are a sub-agent of a keeper.");
    log.system = lamp.system.clone();
    lamp.user("Look at the lamp");
    log.user("Look at the log");
    let (lamp, log) = tokio::join!(lamp.ask(), log.ask());
    assert_eq!((said(&lamp.1), said(&log.1)), ("The lamp burns.", "The log is kept."));
    assert_eq!(said(&Talk::new(&model).user("go").ask().await.1), "from main");
}

#[tokio::test]
async fn calls_of_the_other_reply_are_told_from_the_scripted_ones() {
    let model = start(
        r#"
title = "Two ways"
[[main]]
user = "go"
[[main]]
call.read_file.path = "a"
call.returns = "right"
[[main]]
[[main.call]]
read_file.path = "b"
returns = "b"
[[main.otherwise.call]]
run_shell.command = "ls"
returns = "listed"
[[main]]
say = "done"
"#,
    )
    .await;
    let mut talk = Talk::new(&model);
    talk.user("go").ask().await;
    let (_, reply) = talk.results(&["wrong"]).ask().await;
    let call = &reply["content"][0];
    assert_eq!((&call["id"], &call["name"]), (&json!("toolu_main_0002_o1"), &json!("run_shell")));
    let (_, reply) = talk.results(&["listed: a"]).ask().await;
    assert_eq!(said(&reply), "done");
    let faults: Vec<_> = model.faults().into_iter().map(|fault| fault.message).collect();
    assert_eq!(
        faults,
        ["scene.toml:8: the result of read_file (line 6) must hold “right”, but begins “wrong”"]
    );
}

#[tokio::test]
async fn every_kind_of_expectation_can_be_missed() {
    let model = start(
        r#"
title = "Misses"
[[main]]
user = "go"
[[main]]
[[main.call]]
read_file.path = "a"
lacks = "secret"
error = true
[[main]]
say = "done"
expect.holds = "lighthouse"
expect.lacks = "go"
expect.tools = ["edit_file"]
capture.folder = 'Folder: (\S+)'
"#,
    )
    .await;
    let mut talk = Talk::new(&model);
    talk.user("go").ask().await;
    talk.results(&["a secret"]).ask().await;
    let faults = model.faults();
    assert!(faults.iter().all(|fault| fault.kind == FaultKind::Missed && fault.request == 2));
    let messages: Vec<_> = faults.into_iter().map(|fault| fault.message).collect();
    assert_eq!(
        messages,
        [
            "scene.toml:10: the result of read_file (line 6) must not hold “secret”, but does",
            "scene.toml:10: the result of read_file (line 6) must be an error, but is “a secret”",
            "scene.toml:10: the request must hold “lighthouse”, but does not",
            "scene.toml:10: the request must not hold “go”, but does",
            "scene.toml:10: the tool edit_file must be offered; offered are: read_file, run_shell",
            "scene.toml:10: nothing in the request matches `Folder: (\\S+)` (for <<folder>>)",
        ]
    );
}
