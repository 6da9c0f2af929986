use std::time::UNIX_EPOCH;

use mock_server::scene::Limits;
use serde_json::json;

use super::*;

/// Due, however little there is: the API has called it too long.
const REFUSED: u64 = 20_000;

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
    context.measure(history, 13_600, true, UNIX_EPOCH);
    context
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
    assert!(context.plan(&history, 0).is_some());
    context.measure(&history, 13_599, true, UNIX_EPOCH);
    assert!(context.plan(&history, 0).is_none());
    assert!(context.plan(&history, 1).is_some(), "a token is still to come");
}

#[test]
fn the_summarisers_request_holds_all_that_goes_and_asks_for_the_headings() {
    let history = history(6);
    let plan = full(&history).plan(&history, 0).unwrap();
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
    let plan = context.plan(&history, 0).unwrap();
    let report = context.compact(&mut history, plan, SUMMARY).unwrap();
    assert!(judged(&history).is_ok(), "{:?}", judged(&history));
    let text = format!("What has happened since, in your own summary:\n\n{SUMMARY}");
    let summary = Block::Text { text };
    let first = [&before[0].content[..], &[summary]].concat();
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
    let plan = context.plan(&history, 0).unwrap();
    context.compact(&mut history, plan, SUMMARY).unwrap();
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
    let plan = context.plan(&history, 0).unwrap();
    context.compact(&mut history, plan, SUMMARY).unwrap();
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
    let plan = context.plan(&history, 0).unwrap();
    context.compact(&mut history, plan, SUMMARY).unwrap();
    assert_eq!(history[1..], [said(Role::User, "Go on.")]);
}

#[test]
fn a_second_summary_takes_the_place_of_the_first() {
    let mut history = history(6);
    let mut context = full(&history);
    let plan = context.plan(&history, 0).unwrap();
    context.compact(&mut history, plan, SUMMARY).unwrap();
    for at in 10..16 {
        history.extend(pair(&format!("t{at}"), &"wick ".repeat(200)));
    }
    context.measure(&history, 14_000, true, UNIX_EPOCH);
    let plan = context.plan(&history, 0).unwrap();
    assert_eq!(plan.request[0], history[0], "the first summary is summed up too");
    context.compact(&mut history, plan, "## Goal\nsecond").unwrap();
    assert_eq!(history.len(), 3);
    let text = serde_json::to_string(&history).unwrap();
    assert!(text.contains("second") && !text.contains("trim the wick"));
}

#[test]
fn a_summary_that_does_not_shrink_is_not_used_and_not_tried_again() {
    for useless in [" \n", &"long ".repeat(9_000)] {
        let mut history = history(6);
        let before = history.clone();
        let mut context = full(&history);
        let plan = context.plan(&history, 0).unwrap();
        assert_eq!(context.compact(&mut history, plan, useless), None);
        assert_eq!(history, before);
        assert_eq!(context.plan(&history, 0), None);
        assert_eq!(context.plan(&history, REFUSED), None);
        history.extend(pair("more", "a little"));
        assert_eq!(context.plan(&history, 0), None);
        for at in 10..17 {
            history.extend(pair(&format!("t{at}"), &"wick ".repeat(200)));
        }
        assert!(context.plan(&history, 0).is_some(), "there is twice as much");
        context.in_vain = 0;
        assert!(context.plan(&before, REFUSED).is_some(), "another history");
    }
}

#[test]
fn what_a_summary_could_not_empty_is_not_summed_up_at_once_again() {
    let mut history = history(5);
    history.extend(pair("big", &"wick ".repeat(8_000)));
    let mut context = context();
    let plan = context.plan(&history, 0).unwrap();
    context.compact(&mut history, plan, SUMMARY).unwrap();
    assert!(context.fill(&history) >= 85);
    assert_eq!(context.plan(&history, 0), None);
}

#[test]
fn nothing_between_the_first_message_and_the_last_call_is_nothing_to_sum_up() {
    let one = history(1);
    assert_eq!(full(&one).plan(&one, 0), None);
    let mut summed = history(6);
    let mut context = full(&summed);
    let plan = context.plan(&summed, 0).unwrap();
    context.compact(&mut summed, plan, SUMMARY).unwrap();
    context.measure(&summed, 15_000, true, UNIX_EPOCH);
    assert_eq!(context.plan(&summed, 0), None);
}

#[test]
fn where_the_summarisers_request_would_not_fit_the_beginning_is_summed_up_first() {
    let mut history = history(0);
    for at in 0..6 {
        history.extend(pair(&format!("t{at}"), &"灯台 ".repeat(2_000)));
    }
    let tail = history[11..].to_vec();
    let mut context = context();
    let answer = anyhow::anyhow!("prompt is too long: 30000 tokens > 24000 maximum");
    context.was_too_long(&history, &answer);
    let mut summaries = 0;
    while let Some(plan) = context.plan(&history, REFUSED) {
        assert!(context.fits(&plan.request));
        assert!(judged(&plan.request).is_ok(), "{:?}", judged(&plan.request));
        context.compact(&mut history, plan, SUMMARY).unwrap();
        assert!(judged(&history).is_ok(), "{:?}", judged(&history));
        summaries += 1;
    }
    assert_eq!(summaries, 3);
    assert_eq!(history[1..], tail);
    assert!(context.fits(&history));
}

#[test]
fn a_plan_for_another_history_changes_nothing() {
    let long = history(6);
    let mut context = full(&long);
    let plan = context.plan(&long, 0).unwrap();
    let mut short = history(1);
    assert_eq!(context.compact(&mut short, plan, SUMMARY), None);
    assert_eq!(short, history(1));
}
