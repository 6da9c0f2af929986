use proptest::prelude::*;

use super::*;
use crate::sse::EventReader;

fn event(data: Value) -> Event {
    Event { name: data["type"].as_str().unwrap().to_string(), data: data.to_string() }
}

fn start(index: u64, block: Value) -> Event {
    event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn delta(index: u64, delta: Value) -> Event {
    event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn words(index: u64, text: &str) -> Event {
    delta(index, json!({ "type": "text_delta", "text": text }))
}

fn json_piece(index: u64, piece: &str) -> Event {
    delta(index, json!({ "type": "input_json_delta", "partial_json": piece }))
}

fn stop(index: u64) -> Event {
    event(json!({ "type": "content_block_stop", "index": index }))
}

fn begin() -> Event {
    event(json!({ "type": "message_start", "message": { "role": "assistant", "content": [],
        "usage": { "input_tokens": 3, "cache_creation_input_tokens": 5,
                   "cache_read_input_tokens": 7, "output_tokens": 1 } } }))
}

fn end(reason: &str) -> [Event; 2] {
    let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 20 });
    [
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }),
        ),
        event(json!({ "type": "message_stop" })),
    ]
}

fn tool() -> Event {
    start(0, json!({ "type": "tool_use", "id": "toolu_1", "name": "t", "input": {} }))
}

fn call(input: Value) -> Block {
    Block::ToolUse { id: "toolu_1".to_string(), name: "t".to_string(), input }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_string() }
}

/// A reply with these events between its beginning and its end, and the pieces it gave on the way.
fn reply(events: &[Event], reason: &str) -> Result<(Reply, Vec<Piece>), Failure> {
    let mut assembly = Assembly::default();
    let mut pieces = Vec::new();
    for event in [begin()].iter().chain(events).chain(&end(reason)) {
        pieces.extend(assembly.take(event)?);
    }
    Ok((assembly.finish()?, pieces))
}

fn content(events: &[Event]) -> Vec<Block> {
    reply(events, "tool_use").unwrap().0.content
}

