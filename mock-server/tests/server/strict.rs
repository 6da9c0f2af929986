//! Every rule of the API: a request that breaks it, the exact message, and the same request mended.

use serde_json::{Value, json};

use crate::talk::{Talk, start};
use mock_server::FaultKind;

/// Answers any conversation that begins with “go”, up to four turns.
pub const ANY: &str = r#"
title = "Anything goes"
[model]
context_window = 3000
max_output = 5000
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
stop = "pause_turn"
[[main]]
say = "four"
"#;

pub struct Case {
    rule: &'static str,
    broken: Value,
    message: &'static str,
    mended: Value,
}

pub fn case(rule: &'static str, broken: Value, message: &'static str, mended: Value) -> Case {
    Case { rule, broken, message, mended }
}

/// A request with these messages after “go”, and one tool.
pub fn request(messages: Value) -> Value {
    let mut all = vec![json!({"role": "user", "content": "go"})];
    all.extend(messages.as_array().expect("a list").iter().cloned());
    json!({
        "model": "scripted",
        "max_tokens": 1000,
        "messages": all,
        "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
    })
}

/// The request with one field set, or taken away by null.
pub fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = request.pointer_mut(parent).expect("it is there");
    match parent {
        Value::Object(map) if value.is_null() => drop(map.shift_remove(key)),
        Value::Object(map) => drop(map.insert(key.to_string(), value)),
        other => other[key.parse::<usize>().expect("an index")] = value,
    }
    request
}

pub fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read_file", "input": {"path": "a"}})
}

