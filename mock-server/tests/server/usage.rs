//! Tokens and cached prefixes, with the numbers written down.

use serde_json::{Value, json};

use crate::talk::{Talk, start};
use mock_server::{Options, Scene, ScriptedModel, Values};

const LONG: &str = r#"
title = "A long system prompt"
[model]
cache_minimum = 1000
[[main]]
user = "go"
[[main]]
say = "one"
stop = "pause_turn"
[[main]]
say = "two"
stop = "pause_turn"
[[main]]
say = "three"
"#;

/// 4,000 characters, 1,000 tokens; the last block is marked.
fn system(marked: bool) -> Value {
    let mut block = json!({"type": "text", "text": "abcd".repeat(1000)});
    if marked {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    json!([block])
}

/// Input, written and read tokens of a reply.
fn counted(reply: &Value) -> [u64; 3] {
    ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
        .map(|field| reply["usage"][field].as_u64().expect("a count"))
}

async fn long_talk() -> (ScriptedModel, Talk) {
    let model = start(LONG).await;
    let mut talk = Talk::new(&model);
    talk.tools.clear();
    talk.system = system(true);
    talk.user("go");
    (model, talk)
}

#[tokio::test]
async fn a_marked_prefix_is_written_once_and_read_afterwards() {
    let (_model, mut talk) = long_talk().await;
    // 4,002 characters are 1,001 tokens, of which the prefix is 1,000.
    let (_, first) = talk.ask().await;
    assert_eq!(counted(&first), [1, 1000, 0]);
    assert_eq!(first["usage"]["output_tokens"], 1);
    // “one” and “on” are five characters more.
    let (_, second) = talk.user("on").ask().await;
    assert_eq!(counted(&second), [2, 0, 1000]);
}

#[tokio::test]
async fn without_a_mark_nothing_is_cached() {
    let (_model, mut talk) = long_talk().await;
    talk.system = system(false);
    let (_, first) = talk.ask().await;
    let (_, second) = talk.user("on").ask().await;
    assert_eq!((counted(&first), counted(&second)), ([1001, 0, 0], [1002, 0, 0]));
}

#[tokio::test]
async fn a_prefix_below_the_minimum_is_not_cached() {
    let (_model, mut talk) = long_talk().await;
    talk.system[0]["text"] = json!("abcd".repeat(999));
    let (_, first) = talk.ask().await;
    assert_eq!(counted(&first), [1000, 0, 0]);
}

#[tokio::test]
async fn one_byte_changed_in_the_prefix_reads_nothing() {
    let (_model, mut talk) = long_talk().await;
    talk.ask().await;
    talk.system[0]["text"] = json!(format!("x{}", "abcd".repeat(1000)));
    let (_, second) = talk.user("on").ask().await;
    assert_eq!(counted(&second), [1, 1001, 0]);
}

#[tokio::test]
async fn a_prefix_is_forgotten_when_the_scene_moves_the_clock_past_its_five_minutes() {
    for (seconds, third) in [(200, [3, 0, 1000]), (301, [3, 1000, 0])] {
        let say = format!("say = \"two\"\nstage.clock = {seconds}");
        let model = start(&LONG.replace("say = \"two\"", &say)).await;
        let mut talk = Talk::new(&model);
        talk.tools.clear();
        talk.system = system(true);
        talk.user("go").ask().await;
        talk.user("on").ask().await;
        assert_eq!(counted(&talk.user("on").ask().await.1), third, "{seconds} s");
    }
}

#[tokio::test]
async fn the_clock_moves_for_the_cache_though_its_line_is_first_answered_with_an_error() {
    let say = "say = \"two\"\nstage.clock = 301\nfault.status = [529]";
    let model = start(&LONG.replace("say = \"two\"", say)).await;
    let mut talk = Talk::new(&model);
    talk.tools.clear();
    talk.system = system(true);
    talk.user("go").ask().await;
    assert_eq!(talk.user("on").ask().await.0, 529);
    assert_eq!(counted(&talk.ask().await.1), [2, 1000, 0]);
}

#[tokio::test]
async fn another_key_has_its_own_cache() {
    let (_model, mut talk) = long_talk().await;
    talk.ask().await;
    talk.key = "another".into();
    let (_, second) = talk.user("on").ask().await;
    assert_eq!(counted(&second), [2, 1000, 0]);
}

/// A second request whose only mark stands so many blocks after the written prefix.
async fn mark_after(blocks: usize) -> [u64; 3] {
    let (_model, mut talk) = long_talk().await;
    talk.ask().await;
    talk.system = system(false);
    let mut added = vec![json!({"type": "text", "text": "abcd"}); blocks - 2];
    added[blocks - 3]["cache_control"] = json!({"type": "ephemeral"});
    talk.messages.push(json!({"role": "user", "content": added}));
    counted(&talk.ask().await.1)
}

#[tokio::test]
async fn a_kept_prefix_is_found_up_to_twenty_blocks_before_a_mark() {
    // “go”, “one” and 18 blocks of a token: the mark is on the twentieth after the prefix.
    assert_eq!(mark_after(20).await, [0, 20, 1000]);
    assert_eq!(mark_after(21).await, [0, 1021, 0]);
}

#[tokio::test]
async fn a_moving_mark_reads_what_the_last_one_wrote() {
    let (_model, mut talk) = long_talk().await;
    let mark = |text: &str| {
        let control = json!({"type": "ephemeral"});
        json!([{"type": "text", "text": text, "cache_control": control}])
    };
    talk.messages[0]["content"] = mark("go");
    assert_eq!(counted(&talk.ask().await.1), [0, 1001, 0]);
    talk.messages[0]["content"] = json!("go");
    talk.messages.push(json!({"role": "user", "content": mark("on")}));
    assert_eq!(counted(&talk.ask().await.1), [0, 1, 1001]);
}

#[tokio::test]
async fn tokens_are_the_same_wherever_and_whenever_a_run_is() {
    let count = async |text: &str, room: &str| {
        let scene = Scene::parse(LONG, "scene.toml".as_ref()).expect("the scene reads");
        let rooms = vec![room.to_string()];
        let options =
            Options { port: 0, values: Values::default(), pace: None, events: None, rooms };
        let model = ScriptedModel::start(scene, options).await.expect("the server starts");
        let mut talk = Talk::new(&model);
        talk.user(text);
        let counted = talk.send("/v1/messages/count_tokens", &talk.body()).await;
        counted.json::<Value>().await.expect("JSON")["input_tokens"].clone()
    };
    let here = "in /tmp/run-17/room: 2026-01-02, pid 9, 0.4s";
    let there = "in /var/folders/x/long/room: 2027-11-12, pid 31245, 12.75s";
    assert_eq!(
        count(here, "/tmp/run-17/room").await,
        count(there, "/var/folders/x/long/room").await
    );
}
