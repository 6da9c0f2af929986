use proptest::prelude::*;
use serde_json::{Value, json};

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
    session.used("n", usage(1, 0, 0, 1)).unwrap();
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history());
    assert_eq!(back.usage, session.usage);
    assert_eq!(back.usage["m"], usage(11, 22, 33, 44));
    assert_eq!(faults, Vec::<String>::new());
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
    assert_eq!(error.to_string(), "this folder has no session to resume: start a new one");
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
fn a_name_that_is_not_there_or_not_clear_is_refused_with_those_that_are() {
    let place = Place::new();
    let first = place.start(&[user(vec![text("first")])]);
    let second = place.start(&[user(vec![text("second")])]);
    let known = format!("{}, {}", name(&first), name(&second));
    let refused = |wanted| place.resume(Some(wanted)).err().unwrap().to_string();
    let none = "no session of this folder begins with";
    assert_eq!(refused("x"), format!("{none} \"x\"; there are: {known}"));
    assert_eq!(refused("../x"), format!("{none} \"../x\"; there are: {known}"));
    let many = "more than one session of this folder begins with";
    assert_eq!(refused("20"), format!("{many} \"20\": {known}"));
}

#[test]
fn each_project_has_its_own_sessions() {
    let place = Place::new();
    let other = Place { home: place.home, project: tempfile::tempdir().unwrap() };
    let there = Session::start(other.home.path(), place.project.path());
    assert_ne!(other.start(&[]).folder, there.folder);
}

#[test]
fn a_project_folder_is_readable_and_the_same_with_every_compiler() {
    let folder = project_folder(Path::new("home"), Path::new("/no/such place/län tern"));
    let projects = Path::new("home").join(".loopwright").join("projects");
    assert_eq!(folder.parent(), Some(projects.as_path()));
    assert_eq!(folder.file_name().unwrap().to_str().unwrap(), "län-tern-2820d57e5f39ba83");
}

#[test]
fn a_session_is_named_after_its_moment() {
    let moment = UNIX_EPOCH + Duration::from_millis(1_798_761_599_042);
    assert_eq!(name_at(moment), "2026-12-31-235959-042");
    assert!(name_at(moment) < name_at(moment + Duration::from_millis(1)));
}

#[test]
fn two_sessions_begun_in_one_moment_are_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let moment = UNIX_EPOCH + Duration::from_millis(1_798_761_599_999);
    let names = [(); 3].map(|()| {
        let (path, _) = create_in(folder.path(), moment).unwrap();
        path.file_stem().unwrap().to_string_lossy().to_string()
    });
    assert_eq!(names, ["2026-12-31-235959-999", "2027-01-01-000000-000", "2027-01-01-000000-001"]);
}

#[test]
fn a_torn_last_line_costs_that_line_alone_and_is_said() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let (mut back, faults) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history()[..3]);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains(".jsonl:4: unreadable and so left out"), "{faults:?}");

    // What is added then does not stick to the torn line.
    back.push(model(vec![text("again")])).unwrap();
    back.push(user(vec![text("more")])).unwrap();
    let (again, faults) = place.resume(None).unwrap();
    assert_eq!(again.messages, back.messages);
    assert_eq!(faults.len(), 1);
}

#[test]
fn a_last_line_that_lacks_only_its_line_feed_counts() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (mut back, faults) = place.resume(None).unwrap();
    assert_eq!((back.messages.len(), faults.len()), (4, 0));
    back.push(user(vec![text("more")])).unwrap();
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!((back.messages.len(), faults.len()), (5, 0));
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
        let kept = mend(a_whole_history()[..lines].to_vec());
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
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!(back.messages, a_whole_history());
    assert_eq!(faults.len(), 2);
    assert!(faults[0].contains(".jsonl:4: ") && faults[1].contains(".jsonl:6: "), "{faults:?}");
}

#[test]
fn a_kind_of_line_from_a_later_version_is_skipped_in_silence() {
    let place = Place::new();
    let path = place.start(&a_whole_history()).path().unwrap().to_path_buf();
    let later = fs::read_to_string(&path).unwrap() + "{\"kind\":\"dream\",\"of\":[1]}\n";
    fs::write(&path, later).unwrap();
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!((back.messages, faults.len()), (a_whole_history(), 0));
}

#[test]
fn a_killed_session_resumes_with_its_open_call_answered_and_says_so() {
    let place = Place::new();
    place.start(&a_whole_history()[..2]);
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!(back.messages[2], user(vec![interrupted("a"), interrupted("b")]));
    assert_eq!(faults, ["calls without a result: 2; the model is told so"]);
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
    let (back, faults) = place.resume(None).unwrap();
    assert_eq!(back.messages, session.messages);
    assert_eq!(faults.len(), 1);
}

#[test]
fn where_nothing_can_be_written_the_message_is_not_taken() {
    let place = Place::new();
    fs::write(place.home.path().join(".loopwright"), "a file").unwrap();
    let mut session = place.start(&[]);
    let error = session.push(user(vec![text("a")])).unwrap_err();
    assert!(error.to_string().starts_with("cannot make "), "{error}");
    assert_eq!(session.messages, []);
}