#[test]
fn text_comes_in_pieces_and_then_whole() {
    let events = [
        start(0, json!({ "type": "text", "text": "" })),
        event(json!({ "type": "ping" })),
        words(0, ""),
        words(0, "Hel"),
        words(0, "lo 🦀"),
        stop(0),
    ];
    let (reply, pieces) = reply(&events, "end_turn").unwrap();
    assert_eq!(reply.content, [text("Hello 🦀")]);
    assert_eq!(reply.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(
        pieces,
        [
            Piece::Text("Hel".to_string()),
            Piece::Text("lo 🦀".to_string()),
            Piece::Finished(text("Hello 🦀")),
        ]
    );
}

#[test]
fn usage_is_the_last_word_on_each_count_and_no_sum() {
    let usage = reply(&[], "end_turn").unwrap().0.usage;
    assert_eq!(
        usage,
        Usage {
            input_tokens: 3,
            cache_creation_input_tokens: 5,
            cache_read_input_tokens: 7,
            output_tokens: 20,
        }
    );
}

#[test]
fn arguments_are_put_together_from_pieces() {
    let events =
        [tool(), json_piece(0, ""), json_piece(0, r#"{"pa"#), json_piece(0, r#"th":"a"} "#)];
    let events = [&events[..], &[stop(0)]].concat();
    assert_eq!(content(&events), [call(json!({ "path": "a" }))]);
}

#[test]
fn a_call_is_handed_out_when_its_block_ends_and_not_before() {
    let mut assembly = Assembly::default();
    let mut take = |event| assembly.take(&event).unwrap();
    assert_eq!(take(tool()), None);
    assert_eq!(take(json_piece(0, "{}")), None);
    assert_eq!(take(start(1, json!({ "type": "text", "text": "" }))), None);
    assert_eq!(take(stop(0)), Some(Piece::Finished(call(json!({})))));
}

#[test]
fn a_call_without_arguments_gets_an_empty_object() {
    assert_eq!(content(&[tool(), stop(0)]), [call(json!({}))]);
    assert_eq!(content(&[tool(), json_piece(0, ""), stop(0)]), [call(json!({}))]);
    let bare = start(0, json!({ "type": "tool_use", "id": "toolu_1", "name": "t" }));
    assert_eq!(content(&[bare, stop(0)]), [call(json!({}))]);
}

#[test]
fn arguments_that_came_whole_with_the_start_count() {
    let whole = json!({ "type": "tool_use", "id": "toolu_1", "name": "t", "input": { "a": 1 } });
    assert_eq!(content(&[start(0, whole), stop(0)]), [call(json!({ "a": 1 }))]);
}

#[test]
fn malformed_arguments_are_kept_as_text_for_an_error_result() {
    for torn in [r#"{"path": "a"#, "[1]", "7", "null", " ", r#"{"a":1}{"#] {
        let blocks = content(&[tool(), json_piece(0, torn), stop(0)]);
        let [Block::ToolUse { input, .. }] = blocks.as_slice() else { panic!("no call") };
        assert!(input.is_object());
        assert_eq!(unreadable(input), Some(torn));
    }
    assert_eq!(unreadable(&json!({ "path": "a" })), None);
}

#[test]
fn a_call_that_never_ended_is_not_run_even_if_its_json_is_whole() {
    for so_far in ["", "{}", r#"{"command":"rm"}"#] {
        let (reply, pieces) = reply(&[tool(), json_piece(0, so_far)], "max_tokens").unwrap();
        let [Block::ToolUse { input, .. }] = reply.content.as_slice() else { panic!("no call") };
        assert_eq!(unreadable(input), Some(so_far));
        assert_eq!(pieces, []);
    }
}

#[test]
fn a_text_that_never_ended_is_kept_as_far_as_it_came() {
    let events = [start(0, json!({ "type": "text", "text": "" })), words(0, "as far as")];
    assert_eq!(content(&events), [text("as far as")]);
}

#[test]
fn thinking_goes_back_as_it_came() {
    let events = [
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "", "new": 1 })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "so " })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "be it" })),
        delta(0, json!({ "type": "signature_delta", "signature": "EqQB" })),
        stop(0),
        start(1, json!({ "type": "redacted_thinking", "data": "x" })),
        stop(1),
    ];
    assert_eq!(
        content(&events),
        [
            Block::Other(
                json!({ "type": "thinking", "thinking": "so be it", "signature": "EqQB", "new": 1 })
            ),
            Block::Other(json!({ "type": "redacted_thinking", "data": "x" })),
        ]
    );
}

#[test]
fn blocks_stand_in_the_order_of_their_numbers_even_if_they_end_in_another() {
    let events = [
        start(0, json!({ "type": "text", "text": "" })),
        start(1_000_000_000_000, json!({ "type": "text", "text": "later" })),
        stop(1_000_000_000_000),
        words(0, "first"),
        stop(0),
    ];
    assert_eq!(content(&events), [text("first"), text("later")]);
}

#[test]
fn text_that_came_with_the_start_is_shown() {
    let (_, pieces) =
        reply(&[start(0, json!({ "type": "text", "text": "a" })), stop(0)], "x").unwrap();
    assert_eq!(pieces, [Piece::Text("a".to_string()), Piece::Finished(text("a"))]);
}

#[test]
fn what_is_not_known_is_passed_over() {
    let odd = |name: &str, data: &str| Event { name: name.to_string(), data: data.to_string() };
    let events = [
        odd("message", "data without a name"),
        odd("keepalive", "{"),
        odd("ping", "{"),
        odd("message_later", "{}"),
        start(0, json!({ "type": "text", "text": "a" })),
        delta(0, json!({ "type": "later_delta", "x": 1 })),
        stop(0),
    ];
    assert_eq!(content(&events), [text("a")]);
}

