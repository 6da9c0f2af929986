use serde_json::json;

use super::*;

#[test]
fn a_block_of_an_unknown_kind_goes_back_unchanged() {
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    let block: Block = serde_json::from_value(thinking.clone()).unwrap();
    assert_eq!(block, Block::Other(thinking.clone()));
    assert_eq!(serde_json::to_value(block).unwrap(), thinking);
}

#[test]
fn messages_are_written_in_the_words_of_the_api() {
    let result = Block::ToolResult {
        tool_use_id: "toolu_1".to_string(),
        content: "hello".to_string(),
        is_error: false,
    };
    let message = Message { role: Role::User, content: vec![result] };
    let expected = json!({
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hello", "is_error": false},
        ],
    });
    assert_eq!(serde_json::to_value(message).unwrap(), expected);
}

fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse { id: id.to_string(), name: name.to_string(), input }
}

#[test]
fn an_id_and_a_name_get_letters_that_the_api_takes() {
    let odd = call("call:1 é", "read file", json!({}));
    assert_eq!(odd.in_form(Role::Assistant), Some(call("call_1__", "read_file", json!({}))));
    let empty = call("", "", json!({}));
    assert_eq!(empty.in_form(Role::Assistant), Some(call("_", "_", json!({}))));
    let long = call("a", &"n".repeat(200), json!({})).in_form(Role::Assistant);
    assert_eq!(long, Some(call("a", &"n".repeat(128), json!({}))));
    let fine = call("toolu_1-a", "read_file", json!({ "path": "a" }));
    assert_eq!(fine.clone().in_form(Role::Assistant), Some(fine));
}

#[test]
fn an_input_that_is_no_object_becomes_one() {
    for input in [json!("a"), json!([1]), json!(null)] {
        let object = json!({ "unreadable_arguments": input });
        let block = call("a", "t", input).in_form(Role::Assistant);
        assert_eq!(block, Some(call("a", "t", object)));
    }
}

#[test]
fn what_may_not_stand_in_a_message_is_left_out() {
    let thinking = Block::Other(json!({ "type": "thinking", "thinking": "hm", "signature": "s" }));
    let result =
        Block::ToolResult { tool_use_id: "a".into(), content: String::new(), is_error: false };
    let empty = Block::Text { text: " \n".to_string() };
    for role in [Role::User, Role::Assistant] {
        assert_eq!(empty.clone().in_form(role), None);
        for torn in [
            json!({ "type": "text" }),
            json!({ "type": "tool_use", "id": "a" }),
            json!({ "type": "thinking", "thinking": "unsigned" }),
            json!({ "type": " text", "text": "a" }),
            json!(5),
        ] {
            assert_eq!(Block::Other(torn).in_form(role), None);
        }
    }
    for (block, role, other) in [
        (thinking, Role::Assistant, Role::User),
        (call("a", "t", json!({})), Role::Assistant, Role::User),
        (result, Role::User, Role::Assistant),
    ] {
        assert_eq!(block.clone().in_form(role), Some(block.clone()));
        assert_eq!(block.in_form(other), None);
    }
}
