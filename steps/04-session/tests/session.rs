use mock_server::judge;
use mock_server::scene::Limits;
use proptest::prelude::*;
use serde_json::{Value, json};

use std::time::Duration;

use super::*;

fn text(text: &str) -> Block {
    Block::Text { text: text.to_string() }
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: id.to_string(), name: "t".to_string(), input: json!({}) }
}

fn result(id: &str) -> Block {
    Block::ToolResult { tool_use_id: id.into(), content: format!("of {id}"), is_error: false }
}

fn interrupted(id: &str) -> Block {
    Block::ToolResult { tool_use_id: id.into(), content: INTERRUPTED.into(), is_error: true }
}

fn user(content: Vec<Block>) -> Message {
    Message { role: Role::User, content }
}

fn model(content: Vec<Block>) -> Message {
    Message { role: Role::Assistant, content }
}

fn a_whole_history() -> Vec<Message> {
    vec![
        user(vec![text("Count the “lamps” 🦀\n")]),
        model(vec![text("I look."), call("a"), call("b")]),
        user(vec![result("a"), result("b")]),
        model(vec![text("Two.")]),
    ]
}

fn usage(input: u64, write: u64, read: u64, output: u64) -> Usage {
    Usage {
        input_tokens: input,
        cache_creation_input_tokens: write,
        cache_read_input_tokens: read,
        output_tokens: output,
    }
}

struct Place {
    home: tempfile::TempDir,
    project: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() }
    }

    fn start(&self, messages: &[Message]) -> Session {
        let mut session = Session::start(self.home.path(), self.project.path());
        for message in messages {
            session.push(message.clone()).unwrap();
        }
        session
    }

    fn resume(&self, name: Option<&str>) -> Result<(Session, Vec<String>)> {
        Session::resume(self.home.path(), self.project.path(), name)
    }
}

fn name(session: &Session) -> String {
    session.path().unwrap().file_stem().unwrap().to_string_lossy().to_string()
}

#[test]
fn a_session_comes_back_as_it_was() {
    let place = Place::new();
    let mut session = place.start(&a_whole_history());
    session.used("m", usage(1, 2, 3, 4)).unwrap();
    session.used("m", usage(10, 20, 30, 40)).unwrap();
    let (back, notes) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history());
    assert_eq!(back.usage, session.usage);
    assert_eq!(back.usage, usage(11, 22, 33, 44));
    assert_eq!(notes, [format!("session {} goes on", name(&session))]);
}

#[test]
fn a_message_is_on_disk_when_push_returns() {
    let place = Place::new();
    let mut session = place.start(&[]);
    for (count, message) in a_whole_history().into_iter().enumerate() {
        session.push(message).unwrap();
        let file = fs::read_to_string(session.path().unwrap()).unwrap();
        assert_eq!(file.lines().count(), count + 1);
        assert!(file.ends_with("}\n"));
    }
}

#[test]
fn unknown_blocks_come_back_unchanged() {
    let place = Place::new();
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "EqQB", "z": [1] });
    let history = [user(vec![text("a")]), model(vec![Block::Other(thinking), text("b")])];
    place.start(&history);
    assert_eq!(place.resume(None).unwrap().0.messages, history);
}

#[test]
fn a_session_without_a_message_leaves_no_file() {
    let place = Place::new();
    assert_eq!(place.start(&[]).path(), None);
    let error = place.resume(None).err().unwrap();
    assert_eq!(error.to_string(), "this folder has no session that could go on");
}

#[test]
fn the_newest_session_is_resumed_or_the_one_that_is_named() {
    let place = Place::new();
    let first = place.start(&[user(vec![text("first")])]);
    let second = place.start(&[user(vec![text("second")])]);
    assert!(name(&first) < name(&second));
    assert_eq!(place.resume(None).unwrap().0.messages, second.messages);
    assert_eq!(place.resume(Some(&name(&first))).unwrap().0.messages, first.messages);
}