#[test]
fn a_whole_history_is_left_as_it_is() {
    assert_eq!(mend(a_whole_history()), a_whole_history());
}

#[test]
fn a_missing_result_is_put_before_the_text_that_follows() {
    let history = vec![
        user(vec![text("a")]),
        model(vec![call("a"), call("b")]),
        user(vec![result("b"), text("go on")]),
    ];
    let mended = mend(history);
    assert_eq!(mended[2], user(vec![interrupted("a"), result("b"), text("go on")]));
}

#[test]
fn a_lost_line_of_results_is_replaced() {
    let mut history = a_whole_history();
    history.remove(2);
    let mended = mend(history);
    assert_eq!(mended[2], user(vec![interrupted("a"), interrupted("b")]));
    assert_eq!(mended[3], model(vec![text("Two.")]));
}

#[test]
fn a_result_without_its_call_is_dropped() {
    let mut history = a_whole_history();
    history.remove(1);
    let whole = vec![history[0].clone(), history[2].clone()];
    assert_eq!(mend(history), whole);
}

fn checked_against_the_rules(history: &[Message]) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut calls: Vec<String> = Vec::new();
    if history.first().is_some_and(|first| first.role == Role::Assistant) {
        return Err("begins with the model".into());
    }
    for (number, message) in history.iter().enumerate() {
        if message.content.is_empty() {
            return Err(format!("{number} is empty"));
        }
        if number > 0 && history[number - 1].role == message.role {
            return Err(format!("{number} has the role of the one before"));
        }
        let mut results = Vec::new();
        let mut called = Vec::new();
        for block in &message.content {
            match block {
                Block::Text { text } if text.trim().is_empty() => return Err("empty text".into()),
                Block::ToolUse { id, input, .. } => {
                    if message.role == Role::User || !ids.insert(id.clone()) || !input.is_object() {
                        return Err(format!("bad call {id}"));
                    }
                    called.push(id.clone());
                }
                Block::ToolResult { tool_use_id, .. } => results.push(tool_use_id.clone()),
                _ if !called.is_empty() => return Err("text behind a call".into()),
                _ => {}
            }
        }
        if results != calls {
            return Err(format!("{number}: called {calls:?}, answered {results:?}"));
        }
        calls = called;
    }
    if calls.is_empty() { Ok(()) } else { Err("ends in a call".into()) }
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[a ]{0,2}".prop_map(|text| Block::Text { text }),
        "[a-d]".prop_map(|id| call(&id)),
        "[a-d]".prop_map(|id| result(&id)),
        "[a-d]".prop_map(|id| Block::ToolUse { id, name: "t".into(), input: Value::Null }),
        Just(Block::Other(json!({ "type": "thinking", "thinking": "", "signature": "s" }))),
        Just(Block::Other(json!({ "type": "tool_use", "id": "a" }))),
        Just(Block::Other(json!(5))),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<Message>> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant]);
    let message = (role, prop::collection::vec(any_block(), 0..5));
    let message = message.prop_map(|(role, content)| Message { role, content });
    prop::collection::vec(message, 0..9)
}

proptest! {
    #[test]
    fn any_history_is_valid_once_it_is_mended(history in any_history()) {
        let mended = mend(history);
        prop_assert_eq!(checked_against_the_rules(&mended), Ok(()));
        prop_assert_eq!(mend(mended.clone()), mended);
    }

    #[test]
    fn no_text_of_the_user_is_lost(history in any_history()) {
        let texts = |history: &[Message]| -> Vec<Block> {
            let of_user = history.iter().filter(|message| message.role == Role::User);
            of_user.flat_map(|message| message.content.clone())
                .filter(|block| matches!(block, Block::Text { text } if text.contains('a')))
                .collect()
        };
        let before = texts(&history);
        let mended: Vec<Message> = mend(history);
        prop_assert!(texts(&mended).ends_with(&before));
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
    for unknown in
        ["", "claude-haiku-4", "claude-haiku-4-51", "claude-haiku-4-5-2025100", "scripted"]
    {
        assert_eq!(cost(unknown, &one), None, "{unknown}");
    }
    assert_eq!(cost("claude-haiku-4-5é2025100", &one), None);
}

#[test]
fn one_unknown_model_makes_the_whole_cost_unknown() {
    let place = Place::new();
    let mut session = place.start(&[]);
    assert_eq!(dollars(session.cost()), "$0.0000");
    session.used("claude-haiku-4-5", usage(1_000_000, 0, 0, 0)).unwrap();
    assert_eq!(dollars(session.cost()), "$1.0000");
    session.used("scripted", usage(1, 0, 0, 0)).unwrap();
    assert_eq!(dollars(session.cost()), "unknown");
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
    let mut most = usage(u64::MAX, 1, 1, u64::MAX);
    most.add(&most.clone());
    assert_eq!((most.all_input(), most.output_tokens), (u64::MAX, u64::MAX));
}
