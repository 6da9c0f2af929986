use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::*;

/// Tools in a folder with these rules, and a user who answers with these lines.
struct Place {
    folder: tempfile::TempDir,
    tools: Arc<Tools>,
    user: Input,
}

fn place(rules: Value, answers: &[Option<&str>]) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for new in [".claude", "secrets", "src"] {
        std::fs::create_dir(path.join(new)).unwrap();
    }
    let settings = json!({ "permissions": rules }).to_string();
    std::fs::create_dir_all(path.join("home/.claude")).unwrap();
    std::fs::write(path.join("home/.claude/settings.json"), settings).unwrap();
    std::fs::write(path.join("secrets/key.txt"), "lamp = 4711\n").unwrap();
    std::fs::write(path.join("src/lamp.txt"), "lamp = oil\n").unwrap();
    let tools = Arc::new(Tools::load(path, &path.join("home")).unwrap());
    Place { folder, tools, user: user(answers) }
}

/// A user whose lines are there already, so that nobody has to read them.
pub fn user(lines: &[Option<&str>]) -> Input {
    let (sender, receiver) = mpsc::unbounded_channel();
    lines.iter().for_each(|line| sender.send(line.map(String::from)).unwrap());
    let (asks, _) = std::sync::mpsc::channel();
    let interrupts = watch::channel(()).1;
    Input { is_terminal: false, asks, lines: receiver, is_reading: true, interrupts }
}

async fn permitted(place: &mut Place, command: &str) -> Result<(), String> {
    place.user.is_reading = true;
    let input = json!({ "command": command });
    let permitted = permit(&place.tools, "run_shell", &input, &mut place.user).await;
    permitted.map_err(|refusal| refusal.to_string())
}

#[tokio::test]
async fn yes_permits_once_and_always_permits_for_the_session() {
    let mut place = place(json!({}), &[Some("y"), Some("n"), Some("always"), Some("n")]);
    assert_eq!(permitted(&mut place, "make").await, Ok(()));
    assert!(permitted(&mut place, "make").await.is_err());
    assert_eq!(permitted(&mut place, "make").await, Ok(()));
    assert_eq!(permitted(&mut place, "make").await, Ok(()));
    assert!(permitted(&mut place, "make install").await.is_err());
}

#[tokio::test]
async fn a_refusal_says_why_and_what_the_user_wrote() {
    let answers = [Some("n"), Some("use cargo instead"), Some("")];
    let mut place = place(json!({ "ask": ["run_shell(make *)"] }), &answers);
    let rule = "the ask rule `run_shell(make *)` in ~/.claude/settings.json";
    let refusal = permitted(&mut place, "make").await.unwrap_err();
    assert!(refusal.starts_with("the user said no") && refusal.contains(rule), "{refusal}");
    let refusal = permitted(&mut place, "make").await.unwrap_err();
    assert!(refusal.ends_with("and: use cargo instead"), "{refusal}");
    assert!(permitted(&mut place, "make").await.is_err());
}

#[tokio::test]
async fn where_the_input_ends_before_an_answer_the_call_is_refused() {
    let refusal = permitted(&mut place(json!({}), &[None]), "make").await.unwrap_err();
    assert!(refusal.contains("nobody was there to answer"), "{refusal}");
}

#[tokio::test]
async fn what_is_denied_is_not_even_asked() {
    let mut place = place(json!({ "deny": ["run_shell(make *)"] }), &[Some("y")]);
    let refusal = permitted(&mut place, "make").await.unwrap_err();
    assert!(refusal.contains("the deny rule `run_shell(make *)`"), "{refusal}");
}

#[tokio::test]
async fn a_read_that_must_be_asked_does_not_begin_while_the_model_speaks() {
    let place = place(json!({ "ask": ["read_file(secrets/**)"] }), &[]);
    let mut calls = Calls::new(&place.tools);
    for (id, path) in [("a", "src/lamp.txt"), ("b", "secrets/key.txt"), ("c", "src/lamp.txt")] {
        let (id, name) = (id.to_string(), "read_file".to_string());
        calls.begin(&Block::ToolUse { id, name, input: json!({ "path": path }) });
    }
    let begun: Vec<&Block> = calls.begun.iter().map(|(block, _)| block).collect();
    assert!(matches!(begun[..], [Block::ToolUse { id, .. }] if id == "a"), "{begun:?}");
}

#[tokio::test]
async fn files_that_must_not_be_read_are_neither_listed_nor_searched() {
    let place = place(json!({ "deny": ["read_file(secrets)"], "ask": ["read_file(home)"] }), &[]);
    std::fs::write(place.folder.path().join("home/lamp.key"), "lamp").unwrap();
    for (tool, input) in [
        ("list_files", json!({})),
        ("grep_search", json!({ "pattern": "lamp" })),
        ("grep_search", json!({ "pattern": "lamp", "glob": "**/*.txt" })),
    ] {
        let found = place.tools.run(tool, &input).await.unwrap();
        assert!(found.contains("lamp.txt") && !found.contains("key"), "{tool}: {found}");
    }
}