#[test]
fn a_name_that_is_not_there_is_answered_with_those_that_are() {
    let place = Place::new();
    let first = place.start(&[user(vec![text("first")])]);
    let error = place.resume(Some("x")).err().unwrap().to_string();
    assert!(error.ends_with(&format!("x.jsonl; there are {}", name(&first))), "{error}");
}

#[test]
fn each_project_has_its_own_sessions() {
    let place = Place::new();
    let other = Place { home: place.home, project: tempfile::tempdir().unwrap() };
    let there = Session::start(other.home.path(), place.project.path());
    assert_ne!(other.start(&[]).folder, there.folder);
}

#[test]
fn a_project_folder_is_named_after_the_whole_path() {
    let folder = project_folder(Path::new("home"), Path::new("/no/such place/län tern"));
    let projects = Path::new("home").join(".loopwright").join("projects");
    assert_eq!(folder, projects.join("-no-such-place-län-tern"));
}

#[test]
fn names_in_order_are_sessions_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let moment = UNIX_EPOCH + Duration::from_micros(1_798_761_599_999_999);
    let names = [0, 1].map(|later| {
        let (path, _) = create_in(folder.path(), moment + Duration::from_micros(later)).unwrap();
        path.file_stem().unwrap().to_string_lossy().to_string()
    });
    let process = std::process::id();
    let wanted = ["2026-12-31-235959-999999", "2027-01-01-000000-000000"];
    assert_eq!(names, wanted.map(|name| format!("{name}-{process}")));
    assert_eq!(names_in(folder.path()), names);
}

#[test]
fn a_torn_last_line_costs_that_line_alone_and_is_said() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let (mut back, notes) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history()[..3]);
    assert_eq!(notes.len(), 2);
    assert!(notes[1].contains("its line 4 is unreadable and left out"), "{notes:?}");

    // What is added then does not stick to the torn line.
    back.push(model(vec![text("again")])).unwrap();
    back.push(user(vec![text("more")])).unwrap();
    let (again, notes) = place.resume(None).unwrap();
    assert_eq!(again.messages, back.messages);
    assert_eq!(notes.len(), 2);
}

#[test]
fn a_last_line_that_lacks_only_its_line_feed_counts() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (mut back, notes) = place.resume(None).unwrap();
    assert_eq!((back.messages.len(), notes.len()), (4, 1));
    back.push(user(vec![text("more")])).unwrap();
    let (back, notes) = place.resume(None).unwrap();
    assert_eq!((back.messages.len(), notes.len()), (5, 1));
}

#[test]
fn a_session_cut_at_any_byte_resumes_with_all_whole_lines_before_it() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (back, _) = place.resume(None).unwrap();
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let lines = lines + usize::from(whole[cut] == b'\n');
        let kept = mend(&a_whole_history()[..lines]);
        assert_eq!(back.messages, kept, "cut at {cut}");
    }
}

#[test]
fn an_unreadable_line_in_the_middle_costs_that_line_alone() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&[u8]> = whole.lines().map(str::as_bytes).collect();
    let odd: &[u8] = b"\xff\0{{{";
    let bytes = [lines[0], lines[1], lines[2], odd, b"", b"{}", lines[3], b""].join(&b'\n');
    fs::write(&path, bytes).unwrap();
    let (back, notes) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history());
    assert_eq!(notes.len(), 3);
    assert!(notes[1].contains("line 4 ") && notes[2].contains("line 6 "), "{notes:?}");
}

#[test]
fn a_killed_session_resumes_with_its_open_call_answered_and_says_so() {
    let place = Place::new();
    place.start(&a_whole_history()[..2]);
    let (back, notes) = place.resume(None).unwrap();
    assert_eq!(back.messages[2], user(vec![interrupted("a"), interrupted("b")]));
    assert_eq!(notes[1..], ["mended: a call without its result counts as interrupted"]);
}