pub fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "text"})
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn assistant(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

pub fn user(blocks: Value) -> Value {
    json!({"role": "user", "content": blocks})
}

/// “go”, these calls, these results.
pub fn turn(calls: Value, results: Value) -> Value {
    request(json!([assistant(calls), user(results)]))
}

fn pairing() -> Vec<Case> {
    let good = turn(json!([call("t1")]), json!([result("t1")]));
    vec![
        case(
            "a call without result",
            turn(json!([call("t1")]), json!([text("well?")])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: \
             t1. Each `tool_use` block must have a corresponding `tool_result` block in the next \
             message.",
            good.clone(),
        ),
        case(
            "two calls, neither answered",
            turn(json!([call("t1"), call("t2")]), json!("well?")),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: \
             t1, t2. Each `tool_use` block must have a corresponding `tool_result` block in the \
             next message.",
            turn(json!([call("t1"), call("t2")]), json!([result("t2"), result("t1")])),
        ),
        case(
            "text after a call",
            turn(json!([call("t1"), text("and")]), json!([result("t1")])),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: \
             t1. Each `tool_use` block must have a corresponding `tool_result` block in the next \
             message.",
            turn(json!([text("and"), call("t1")]), json!([result("t1")])),
        ),
        case(
            "a result without call",
            turn(json!([text("hm")]), json!([result("t9")])),
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9. \
             Each `tool_result` block must have a corresponding `tool_use` block in the previous \
             message.",
            turn(json!([text("hm")]), json!([text("t9")])),
        ),
        case(
            "two results for one call",
            turn(json!([call("t1")]), json!([result("t1"), result("t1")])),
            "messages.2.content.1: each tool_use must have a single result. Found multiple \
             `tool_result` blocks with id: t1",
            good.clone(),
        ),
        case(
            "one id twice",
            turn(json!([call("t1"), call("t1")]), json!([result("t1")])),
            "messages.1.content.1: `tool_use` ids must be unique",
            turn(json!([call("t1"), call("t2")]), json!([result("t1"), result("t2")])),
        ),
        case(
            "input that is no object",
            with(good.clone(), "/messages/1/content/0/input", json!("{\"path\":")),
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
            good.clone(),
        ),
        case(
            "calls without tools",
            with(good.clone(), "/tools", Value::Null),
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
            good,
        ),
    ]
}

fn tools() -> Vec<Case> {
    let good = request(json!([]));
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    vec![
        case(
            "a bad tool name",
            with(good.clone(), "/tools/0/name", json!("read file")),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
            good.clone(),
        ),
        case(
            "a tool name too long",
            with(good.clone(), "/tools/0/name", json!("a".repeat(129))),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
            with(good.clone(), "/tools/0/name", json!("a".repeat(128))),
        ),
        case(
            "two tools of one name",
            with(good.clone(), "/tools", json!([tool("a"), tool("a")])),
            "tools: Tool names must be unique.",
            with(good.clone(), "/tools", json!([tool("a"), tool("b")])),
        ),
        case(
            "a schema that is no object",
            with(good.clone(), "/tools/0/input_schema/type", json!("string")),
            "tools.0.custom.input_schema.type: Input should be 'object'",
            good,
        ),
    ]
}

fn texts() -> Vec<Case> {
    let said = |blocks: Value| request(json!([assistant(json!([text("one")])), user(blocks)]));
    let good = said(json!([text("on")]));
    let empty_middle = request(json!([assistant(json!([])), user(json!("on"))]));
    vec![
        case(
            "an empty text block",
            said(json!([text("")])),
            "messages: text content blocks must be non-empty",
            good.clone(),
        ),
        case(
            "a blank text block",
            said(json!([text(" \n")])),
            "messages: text content blocks must contain non-whitespace text",
            good.clone(),
        ),
        case(
            "an empty message",
            empty_middle,
            "messages.1: all messages must have non-empty content except for the optional final \
             assistant message",
            good.clone(),
        ),
        case(
            "an empty string",
            said(json!("")),
            "messages.2: all messages must have non-empty content except for the optional final \
             assistant message",
            said(json!("on")),
        ),
        case(
            "a system role",
            with(good.clone(), "/messages/2/role", json!("system")),
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` \
             parameter, not \"system\" as an input message role.",
            good.clone(),
        ),
        case(
            "an assistant message last",
            request(json!([assistant(json!([text("The answer is")]))])),
            "This model does not support assistant message prefill. The conversation must end \
             with a user message.",
            good,
        ),
    ]
}

fn cache_marks() -> Vec<Case> {
    let marked = |text: &str, marks: usize| {
        let mark = json!({"type": "ephemeral"});
        let block = |n: usize| match n < marks {
            true => json!({"type": "text", "text": text, "cache_control": mark}),
            false => json!({"type": "text", "text": text}),
        };
        json!((0..5).map(block).collect::<Vec<_>>())
    };
    let good = request(json!([]));
    let mut empty = with(good.clone(), "/system", marked("s", 1));
    empty["system"][0]["text"] = json!("");
    vec![
        case(
            "five cache marks",
            with(good.clone(), "/system", marked("s", 5)),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            with(good.clone(), "/system", marked("s", 4)),
        ),
        case(
            "a cache mark on an empty text",
            empty,
            "system.0: cache_control cannot be set for empty text blocks",
            with(good, "/system", marked("s", 1)),
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let good = request(json!([]));
    let long = |characters| request(json!([user(json!("x".repeat(characters)))]));
    vec![
        case(
            "no max_tokens",
            with(good.clone(), "/max_tokens", Value::Null),
            "max_tokens: Field required",
            good.clone(),
        ),
        case(
            "too large a max_tokens",
            with(good.clone(), "/max_tokens", json!(5001)),
            "max_tokens: 5001 > 5000, which is the maximum allowed number of output tokens for \
             scripted",
            with(good.clone(), "/max_tokens", json!(5000)),
        ),
        case(
            "max_tokens of nothing",
            with(good.clone(), "/max_tokens", json!(0)),
            "max_tokens: Input should be greater than or equal to 1",
            with(good.clone(), "/max_tokens", json!(1)),
        ),
        case(
            "no model",
            with(good.clone(), "/model", Value::Null),
            "model: Field required",
            good.clone(),
        ),
        case(
            "no messages",
            with(good.clone(), "/messages", Value::Null),
            "messages: Field required",
            good.clone(),
        ),
        case(
            "too long a prompt",
            long(12_000),
            "prompt is too long: 3007 tokens > 3000 maximum",
            long(11_000),
        ),
    ]
}

fn thinking() -> Vec<Case> {
    let enabled = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    let good =
        with(with(request(json!([])), "/max_tokens", json!(2000)), "/thinking", enabled(1024));
    let thought = json!({"type": "redacted_thinking", "data": "x"});
    let turn = |blocks: Value| {
        let mut turn = good.clone();
        turn["messages"] = turn_messages(blocks);
        turn
    };
    vec![
        case(
            "a small budget",
            with(good.clone(), "/thinking", enabled(1000)),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            good.clone(),
        ),
        case(
            "a budget over max_tokens",
            with(good.clone(), "/thinking", enabled(2000)),
            "`max_tokens` must be greater than `thinking.budget_tokens`",
            good.clone(),
        ),
        case(
            "calls without their thinking",
            turn(json!([call("t1")])),
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `tool_use`.",
            turn(json!([thought, call("t1")])),
        ),
    ]
}

fn turn_messages(blocks: Value) -> Value {
    request(json!([assistant(blocks), user(json!([result("t1")]))]))["messages"].clone()
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_is_refused_and_the_same_request_mended_is_not() {
    let model = start(ANY).await;
    let talk = Talk::new(&model);
    let all = [pairing(), tools(), texts(), cache_marks(), numbers(), thinking()];
    for case in all.into_iter().flatten() {
        let refused = talk.send("/v1/messages", &case.broken).await;
        assert_eq!(refused.status(), 400, "{}", case.rule);
        let body: Value = refused.json().await.expect("JSON");
        let error = json!({"type": "invalid_request_error", "message": case.message});
        assert_eq!(body["error"], error, "{}", case.rule);
        let newest = model.faults().pop().expect("a fault");
        assert_eq!((newest.kind, newest.message.as_str()), (FaultKind::Protocol, case.message));
        let taken = talk.send("/v1/messages", &case.mended).await;
        let status = taken.status();
        assert_eq!(status, 200, "{} mended: {:?}", case.rule, taken.text().await);
    }
}

#[tokio::test]
async fn thinking_must_come_back_with_its_signature_unchanged() {
    let model = start(
        r#"
title = "Thinks first"
[[main]]
user = "go"
[[main]]
thinking = "Let me see."
call.read_file.path = "a"
[[main]]
say = "done"
"#,
    )
    .await;
    let mut talk = Talk::new(&model);
    talk.user("go").ask().await;
    talk.results(&["text"]);
    let mut good = talk.body();
    good["max_tokens"] = json!(2000);
    good["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let broken = with(good.clone(), "/messages/1/content/0/signature", json!("another"));
    let refused: Value = talk.send("/v1/messages", &broken).await.json().await.expect("JSON");
    assert_eq!(
        refused["error"]["message"],
        "messages.1.content.0: Invalid `signature` in `thinking` block"
    );
    assert_eq!(talk.send("/v1/messages", &good).await.status(), 200);
}

#[tokio::test]
async fn messages_of_one_role_in_a_row_are_merged_and_text_before_a_result_is_taken() {
    let model = start(ANY).await;
    let talk = Talk::new(&model);
    let split = request(json!([
        assistant(json!([call("t1")])),
        assistant(json!([call("t2")])),
        user(json!([result("t1")])),
        user(json!([text("and"), result("t2")])),
    ]));
    assert_eq!(talk.send("/v1/messages", &split).await.status(), 200);
    assert_eq!(model.faults(), []);
}

/// A rule that compares every call with every result takes minutes here.
#[tokio::test]
async fn a_request_with_very_many_calls_is_answered_in_the_time_it_takes_to_read() {
    let model = start(ANY).await;
    let talk = Talk::new(&model);
    let ids: Vec<String> = (0..8_000).map(|number| format!("t{number}")).collect();
    let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
    let results: Vec<Value> = ids.iter().map(|id| result(id)).collect();
    let mut many = turn(json!(calls), json!(results));
    many["messages"][0] = json!({"role": "user", "content": "go"});
    let asked = talk.send("/v1/messages/count_tokens", &many);
    let limit = std::time::Duration::from_secs(30);
    let counted = tokio::time::timeout(limit, asked).await.expect("an answer in time");
    assert_eq!(counted.status(), 200);
}
