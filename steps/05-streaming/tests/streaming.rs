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
    tool_at(0)
}

fn tool_at(index: u64) -> Event {
    start(index, json!({ "type": "tool_use", "id": "toolu_1", "name": "t", "input": {} }))
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
    Ok((assembly.into_reply(), pieces))
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
fn a_call_that_comes_whole_with_its_start_keeps_its_arguments() {
    let whole =
        json!({ "type": "tool_use", "id": "toolu_1", "name": "t", "input": { "path": "a" } });
    let path = || call(json!({ "path": "a" }));
    assert_eq!(content(&[start(0, whole.clone()), stop(0)]), [path()]);
    assert_eq!(content(&[start(0, whole.clone()), json_piece(0, ""), stop(0)]), [path()]);
    let pieces = json_piece(0, r#"{"path":"b"}"#);
    assert_eq!(content(&[start(0, whole), pieces, stop(0)]), [call(json!({ "path": "b" }))]);
}

#[test]
fn malformed_arguments_are_kept_as_text_for_an_error_result() {
    for torn in [r#"{"path": "a"#, "[1]", "7", "null", " ", r#"{"a":1}{"#] {
        let (_, pieces) = reply(&[tool(), json_piece(0, torn), stop(0)], "tool_use").unwrap();
        let unreadable = call(json!({ "unreadable_arguments": torn }));
        assert_eq!(pieces, [Piece::Finished(unreadable)]);
    }
}

#[test]
fn a_call_that_never_ended_is_in_a_whole_reply_and_not_in_a_torn_one() {
    let path = r#"{"path":"a"}"#;
    let (reply, pieces) = reply(&[tool(), json_piece(0, path)], "tool_use").unwrap();
    assert_eq!((reply.content, pieces), (vec![call(json!({ "path": "a" }))], vec![]));
    for so_far in ["", "{}", r#"{"command":"rm"}"#] {
        let mut torn = Assembly::default();
        for event in [begin(), tool(), json_piece(0, so_far)] {
            assert_eq!(torn.take(&event), Ok(None));
        }
        assert_eq!(torn.into_reply().content, []);
    }
}

#[test]
fn a_number_that_comes_twice_is_two_blocks() {
    let text_block = |words: &str| start(0, json!({ "type": "text", "text": words }));
    let events =
        [text_block("one"), stop(0), tool(), json_piece(0, "{}"), stop(0), text_block("two")];
    let events = [&events[..], &[words(0, " more"), stop(0)]].concat();
    assert_eq!(content(&events), [text("one"), call(json!({})), text("two more")]);
}

#[test]
fn thinking_that_never_ended_is_not_in_the_reply_since_it_lacks_its_signature() {
    let thinking = start(0, json!({ "type": "thinking", "thinking": "so", "signature": "" }));
    assert_eq!(content(&[thinking]), []);
}

#[test]
fn what_was_shown_or_handed_out_was_used() {
    let was_used = |events: &[Event]| {
        let mut assembly = Assembly::default();
        for event in events {
            assembly.take(event).unwrap();
        }
        assembly.was_used
    };
    let text_block = || start(0, json!({ "type": "text", "text": "" }));
    assert!(!was_used(&[begin(), text_block(), words(0, "")]));
    assert!(was_used(&[begin(), text_block(), words(0, "a")]));
    assert!(!was_used(&[begin(), tool(), json_piece(0, "{}")]));
    assert!(was_used(&[begin(), tool(), json_piece(0, "{}"), stop(0)]));
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
fn blocks_stand_in_the_order_in_which_they_began_even_if_they_end_in_another() {
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
fn the_reply_is_whole_when_the_stream_says_so() {
    let mut assembly = Assembly::default();
    for event in [begin(), tool(), stop(0), end("tool_use")[0].clone()] {
        assembly.take(&event).unwrap();
        assert!(!assembly.is_whole);
    }
    assembly.take(&end("tool_use")[1]).unwrap();
    assert!(assembly.is_whole);
}

#[test]
fn an_error_event_is_a_failure_and_some_pass() {
    for (kind, passes) in [
        ("overloaded_error", true),
        ("api_error", true),
        ("rate_limit_error", true),
        ("authentication_error", false),
        ("invalid_request_error", false),
        ("later_error", false),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "No." } });
        let failure = reply(&[event(error)], "end_turn").unwrap_err();
        assert_eq!(failure, Failure::new(passes, format!("the model broke off: {kind}: No.")));
    }
}

#[test]
fn what_makes_no_sense_is_an_error_and_no_panic() {
    let text_block = || start(0, json!({ "type": "text", "text": "" }));
    let broken = |name: &str| Event { name: name.to_string(), data: "{".to_string() };
    for events in [
        vec![broken("content_block_start")],
        vec![broken("content_block_delta")],
        vec![stop(0)],
        vec![words(0, "a")],
        vec![text_block(), stop(0), words(0, "a")],
        vec![text_block(), stop(0), stop(0)],
        vec![start(0, json!(5)), stop(0)],
        vec![start(0, json!(null)), words(0, "a"), stop(0)],
        vec![event(json!({ "type": "content_block_start" }))],
        vec![event(json!({ "type": "content_block_delta", "index": -1 }))],
    ] {
        let failure = reply(&events, "end_turn").unwrap_err();
        assert!(failure.says.starts_with("the model sent what makes no sense"), "{events:?}");
        assert!(!failure.passes);
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
        prop_assert_eq!(assembly.into_reply().content, vec![call(input)]);
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
        let _ = assembly.into_reply();
    }
}

fn passing() -> Failure {
    Failure::new(true, "reset")
}

#[test]
fn what_passes_by_itself_is_tried_again_and_what_is_wrong_is_not() {
    assert!([429, 500, 503, 529].into_iter().all(|status| passes(status, None)));
    assert!(![400, 401, 402, 403, 404, 413].into_iter().any(|status| passes(status, None)));
    assert!(wait_before_retry(&passing(), 0, 0).is_some());
    assert_eq!(wait_before_retry(&Failure::new(false, "no"), 0, 0), None);
}

#[test]
fn three_times_and_each_wait_is_twice_the_one_before() {
    let waits = [0, 1, 2, 3, u32::MAX].map(|tried| wait_before_retry(&passing(), tried, 0));
    let wait = |milliseconds| Some(Duration::from_millis(milliseconds));
    assert_eq!(waits, [wait(500), wait(1000), wait(2000), None, None]);
}

#[test]
fn the_dice_take_at_most_a_quarter_off() {
    let wait = |dice| wait_before_retry(&passing(), 1, dice).unwrap();
    assert_eq!(wait(128), Duration::from_millis(875));
    assert!(wait(255) > Duration::from_millis(750) && wait(255) < Duration::from_millis(752));
}

#[test]
fn the_server_may_decide_on_all_but_400_and_401() {
    assert!(!passes(529, Some(false)));
    assert!(passes(409, Some(true)));
    assert!(!passes(400, Some(true)) && !passes(401, Some(true)));
}

#[test]
fn the_wait_that_the_server_asks_for_is_kept_to_the_letter() {
    let asking = Failure { wait: Some(Duration::from_millis(7)), ..passing() };
    assert_eq!(wait_before_retry(&asking, 2, 255), asking.wait);
}

#[test]
fn a_server_that_wants_to_be_left_alone_for_more_than_a_minute_is_not_waited_for() {
    let asking = |seconds| Failure { wait: Some(Duration::from_secs(seconds)), ..passing() };
    assert_eq!(wait_before_retry(&asking(60), 0, 0), Some(Duration::from_secs(60)));
    assert_eq!(wait_before_retry(&asking(61), 0, 0), None);
}

#[test]
fn retry_after_is_read_in_milliseconds_first() {
    let wait = |milliseconds: &'static str, seconds: &'static str| {
        let header = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        retry_after(header(milliseconds), header(seconds)).map(|wait| wait.as_millis())
    };
    assert_eq!(wait("1500", "7"), Some(1500));
    assert_eq!(wait("", "7"), Some(7000));
    assert_eq!(wait("", " 0.5 "), Some(500));
    assert_eq!(wait("0", "3"), Some(3000));
    assert_eq!(wait("", "3600"), Some(3_600_000));
    for (milliseconds, seconds) in [
        ("", ""),
        ("0", "0"),
        ("-1", "-61"),
        ("inf", "NaN"),
        ("1e400", "-inf"),
        ("soon", "Wed, 21 Oct 2026 07:28:00 GMT"),
    ] {
        assert_eq!(wait(milliseconds, seconds), None, "{milliseconds} {seconds}");
    }
}

#[test]
fn a_message_that_comes_whole_is_taken_like_one_that_is_streamed() {
    let message = json!({
        "content": [{ "type": "text", "text": "I look." }, { "type": "tool_use", "id": "toolu_1", "name": "t", "input": { "path": "a" } }],
        "stop_reason": "tool_use", "usage": { "input_tokens": 3, "output_tokens": 5 },
    });
    let (mut assembly, mut pieces) = (Assembly::default(), Vec::new());
    for event in as_events(&message).unwrap() {
        pieces.extend(assembly.take(&event).unwrap());
    }
    let blocks = [text("I look."), call(json!({ "path": "a" }))];
    let [said, called] = blocks.clone().map(Piece::Finished);
    assert_eq!(pieces, [Piece::Text("I look.".to_string()), said, called]);
    assert!(assembly.is_whole);
    let usage = Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() };
    let stop_reason = Some("tool_use".to_string());
    assert_eq!(assembly.into_reply(), Reply { content: blocks.to_vec(), stop_reason, usage });
    assert_eq!(as_events(&json!({ "choices": [] })), None);
}
