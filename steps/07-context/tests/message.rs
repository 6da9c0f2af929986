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
