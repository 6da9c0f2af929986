//! The shape of a request: a field of the wrong type, in the wrong place, or unknown is refused.

use serde_json::{Value, json};

use crate::strict::{ANY, assistant, call, request, result, text, turn, user, with};
use crate::talk::{Talk, start};

/// A broken request, how the refusal begins, and the same request mended.
type Case = (Value, String, Value);

const BOOLEAN: &str = "Input should be a valid boolean";
const DICTIONARY: &str = "Input should be a valid dictionary";
const LIST: &str = "Input should be a valid list";
const PATTERN: &str = "String should match pattern";
const REQUIRED: &str = "Field required";
const STRING: &str = "Input should be a valid string";

fn plain() -> Value {
    request(json!([]))
}

fn field(key: &str, value: Value) -> Value {
    with(plain(), &format!("/{key}"), value)
}

fn no_system() -> Value {
    let mut request = plain();
    request["system"] = Value::Null;
    request
}

/// A call and its result.
fn good() -> Value {
    turn(json!([call("t1")]), json!([result("t1")]))
}

fn set(pointer: &str, value: Value) -> Value {
    with(good(), pointer, value)
}

fn call_with(key: &str, value: Value) -> Value {
    set(&format!("/messages/1/content/0/{key}"), value)
}

/// The result with this content.
fn content(blocks: Value) -> Value {
    set("/messages/2/content/0/content", blocks)
}

fn marked(kind: &str) -> Value {
    json!({"type": "text", "text": "x", "cache_control": {"type": kind}})
}

fn nested(marks: usize) -> Value {
    content(json!(vec![marked("ephemeral"); marks]))
}

/// This block after the result.
fn after(block: Value) -> Value {
    turn(json!([call("t1")]), json!([result("t1"), block]))
}

/// Blocks of the wrong kind, or in the wrong place.
fn blocks() -> Vec<Case> {
    vec![
        (
            after(call("t2")),
            "messages.2: `tool_use` blocks can only be in `assistant` messages".into(),
            after(text("x")),
        ),
        (
            turn(json!([result("t1"), call("t1")]), json!([result("t1")])),
            "messages.1: `tool_result` blocks can only be in `user` messages".into(),
            good(),
        ),
        (
            after(json!({"type": "txet", "text": "x"})),
            "messages.2.content.1: Input tag 'txet' found using 'type' does not match".into(),
            after(text("x")),
        ),
        (
            after(json!({"text": "x"})),
            format!("messages.2.content.1.type: {REQUIRED}"),
            after(text("x")),
        ),
        (after(json!("x")), format!("messages.2.content.1: {DICTIONARY}"), after(text("x"))),
        (after(json!(3)), format!("messages.2.content.1: {DICTIONARY}"), after(text("x"))),
        (after(json!(null)), format!("messages.2.content.1: {DICTIONARY}"), after(text("x"))),
        (
            after(json!({"type": "text"})),
            format!("messages.2.content.1.text.text: {REQUIRED}"),
            after(text("x")),
        ),
        (
            after(json!({"type": "image"})),
            format!("messages.2.content.1.image.source: {REQUIRED}"),
            after(json!({"type": "image", "source": {"type": "url", "url": "x"}})),
        ),
        (
            after(marked("forever")),
            "messages.2.content.1.text.cache_control: Input tag 'forever' found".into(),
            after(marked("ephemeral")),
        ),
    ]
}

/// Calls and results.
fn calls() -> Vec<Case> {
    vec![
        (
            content(json!([text("")])),
            "messages: text content blocks must be non-empty".into(),
            content(json!([text("x")])),
        ),
        (
            content(json!([text(" ")])),
            "messages: text content blocks must contain non-whitespace text".into(),
            content(json!([])),
        ),
        (
            nested(5),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.".into(),
            nested(4),
        ),
        (
            call_with("name", Value::Null),
            format!("messages.1.content.0.tool_use.name: {REQUIRED}"),
            good(),
        ),
        (
            call_with("name", json!("read file")),
            format!("messages.1.content.0.tool_use.name: {PATTERN}"),
            good(),
        ),
        (
            call_with("id", Value::Null),
            format!("messages.1.content.0.tool_use.id: {REQUIRED}"),
            good(),
        ),
        (
            call_with("id", json!("t 1")),
            format!("messages.1.content.0.tool_use.id: {PATTERN}"),
            good(),
        ),
        (
            content(json!(3)),
            "messages.2.content.0.tool_result.content: Input should be a valid string or list"
                .into(),
            content(json!("x")),
        ),
        (
            content(json!(["x"])),
            format!("messages.2.content.0.tool_result.content.0: {DICTIONARY}"),
            content(json!([text("x")])),
        ),
        (
            set("/messages/2/content/0/is_error", json!("no")),
            format!("messages.2.content.0.tool_result.is_error: {BOOLEAN}"),
            set("/messages/2/content/0/is_error", json!(true)),
        ),
        (
            set("/messages/2/content/0/tool_use_id", json!(1)),
            format!("messages.2.content.0.tool_result.tool_use_id: {STRING}"),
            good(),
        ),
        (
            turn(json!([{"type": "redacted_thinking"}, call("t1")]), json!([result("t1")])),
            format!("messages.1.content.0.redacted_thinking.data: {REQUIRED}"),
            turn(
                json!([{"type": "redacted_thinking", "data": "x"}, call("t1")]),
                json!([result("t1")]),
            ),
        ),
    ]
}