/// `/dev/full` takes no byte, like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn after_a_failed_write_the_next_line_begins_on_its_own() {
    let place = Place::new();
    let mut session = place.start(&a_whole_history()[..1]);
    let (path, file) = session.file.take().unwrap();
    let full = File::options().append(true).open("/dev/full").unwrap();
    session.file = Some((path.clone(), full));
    let error = session.push(model(vec![text("lost")])).unwrap_err();
    assert!(error.to_string().ends_with(".jsonl cannot be written"), "{error}");
    assert_eq!(session.messages, a_whole_history()[..1]);

    // Half a line may have got through before the disk was full.
    let half = fs::read_to_string(&path).unwrap() + "{\"kind\":\"mess";
    fs::write(&path, half).unwrap();
    session.file = Some((path, file));
    session.push(model(vec![text("after")])).unwrap();
    let (back, notes) = place.resume(None).unwrap();
    assert_eq!(back.messages, session.messages);
    assert_eq!(notes.len(), 2);
}

#[test]
fn where_nothing_can_be_written_the_message_is_not_taken() {
    let place = Place::new();
    fs::write(place.home.path().join(".loopwright"), "a file").unwrap();
    let mut session = place.start(&[]);
    let error = session.push(user(vec![text("a")])).unwrap_err();
    assert!(error.to_string().starts_with("the session "), "{error}");
    assert_eq!(session.messages, []);
}

#[test]
fn a_whole_history_is_left_as_it_is() {
    assert_eq!(mend(&a_whole_history()), a_whole_history());
}

#[test]
fn a_missing_result_is_put_before_the_text_that_follows() {
    let history = vec![
        user(vec![text("a")]),
        model(vec![call("a"), call("b")]),
        user(vec![result("b"), text("go on")]),
    ];
    let mended = mend(&history);
    assert_eq!(mended[2], user(vec![interrupted("a"), result("b"), text("go on")]));
}

#[test]
fn a_lost_line_of_results_is_replaced() {
    let mut history = a_whole_history();
    history.remove(2);
    let mended = mend(&history);
    assert_eq!(mended[2], user(vec![interrupted("a"), interrupted("b")]));
    assert_eq!(mended[3], model(vec![text("Two.")]));
}

#[test]
fn a_result_without_its_call_is_dropped() {
    let mut history = a_whole_history();
    history.remove(1);
    let whole = vec![history[0].clone(), history[2].clone()];
    assert_eq!(mend(&history), whole);
}

/// What the strict model says to this history, with one more line of the user.
fn checked_against_the_rules(history: &[Message]) -> Result<(), String> {
    let messages = [history, &[Message::from_user("And now?")]].concat();
    let schema = json!({ "type": "object", "properties": {} });
    let tools = json!([{ "name": "t", "description": "d", "input_schema": schema }]);
    let request = json!({ "model": "m", "max_tokens": 9, "tools": tools, "messages": messages });
    let limits = Limits { context_window: 100_000, max_output: 9, cache_minimum: 1 };
    judge(&request, &limits)?;
    match history.first() {
        Some(first) if first.role == Role::Assistant => Err("the model speaks first".to_string()),
        _ => Ok(()),
    }
}

#[test]
fn the_same_id_twice_becomes_two_and_each_result_goes_with_its_call() {
    let result = |id: &str, content: &str| Block::ToolResult {
        tool_use_id: id.to_string(),
        content: content.to_string(),
        is_error: false,
    };
    let history = [
        user(vec![text("a")]),
        model(vec![call("x"), call("x"), text("both")]),
        user(vec![result("x", "first"), result("x", "second")]),
        model(vec![call("x"), call(""), call("")]),
        user(vec![result("", "fourth"), result("x", "third")]),
    ];
    let mended = [
        user(vec![text("a")]),
        model(vec![text("both"), call("x"), call("x_1")]),
        user(vec![result("x", "first"), result("x_1", "second")]),
        model(vec![call("x_2"), call("_"), call("__4")]),
        user(vec![result("x_2", "third"), result("_", "fourth"), interrupted("__4")]),
    ];
    assert_eq!(mend(&history), mended);
    assert_eq!(checked_against_the_rules(&mended), Ok(()));
}

