use mock_server::scene::Limits;
use serde_json::json;

use super::*;

const SUMMARY: &str = "## Goal\nlight the lamp\n\n## Next\ntrim the wick";

fn said(role: Role, text: &str) -> Message {
    Message { role, content: vec![Block::Text { text: text.to_string() }] }
}

fn pair(id: &str, result: &str) -> [Message; 2] {
    let call =
        Block::ToolUse { id: id.into(), name: "read_file".into(), input: json!({"path": id}) };
    let result =
        Block::ToolResult { tool_use_id: id.into(), content: result.into(), is_error: false };
    [
        Message { role: Role::Assistant, content: vec![call] },
        Message { role: Role::User, content: vec![result] },
    ]
}

fn history(pairs: usize) -> Vec<Message> {
    let mut history = vec![said(Role::User, "Why is the lamp dark?\n  Word for word.  ")];
    for at in 0..pairs {
        history.extend(pair(&format!("t{at}"), &format!("{at} {}", "wick ".repeat(200))));
    }
    history
}

/// A window of which 16,000 tokens are usable.
fn context() -> Context {
    Context::new(24_000, "nowhere".into())
}

/// At 85 % to the token.
fn full(history: &[Message]) -> Context {
    let mut context = context();
    context.settle(history, 13_600);
    context
}

fn summary(text: &str) -> Message {
    said(Role::Assistant, text)
}

/// Whether the API would take a request with this history.
fn judged(history: &[Message]) -> Result<u64, String> {
    let tool = json!({"name": "read_file", "input_schema": {"type": "object"}});
    let request = json!({"model": "m", "max_tokens": 4_000, "tools": [tool], "messages": history});
    let limits = Limits { context_window: 24_000, max_output: 8_000, cache_minimum: 1_024 };
    mock_server::judge(&request, &limits)
}

#[test]
fn it_is_due_at_85_percent_of_what_is_usable() {
    let history = history(6);
    let mut context = full(&history);
    assert!(context.plan(&history).is_some());
    context.settle(&history, 13_599);
    assert!(context.plan(&history).is_none());
}

#[test]
fn the_summarisers_request_holds_all_that_goes_and_asks_for_the_headings() {
    let history = history(6);
    let plan = full(&history).plan(&history).unwrap();
    assert!(judged(&plan.request).is_ok(), "{:?}", judged(&plan.request));
    assert_eq!(plan.request[..10], history[..10]);
    let Some(Block::Text { text }) = plan.request[10].content.last() else { panic!() };
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let wanted =
        ["Goal", "Constraints", "Done and verified", "Files read and changed", "Open", "Next"];
    assert_eq!(headings, wanted);
}

#[test]
fn the_first_message_and_the_last_call_stay_word_for_word() {
    let mut history = history(6);
    let before = history.clone();
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    let report = context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    assert!(judged(&history).is_ok(), "{:?}", judged(&history));
    let text = format!("What has happened since, in your own summary:\n\n{SUMMARY}");
    let first = [&before[0].content[..], &[Block::Text { text }]].concat();
    assert_eq!(history[0], Message { role: Role::User, content: first });
    assert_eq!(history[1..], before[11..]);
    let after = lesson::screen::count(context.tokens(&history));
    let wanted = format!("compaction: 10 messages became a summary · 13,600 → {after} tokens");
    assert_eq!(report, wanted);
}

#[test]
fn in_the_middle_of_a_turn_an_open_call_stays_for_its_result() {
    let mut history = history(6);
    let result = history.pop().unwrap();
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    history.push(result);
    assert!(judged(&history).is_ok(), "{:?}", judged(&history));
    assert_eq!(history.len(), 3);
}

#[test]
fn parallel_calls_stay_together_with_all_their_results() {
    let mut history = history(6);
    let mut more: Vec<[Message; 2]> = (0..3).map(|at| pair(&format!("p{at}"), "dark")).collect();
    let [mut calls, mut results] = more.remove(0);
    for [call, result] in more {
        calls.content.extend(call.content);
        results.content.extend(result.content);
    }
    history.extend([calls, results]);
    let tail = history[13..].to_vec();
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    assert_eq!(history[1..], tail);
}

#[test]
fn a_last_call_far_back_goes_with_the_rest() {
    let mut history = history(1);
    for at in 0..40 {
        history.push(said(Role::Assistant, &format!("{at} {}", "light ".repeat(150))));
        history.push(said(Role::User, "Go on."));
    }
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    assert_eq!(history[1..], [said(Role::User, "Go on.")]);
}

#[test]
fn a_second_summary_takes_the_place_of_the_first() {
    let mut history = history(6);
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    for at in 10..16 {
        history.extend(pair(&format!("t{at}"), &"wick ".repeat(200)));
    }
    context.settle(&history, 14_000);
    let plan = context.plan(&history).unwrap();
    assert_eq!(plan.request[0], history[0], "the first summary is summed up too");
    context.compact(&mut history, &plan, &summary("## Goal\nsecond")).unwrap();
    assert_eq!(history.len(), 3);
    let text = serde_json::to_string(&history).unwrap();
    assert!(text.contains("second") && !text.contains("trim the wick"));
}