/// Fields at the top, and messages.
fn fields() -> Vec<Case> {
    vec![
        (set("/tools", json!({"a": 1})), format!("tools: {LIST}"), good()),
        (set("/tools/0", json!("read_file")), format!("tools.0: {DICTIONARY}"), good()),
        (field("system", json!(3)), format!("system: {LIST}"), field("system", json!("x"))),
        (no_system(), format!("system: {LIST}"), field("system", json!([text("x")]))),
        (
            field("system", json!(["x"])),
            format!("system.0: {DICTIONARY}"),
            field("system", json!([text("x")])),
        ),
        (
            field("thinking", json!("on")),
            format!("thinking: {DICTIONARY}"),
            field("thinking", json!({"type": "disabled"})),
        ),
        (
            field("thinking", json!({"type": "on"})),
            "thinking: Input tag 'on' found".into(),
            field("thinking", json!({"type": "disabled"})),
        ),
        (
            field("stream", json!("yes")),
            "stream: Input should be a valid boolean".into(),
            field("stream", json!(true)),
        ),
        (
            field("temperature", json!("hot")),
            "temperature: Input should be a valid number".into(),
            field("temperature", json!(0.5)),
        ),
        (
            field("temperature", json!(1.5)),
            "temperature: Input should be less than or equal to 1".into(),
            field("temperature", json!(1)),
        ),
        (
            field("stop_sequences", json!([1])),
            format!("stop_sequences.0: {STRING}"),
            field("stop_sequences", json!(["x"])),
        ),
        (
            field("top_k", json!(0.5)),
            "top_k: Input should be a valid integer".into(),
            field("top_k", json!(5)),
        ),
        (
            field("metadata", json!("me")),
            format!("metadata: {DICTIONARY}"),
            field("metadata", json!({"user_id": "me"})),
        ),
        (field("colour", json!("red")), "colour: Extra inputs are not permitted".into(), plain()),
        (
            set("/messages/1/name", json!("x")),
            "messages.1.name: Extra inputs are not permitted".into(),
            good(),
        ),
        (set("/messages/1", json!("x")), format!("messages.1: {DICTIONARY}"), good()),
        (set("/messages/2/content", json!(3)), format!("messages.2.content: {LIST}"), good()),
        (
            field("model", json!("")),
            "model: String should have at least 1 character".into(),
            plain(),
        ),
        (field("model", json!(4)), format!("model: {STRING}"), plain()),
        (
            field("tool_choice", json!({"type": "tool", "name": "fly"})),
            "Tool 'fly' not found in provided tools".into(),
            field("tool_choice", json!({"type": "tool", "name": "read_file"})),
        ),
        (
            field("tool_choice", json!({"type": "all"})),
            "tool_choice: Input tag 'all' found".into(),
            field("tool_choice", json!({"type": "any"})),
        ),
    ]
}

#[tokio::test]
async fn a_field_of_the_wrong_shape_is_refused_also_where_tokens_are_counted() {
    let model = start(ANY).await;
    let talk = Talk::new(&model);
    for (broken, message, mended) in [blocks(), calls(), fields()].concat() {
        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            let refused = talk.send(path, &broken).await;
            assert_eq!(refused.status(), 400, "{path}: {message}");
            let body: Value = refused.json().await.expect("JSON");
            let said = body["error"]["message"].as_str().expect("a message");
            assert!(said.starts_with(message.as_str()), "{said}\nis not: {message}");
            let taken = talk.send(path, &mended).await;
            let status = taken.status();
            assert_eq!(status, 200, "{path}: {message} mended: {:?}", taken.text().await);
        }
    }
}

#[tokio::test]
async fn kinds_of_blocks_that_no_scene_speaks_of_are_taken() {
    let model = start(ANY).await;
    let talk = Talk::new(&model);
    let search = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []});
    let page = json!({"type": "document", "source": {"type": "text", "data": "x"}});
    let request =
        request(json!([assistant(json!([search, found, text("so")])), user(json!([page]))]));
    let taken = talk.send("/v1/messages", &request).await;
    assert_eq!(taken.status(), 200, "{:?}", taken.text().await);
}
