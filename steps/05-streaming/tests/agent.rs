use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

fn project() -> (TempDir, Arc<Tools>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let tools = Arc::new(Tools::new(folder.path().to_path_buf()));
    (folder, tools)
}

fn read(id: usize) -> Block {
    Block::ToolUse {
        id: id.to_string(),
        name: "read_file".into(),
        input: json!({ "path": "a.txt" }),
    }
}

fn shell(id: usize, command: &str) -> Block {
    let input = json!({ "command": command });
    Block::ToolUse { id: id.to_string(), name: "run_shell".into(), input }
}

/// What the calls give: id and text.
async fn results(calls: Calls, blocks: Vec<Block>) -> Vec<(String, String)> {
    let reply = Message { role: Role::Assistant, content: blocks };
    let (_sender, interrupts) = watch::channel(());
    let results = calls.answer_every_call(&reply, &interrupts).await;
    let pair = |block| match block {
        Block::ToolResult { tool_use_id, content, .. } => (tool_use_id, content),
        other => panic!("no result: {other:?}"),
    };
    results.into_iter().map(pair).collect()
}

#[tokio::test]
async fn reads_begin_when_their_block_ends_and_at_most_ten_at_once() {
    let (_folder, tools) = project();
    let mut calls = Calls::new(&tools);
    let blocks: Vec<Block> = (0..12).map(read).collect();
    blocks.iter().for_each(|block| calls.begin(block));
    assert_eq!(calls.begun.len(), 10);
    let results = results(calls, blocks).await;
    assert_eq!(results.len(), 12);
    assert!(results.iter().enumerate().all(|(n, (id, text))| *id == n.to_string() && text == "a"));
}

#[tokio::test]
async fn what_is_no_read_does_not_begin_before_the_reply_is_whole_nor_does_a_read_behind_it() {
    let (_folder, tools) = project();
    let mut calls = Calls::new(&tools);
    let blocks = vec![read(0), shell(1, "printf b > a.txt"), read(2)];
    blocks.iter().for_each(|block| calls.begin(block));
    assert_eq!(calls.begun.len(), 1);
    let results = results(calls, blocks).await;
    assert_eq!((results[0].1.as_str(), results[2].1.as_str()), ("a", "b"));
}

#[tokio::test]
async fn what_is_no_read_runs_alone_and_in_order() {
    let (_folder, tools) = project();
    let slow = shell(0, "sleep 0.3; printf 1 >> a.txt");
    let blocks = vec![slow, shell(1, "printf 2 >> a.txt"), read(2)];
    assert_eq!(results(Calls::new(&tools), blocks).await[2].1, "a12");
}

#[tokio::test]
async fn after_ctrl_c_nothing_more_is_run_and_every_call_is_answered() {
    let (folder, tools) = project();
    let content = vec![shell(0, "touch never"), read(1)];
    let reply = Message { role: Role::Assistant, content };
    let (sender, interrupts) = watch::channel(());
    sender.send(()).unwrap();
    let results = Calls::new(&tools).answer_every_call(&reply, &interrupts).await;
    let said = |block: &Block| matches!(block, Block::ToolResult { content, is_error: true, .. } if content == INTERRUPTED);
    assert!(results.len() == 2 && results.iter().all(said), "{results:?}");
    assert!(!folder.path().join("never").exists());
}

#[tokio::test]
async fn two_calls_with_one_id_are_two_calls() {
    let (folder, tools) = project();
    fs::write(folder.path().join("b.txt"), "b").unwrap();
    let other = Block::ToolUse {
        id: "0".to_string(),
        name: "read_file".into(),
        input: json!({ "path": "b.txt" }),
    };
    // They end in another order than they began in.
    let mut calls = Calls::new(&tools);
    calls.begin(&other);
    calls.begin(&read(0));
    assert_eq!(calls.begun.len(), 2);
    let results = results(calls, vec![read(0), other, read(0)]).await;
    let texts: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["a", "b", "a"]);
}

#[tokio::test]
async fn a_read_that_had_ended_before_ctrl_c_has_its_result() {
    let (_folder, tools) = project();
    let mut calls = Calls::new(&tools);
    calls.begin(&read(0));
    while !calls.begun[0].1.is_finished() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let reply = Message { role: Role::Assistant, content: vec![read(0), read(1)] };
    let (sender, interrupts) = watch::channel(());
    sender.send(()).unwrap();
    let results = calls.answer_every_call(&reply, &interrupts).await;
    let text = |block: &Block| match block {
        Block::ToolResult { content, .. } => content.clone(),
        other => panic!("no result: {other:?}"),
    };
    assert_eq!(results.iter().map(text).collect::<Vec<_>>(), ["a", INTERRUPTED]);
}

/// Editing a million lines takes much longer than the key press comes later.
#[tokio::test]
async fn ctrl_c_does_not_wait_for_an_edit() {
    let (folder, tools) = project();
    let path = folder.path().join("long.txt");
    fs::write(&path, "lamp\n".repeat(1_000_000) + "bell\n").unwrap();
    tools.run("read_file", &json!({ "path": "long.txt" })).await.unwrap();
    let input = json!({ "path": "long.txt", "old_text": "bell", "new_text": "horn" });
    let edit = Block::ToolUse { id: "0".to_string(), name: "edit_file".into(), input };
    let reply = Message { role: Role::Assistant, content: vec![edit] };
    let (sender, interrupts) = watch::channel(());
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        // Held until the end of the test: who has gone cannot interrupt.
        sender.send(()).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    });
    let results = Calls::new(&tools).answer_every_call(&reply, &interrupts).await;
    assert!(
        matches!(&results[..], [Block::ToolResult { content, .. }] if content == INTERRUPTED),
        "{results:?}"
    );
}