#[test]
fn what_comes_after_the_end_is_passed_over() {
    let mut assembly = Assembly::default();
    for event in end("end_turn") {
        assert!(!assembly.is_whole());
        assembly.take(&event).unwrap();
    }
    assert!(assembly.is_whole());
    assert_eq!(assembly.take(&event(json!({ "type": "error" }))), Ok(None));
}

#[test]
fn a_stream_that_ends_early_is_broken() {
    let mut assembly = Assembly::default();
    for event in [begin(), tool(), stop(0), end("tool_use")[0].clone()] {
        assembly.take(&event).unwrap();
    }
    let failure = assembly.finish().unwrap_err();
    assert_eq!(failure.to_string(), "the model's reply broke off: it ended without message_stop");
}

#[test]
fn an_error_event_is_a_refusal_with_the_status_it_stands_for() {
    for (kind, status) in [
        ("overloaded_error", 529),
        ("api_error", 500),
        ("rate_limit_error", 429),
        ("authentication_error", 401),
        ("invalid_request_error", 400),
        ("later_error", 400),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "No." } });
        let failure = reply(&[event(error)], "end_turn").unwrap_err();
        assert_eq!(failure.to_string(), format!("the model answered {status}: {kind}: No."));
    }
}

#[test]
fn what_makes_no_sense_is_an_error_and_no_panic() {
    let text_block = || start(0, json!({ "type": "text", "text": "" }));
    let broken = |name: &str| Event { name: name.to_string(), data: "{".to_string() };
    for events in [
        vec![broken("message_start")],
        vec![broken("message_delta")],
        vec![stop(0)],
        vec![words(0, "a")],
        vec![text_block(), stop(0), words(0, "a")],
        vec![text_block(), stop(0), stop(0)],
        vec![text_block(), text_block()],
        vec![start(0, json!(5)), stop(0)],
        vec![start(0, json!(null)), words(0, "a"), stop(0)],
        vec![start(0, json!({ "type": "tool_use", "name": "t" })), stop(0)],
        vec![start(0, json!({ "type": "text", "text": 5 })), stop(0)],
        vec![event(json!({ "type": "content_block_start" }))],
        vec![event(json!({ "type": "content_block_delta", "index": -1 }))],
    ] {
        let failure = reply(&events, "end_turn").unwrap_err();
        assert!(matches!(failure, Failure::Nonsense(_)), "{events:?}: {failure:?}");
    }
}

proptest! {
    #[test]
    fn arguments_come_out_the_same_however_the_stream_and_their_pieces_are_cut(
        value in "[\"\\\\a-z é🦀\n]{0,30}",
        size in 1usize..40,
        length in 1usize..7,
    ) {
        let input = json!({ "value": value });
        let letters: Vec<char> = input.to_string().chars().collect();
        let mut events = vec![begin(), tool()];
        events.extend(letters.chunks(length).map(|piece| json_piece(0, &piece.iter().collect::<String>())));
        events.push(stop(0));
        events.extend(end("tool_use"));
        let bytes: String =
            events.iter().map(|event| format!("event: {}\ndata: {}\n\n", event.name, event.data)).collect();
        let (mut reader, mut assembly) = (EventReader::default(), Assembly::default());
        for chunk in bytes.as_bytes().chunks(size) {
            for event in reader.feed(chunk).unwrap() {
                assembly.take(&event).unwrap();
            }
        }
        prop_assert_eq!(assembly.finish().unwrap().content, vec![call(input)]);
    }

    #[test]
    fn no_order_of_events_makes_it_panic(order in prop::collection::vec(0usize..12, 0..20)) {
        let kinds = [
            begin(), tool(), stop(0), stop(1), words(0, "a"), words(1, "a"), json_piece(0, "{"),
            start(1, json!({ "type": "text" })), start(1, json!([])), delta(1, json!(null)),
            end("x")[0].clone(), end("x")[1].clone(),
        ];
        let mut assembly = Assembly::default();
        for kind in order {
            let _ = assembly.take(&kinds[kind]);
        }
        let _ = assembly.finish();
    }
}

