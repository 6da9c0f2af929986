//! Many at once, retries, and the same seed twice.

use mock_server::{Scene, Values};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::talk::{Talk, said, start};

const ECHO: &str = r#"
title = "Says what it was given, twice"
[random]
word = "word"
port = "int:1024..65535"
id = "hex:8"
[[main]]
user = "Look it up"
[[main]]
say = "First."
call.read_file.path = "<<id>>"
call.capture.first = 'value (\w+)'
fault.status = [529]
[[main]]
say = "Second, after <<first>>."
[[main.call]]
read_file.path = "b"
capture.second = 'value (\w+)'
[[main.call]]
read_file.path = "c"
[[main]]
say = "<<first>> and <<second>>"
fault.status = [500, 503]
[[main]]
user = "Once more"
[[main]]
say = "Still <<first>>."
"#;

/// Asks until the reply comes, as a program that retries.
async fn ask(talk: &mut Talk) -> Value {
    loop {
        match talk.ask().await {
            (200, reply) => return reply,
            (status, reply) => assert!(status >= 500, "{status} {reply}"),
        }
    }
}

#[tokio::test]
async fn two_hundred_conversations_at_once_each_get_their_own_replies() {
    let model = start(ECHO).await;
    let first = Talk::new(&model);
    let mut crowd = JoinSet::new();
    for number in 0..200 {
        let mut talk = first.another(&format!("key-{number}"));
        crowd.spawn(async move {
            let (one, two) = (format!("value one{number}"), format!("value two{number}"));
            let first = ask(talk.user("Look it up")).await;
            assert_eq!(said(&first), "First.");
            let second = ask(talk.results(&[&one])).await;
            assert_eq!(said(&second), format!("Second, after one{number}."));
            let third = ask(talk.results(&[&two, "else"])).await;
            assert_eq!(said(&third), format!("one{number} and two{number}"));
            let fourth = ask(talk.user("Once more")).await;
            assert_eq!(said(&fourth), format!("Still one{number}."));
        });
    }
    while let Some(ended) = crowd.join_next().await {
        ended.expect("a conversation as it should be");
    }
    assert_eq!(model.faults(), []);
}

#[tokio::test]
async fn the_request_alone_says_where_it_stands() {
    // A program that was killed resumes on another server, which has seen nothing of it.
    let first = start(ECHO).await;
    let mut talk = Talk::new(&first);
    ask(talk.user("Look it up")).await;
    ask(talk.results(&["value one"])).await;
    talk.results(&["value two", "else"]);
    let second = start(ECHO).await;
    let mut resumed = Talk::new(&second);
    resumed.messages = talk.messages;
    assert_eq!(said(&ask(&mut resumed).await), "one and two");
}

#[test]
fn the_same_seed_draws_the_same_values_and_another_seed_others() {
    let scene = Scene::parse(ECHO, "scene.toml".as_ref()).expect("the scene reads");
    let drawn = |seed| {
        let values = Values::draw(&scene, seed);
        ["word", "port", "id"].map(|name| values.get(name).expect("drawn").to_string())
    };
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
    let [_, port, id] = drawn(7);
    assert!((1024..65535).contains(&port.parse().expect("a number")));
    assert_eq!(id.len(), 8);
}

#[tokio::test]
async fn the_same_run_under_the_same_key_starts_afresh() {
    let model = start(ECHO).await;
    for _ in 0..2 {
        let mut talk = Talk::new(&model);
        assert_eq!(talk.user("Look it up").ask().await.0, 529, "the first attempt");
        assert_eq!(said(&ask(&mut talk).await), "First.");
        ask(talk.results(&["value one"])).await;
    }
}