#[test]
fn a_history_begins_with_the_user() {
    let history = a_whole_history().split_off(1);
    let mended = mend(&history);
    assert_eq!(mended[0], Message::from_user("[what came before is lost]"));
    assert_eq!(mended[1..], history);
}

#[test]
fn a_call_whose_result_could_not_be_written_is_answered_before_the_next_line() {
    let history = [&a_whole_history()[..2], &[Message::from_user("again")]].concat();
    let answers = vec![interrupted("a"), interrupted("b"), text("again")];
    assert_eq!(mend(&history)[2..], [user(answers)]);
}

/// A history as it was written, a turn a number: how many calls, and then the next.
fn any_history() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(0..4_usize, 1..6).prop_map(|turns| {
        let mut history = Vec::new();
        for (turn, count) in turns.into_iter().enumerate() {
            let ids: Vec<String> = (0..count).map(|call| format!("{turn}-{call}")).collect();
            history.push(user(vec![text(&format!("a{turn}"))]));
            let calls = ids.iter().map(|id| call(id));
            history.push(model([text("I look.")].into_iter().chain(calls).collect()));
            if count > 0 {
                history.push(user(ids.iter().map(|id| result(id)).collect()));
                history.push(model(vec![text("Done.")]));
            }
        }
        history
    })
}

/// What a model may say, and a damaged file may hold.
fn any_block() -> impl Strategy<Value = Block> {
    let id = || prop::sample::select(vec!["", "a", "b", "a b", "a_b", "a_1", "é"]);
    let input = prop::sample::select(vec![json!({}), json!(null), json!("{"), json!([1])]);
    let odd = [
        json!(null),
        json!(5),
        json!({ "text": "no type" }),
        json!({ "type": "text" }),
        json!({ "type": "tool_use", "name": "t", "input": {} }),
        json!({ "type": "tool_result", "tool_use_id": "a" }),
        json!({ "type": "redacted_thinking", "data": "x" }),
    ];
    let name = prop::sample::select(vec!["t", "", "two words", "é"]);
    prop_oneof![
        "[a \n]{0,2}".prop_map(|line| text(&line)),
        (id(), name, input).prop_map(|(id, name, input)| Block::ToolUse {
            id: id.to_string(),
            name: name.to_string(),
            input,
        }),
        id().prop_map(result),
        prop::sample::select(odd.to_vec()).prop_map(Block::Other),
    ]
}

/// Any messages in any order.
fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant]);
    let message = (role, prop::collection::vec(any_block(), 0..5))
        .prop_map(|(role, content)| Message { role, content });
    prop::collection::vec(message, 0..8)
}

/// What was said in a history, without what `mend` itself says.
fn texts(history: &[Message]) -> Vec<Block> {
    let blocks = history.iter().flat_map(|message| message.content.clone());
    let was_said = |text: &str| !text.trim().is_empty() && text != "[what came before is lost]";
    blocks.filter(|block| matches!(block, Block::Text { text } if was_said(text))).collect()
}