fn status(status: u16) -> Failure {
    Failure::Refused { status, message: String::new(), retry_after: None, should_retry: None }
}

fn asking(status: u16, retry_after: Option<u64>, should_retry: Option<bool>) -> Failure {
    let retry_after = retry_after.map(Duration::from_millis);
    Failure::Refused { status, message: String::new(), retry_after, should_retry }
}

fn broken() -> Failure {
    Failure::Broken("reset".to_string())
}

#[test]
fn what_passes_by_itself_is_tried_again_and_what_is_wrong_is_not() {
    for code in [429, 500, 503, 529] {
        assert!(wait_before_retry(&status(code), 0, false, 0).is_some(), "{code}");
    }
    for code in [400, 401, 402, 403, 404, 413] {
        assert_eq!(wait_before_retry(&status(code), 0, false, 0), None, "{code}");
    }
    for failure in [broken(), Failure::TimedOut(Duration::from_secs(90))] {
        assert!(wait_before_retry(&failure, 0, false, 0).is_some());
    }
    assert_eq!(wait_before_retry(&Failure::Nonsense(String::new()), 0, false, 0), None);
}

#[test]
fn three_times_and_each_wait_is_twice_the_one_before() {
    let waits = [0, 1, 2, 3, u32::MAX].map(|tried| wait_before_retry(&broken(), tried, false, 0));
    let wait = |milliseconds| Some(Duration::from_millis(milliseconds));
    assert_eq!(waits, [wait(500), wait(1000), wait(2000), None, None]);
}

#[test]
fn the_dice_take_at_most_a_quarter_off() {
    let wait = |dice| wait_before_retry(&broken(), 1, false, dice).unwrap();
    assert_eq!(wait(128), Duration::from_millis(875));
    assert!(wait(255) > Duration::from_millis(750) && wait(255) < Duration::from_millis(752));
}

#[test]
fn once_text_was_shown_nothing_is_tried_again() {
    for failure in [broken(), status(529), asking(529, Some(1), Some(true))] {
        assert_eq!(wait_before_retry(&failure, 0, true, 0), None);
    }
}

#[test]
fn the_server_may_decide_on_all_but_400_and_401() {
    let is_retried = |failure| wait_before_retry(&failure, 0, false, 0).is_some();
    assert!(!is_retried(asking(529, Some(5), Some(false))));
    assert!(is_retried(asking(409, None, Some(true))));
    assert!(!is_retried(asking(400, Some(5), Some(true))));
    assert!(!is_retried(asking(401, Some(5), Some(true))));
}

#[test]
fn the_wait_that_the_server_asks_for_is_kept_to_the_letter() {
    let wait = wait_before_retry(&asking(429, Some(7), None), 2, false, 255);
    assert_eq!(wait, Some(Duration::from_millis(7)));
}

#[test]
fn retry_after_is_read_in_milliseconds_first_and_only_up_to_a_minute() {
    let wait = |milliseconds: &str, seconds: &str| {
        let header = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let (a, b) = (milliseconds.to_string().leak(), seconds.to_string().leak());
        retry_after(header(a), header(b)).map(|wait| wait.as_millis())
    };
    assert_eq!(wait("1500", "7"), Some(1500));
    assert_eq!(wait("", "7"), Some(7000));
    assert_eq!(wait("", " 0.5 "), Some(500));
    assert_eq!(wait("60000", ""), Some(60_000));
    assert_eq!(wait("60001", "3"), Some(3000));
    for (milliseconds, seconds) in [
        ("", ""),
        ("0", "0"),
        ("-1", "61"),
        ("inf", "NaN"),
        ("1e400", "-inf"),
        ("soon", "Wed, 21 Oct 2026 07:28:00 GMT"),
    ] {
        assert_eq!(wait(milliseconds, seconds), None, "{milliseconds} {seconds}");
    }
}