#[test]
fn what_is_no_summary_changes_nothing_and_is_asked_for_again_when_the_history_has_grown() {
    let long = "long ".repeat(9_000);
    let call = Message { role: Role::Assistant, content: pair("t9", "")[0].content.clone() };
    for (useless, why) in [
        (summary(" \n"), "the model wrote nothing"),
        (summary(&long), "it would free less than a tenth"),
        (call, "the model called a tool instead"),
    ] {
        let mut history = history(6);
        let before = history.clone();
        let mut context = full(&history);
        let plan = context.plan(&history).unwrap();
        let error = context.compact(&mut history, &plan, &useless).unwrap_err();
        assert_eq!((error.to_string().as_str(), &history), (why, &before));
        context.in_vain = 13_600;
        assert_eq!(context.plan(&history), None);
        context.settle(&history, 14_399);
        assert_eq!(context.plan(&history), None);
        context.settle(&history, 14_400);
        let plan = context.plan(&history).expect("it has grown by a twentieth of the window");
        context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
        assert_eq!(context.in_vain, 0);
    }
}

#[test]
fn where_no_summary_can_be_had_and_nothing_fits_the_middle_is_left_out_and_said() {
    let mut history = history(6);
    let before = history.clone();
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    history.extend_from_slice(&before[5..]);
    context.settle(&history, 16_001);
    let report = context.leave_out(&mut history).unwrap();
    assert!(report.starts_with("compaction: 8 messages left out without a summary · 16,001 → "));
    assert!(context.fits(&history));
    assert_eq!(history[1..], before[11..]);
    let text = history[0].text();
    assert!(text.contains("Word for word") && text.contains("trim the wick"), "{text}");
    assert_eq!(text.matches(LEFT_OUT).count(), 1);
    history.extend_from_slice(&before[5..]);
    context.settle(&history, 16_001);
    context.leave_out(&mut history).unwrap();
    assert_eq!(history[0].text().matches(LEFT_OUT).count(), 1, "once is enough");
    assert!(judged(&history).is_ok(), "{:?}", judged(&history));
}

#[test]
fn a_last_call_that_alone_is_too_long_is_left_out_as_well() {
    let mut history = history(2);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for at in 0..900 {
        let [call, result] = pair(&format!("p{at}"), "dark");
        calls.extend(call.content);
        results.extend(result.content);
    }
    history.push(Message { role: Role::Assistant, content: calls });
    history.push(Message { role: Role::User, content: results });
    let first = history[0].clone();
    let mut context = context();
    assert!(!context.fits(&history));
    context.leave_out(&mut history).unwrap();
    assert_eq!((history.len(), &history[0].content[0]), (1, &first.content[0]));
}

#[test]
fn a_history_that_begins_with_the_models_message_is_not_parted() {
    let mut history = history(6)[1..].to_vec();
    let tail = history[10..].to_vec();
    let mut context = full(&history);
    let plan = context.plan(&history).unwrap();
    assert!(judged(&plan.request).is_ok(), "{:?}", judged(&plan.request));
    let report = context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    assert!(report.starts_with("compaction: 10 messages became"), "{report}");
    assert!(judged(&history).is_ok(), "{:?}", judged(&history));
    assert_eq!((history[0].role, &history[1..]), (Role::User, &tail[..]));
}

#[test]
fn what_a_summary_could_not_empty_is_not_summed_up_at_once_again() {
    let mut history = history(5);
    history.extend(pair("big", &"wick ".repeat(8_000)));
    let mut context = context();
    let plan = context.plan(&history).unwrap();
    context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
    assert!(context.fill(&history) >= 85);
    assert_eq!(context.plan(&history), None);
}

#[test]
fn nothing_between_the_first_message_and_the_last_call_is_nothing_to_sum_up() {
    let one = history(1);
    assert_eq!(full(&one).plan(&one), None);
    let mut summed = history(6);
    let mut context = full(&summed);
    let plan = context.plan(&summed).unwrap();
    context.compact(&mut summed, &plan, &summary(SUMMARY)).unwrap();
    context.settle(&summed, 15_000);
    assert_eq!(context.plan(&summed), None);
}

#[test]
fn where_the_summarisers_request_would_not_fit_the_beginning_is_summed_up_first() {
    let mut history = history(0);
    for at in 0..6 {
        history.extend(pair(&format!("t{at}"), &"灯台 ".repeat(2_000)));
    }
    let tail = history[11..].to_vec();
    let mut context = context();
    let answer = anyhow::anyhow!("prompt is too long: 31000 tokens > 24000 maximum");
    context.was_too_long(&history, &answer);
    let mut summaries = 0;
    while let Some(plan) = context.plan(&history) {
        assert!(context.fits(&plan.request));
        assert!(judged(&plan.request).is_ok(), "{:?}", judged(&plan.request));
        context.compact(&mut history, &plan, &summary(SUMMARY)).unwrap();
        assert!(judged(&history).is_ok(), "{:?}", judged(&history));
        summaries += 1;
    }
    assert_eq!(summaries, 2);
    assert!(history.ends_with(&tail));
    assert!(context.fits(&history));
}