proptest! {
    #[test]
    fn whatever_a_model_says_and_a_file_holds_the_next_request_is_valid(
        messages in any_messages(),
    ) {
        let mended = mend(&messages);
        prop_assert_eq!(checked_against_the_rules(&mended), Ok(()));
        prop_assert_eq!(mend(&mended), mended.clone());
        prop_assert_eq!(texts(&mended), texts(&messages));
        // What was sent once is sent again in the same words, so that a cache can keep it.
        let sent = [messages, vec![Message::from_user("more")]].concat();
        let later = [&sent[..], &[model(vec![text("yes")])]].concat();
        prop_assert_eq!(&mend(&later)[..mend(&sent).len()], mend(&sent));
    }

    #[test]
    fn a_session_of_any_lines_resumes_valid(messages in any_messages()) {
        let place = Place::new();
        place.start(&[vec![Message::from_user("a")], messages].concat());
        let (back, _) = place.resume(None).unwrap();
        prop_assert_eq!(checked_against_the_rules(&back.messages), Ok(()));
    }

    #[test]
    fn whatever_lines_are_lost_the_rest_is_valid_and_no_text_is_lost(
        history in any_history(), lost in prop::collection::vec(any::<bool>(), 24),
    ) {
        let left: Vec<Message> =
            history.into_iter().zip(lost).filter(|(_, lost)| !lost).map(|(message, _)| message).collect();
        let mended = mend(&left);
        prop_assert_eq!(checked_against_the_rules(&mended), Ok(()));
        prop_assert_eq!(texts(&mended), texts(&left));
        prop_assert_eq!(mend(&mended), mended);
    }

    #[test]
    fn any_bytes_in_the_file_are_read_without_a_panic_and_can_be_added_to(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let place = Place::new();
        let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
        let mut file = fs::read(&path).unwrap();
        let at = cut.index(file.len());
        file.splice(at..at, bytes);
        fs::write(&path, file).unwrap();
        let (mut back, _) = place.resume(None).unwrap();
        prop_assert_eq!(checked_against_the_rules(&back.messages), Ok(()));
        back.push(user(vec![text("more")])).unwrap();
        let (again, _) = place.resume(None).unwrap();
        prop_assert_eq!(checked_against_the_rules(&again.messages), Ok(()));
        prop_assert_eq!(again.messages.last().unwrap().content.last(), Some(&text("more")));
    }
}

#[test]
fn each_kind_of_token_has_its_price_and_cached_ones_are_counted_once() {
    let million = usage(1_000_000, 0, 0, 0);
    assert_eq!(cost("claude-sonnet-4-5", &million), Some(3.0));
    assert_eq!(cost("claude-sonnet-4-5", &usage(0, 1_000_000, 0, 0)), Some(3.75));
    assert_eq!(cost("claude-sonnet-4-5", &usage(0, 0, 1_000_000, 0)), Some(0.3));
    assert_eq!(cost("claude-sonnet-4-5", &usage(0, 0, 0, 1_000_000)), Some(15.0));
    assert_eq!(cost("claude-haiku-4-5", &usage(4, 8, 10, 2)), Some(25e-6));
    assert_eq!(usage(4, 8, 10, 2).all_input(), 22);
}

#[test]
fn a_model_is_known_by_its_whole_name_or_with_a_date() {
    let one = usage(1_000_000, 0, 0, 0);
    assert_eq!(cost("claude-haiku-4-5-20251001", &one), Some(1.0));
    for unknown in ["", "claude-haiku-4", "claude-haiku-4-51", "scripted"] {
        assert_eq!(cost(unknown, &one), None, "{unknown}");
    }
}

#[test]
fn one_unknown_model_makes_the_whole_cost_unknown() {
    let place = Place::new();
    let mut session = place.start(&[]);
    assert_eq!(session.cost, Some(0.0));
    session.used("claude-haiku-4-5", usage(1_000_000, 0, 0, 0)).unwrap();
    assert_eq!(session.cost, Some(1.0));
    session.used("scripted", usage(1, 0, 0, 0)).unwrap();
    assert_eq!(session.cost, None);
}

#[test]
fn usage_from_any_server_is_read_and_never_overflows() {
    let read = |value: Value| Usage::from(value);
    assert_eq!(
        read(json!({ "input_tokens": 3, "cache_read_input_tokens": null })),
        usage(3, 0, 0, 0)
    );
    assert_eq!(read(json!({ "output_tokens": -1 })), Usage::default());
    assert_eq!(read(Value::Null), Usage::default());
    let count = u64::MAX;
    let mut most = read(json!({
        "input_tokens": count, "cache_creation_input_tokens": count,
        "cache_read_input_tokens": count, "output_tokens": count,
    }));
    most.add(&most.clone());
    assert_eq!((most.all_input(), most.output_tokens), (6 << 40, 2 << 40));
}
