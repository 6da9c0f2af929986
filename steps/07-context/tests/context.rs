//! Tests of `src/context.rs`.

use std::time::UNIX_EPOCH;

use serde_json::json;

use super::*;

const START: SystemTime = UNIX_EPOCH;

fn after(seconds: u64) -> SystemTime {
    START + Duration::from_secs(seconds)
}

fn said(role: Role, text: &str) -> Message {
    Message { role, content: vec![Block::Text { text: text.to_string() }] }
}

/// A call of one tool and its result.
fn pair(id: &str, tool: &str, result: &str) -> [Message; 2] {
    let input = json!({"path": format!("src/{id}.rs")});
    let call = Block::ToolUse { id: id.to_string(), name: tool.to_string(), input };
    [
        Message { role: Role::Assistant, content: vec![call] },
        Message { role: Role::User, content: vec![answer(id, result)] },
    ]
}

fn answer(id: &str, result: &str) -> Block {
    Block::ToolResult { tool_use_id: id.to_string(), content: result.to_string(), is_error: false }
}

fn history(pairs: &[(&str, &str)]) -> Vec<Message> {
    let mut history = vec![said(Role::User, "Why is the lamp dark?")];
    for (at, (tool, result)) in pairs.iter().enumerate() {
        history.extend(pair(&format!("t{at}"), tool, result));
    }
    history
}

fn result(message: &Message) -> &str {
    match &message.content[0] {
        Block::ToolResult { content, .. } => content,
        other => panic!("no result: {other:?}"),
    }
}

/// A window of which 16,000 tokens are usable, 1,000 of them taken by what stands before.
fn context(folder: &Path) -> Context {
    let mut context = Context::new(20_000, folder.join("results"));
    context.set_prefix(3_000);
    context
}

fn lines(number: usize) -> String {
    (1..=number).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn a_long_result_goes_to_disk_whole_and_leaves_a_preview_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = lines(5_000);
    let mut results = vec![answer("t0", &log), answer("t1", "short")];
    let report = context(folder.path()).admit(&history(&[]), &mut results).unwrap();

    let path = folder.path().join("results").join("result-0001.txt");
    assert_eq!(fs::read_to_string(&path).unwrap(), log);
    let Block::ToolResult { content, .. } = &results[0] else { panic!() };
    let notice =
        format!(" bytes left out after line 160 of 5000; all of it is in {}]\n", path.display());
    assert!(content.contains(&notice), "{content}");
    assert!(content.starts_with("line 1\nline 2\n"));
    assert!(content.ends_with("line 4999\nline 5000\n"));
    assert!(content.lines().all(|line| line.starts_with("line ") || line.starts_with('[')));
    assert_eq!(results[1], answer("t1", "short"));
    assert_eq!(report.did, "disk: 1 saved whole, the model gets a preview instead");
    assert!(report.before > 16_000 && report.after < 3_000, "{report:?}");
}

#[test]
fn a_result_of_30_kb_stays_whole_while_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = Context::new(200_000, folder.path().to_path_buf());
    let mut results = vec![answer("t0", &"x".repeat(30_000))];
    assert_eq!(context.admit(&history(&[]), &mut results), None);
    let mut results = vec![answer("t0", &"x".repeat(30_001))];
    assert!(context.admit(&history(&[]), &mut results).is_some());
}

#[test]
fn a_preview_never_cuts_through_a_character() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["灯", "я", "🕯️", "e\u{301}", "🏴󠁧󠁢󠁳󠁣󠁴󠁿\n"] {
        let whole = text.repeat(40_000 / text.len());
        let mut results = vec![answer("t0", &whole)];
        context(folder.path()).admit(&history(&[]), &mut results).unwrap();
        let Block::ToolResult { content, .. } = &results[0] else { panic!() };
        let (head, rest) = content.split_once("\n[").unwrap();
        assert!(whole.starts_with(head) && head.len() > 600, "{head}");
        assert!(whole.ends_with(rest.rsplit_once("]\n").unwrap().1));
    }
}

#[test]
fn an_earlier_runs_file_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["first ", "second "] {
        let mut results = vec![answer("t0", &text.repeat(9_000))];
        context(folder.path()).admit(&history(&[]), &mut results).unwrap();
    }
    let first = fs::read_to_string(folder.path().join("results").join("result-0001.txt")).unwrap();
    assert!(first.starts_with("first "));
}

#[test]
fn a_result_that_cannot_be_saved_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("results"), "a file where the folder should be").unwrap();
    let mut results = vec![answer("t0", &lines(9_000))];
    context(folder.path()).admit(&history(&[]), &mut results).unwrap();
    let Block::ToolResult { content, .. } = &results[0] else { panic!() };
    assert!(content.contains("it could not be saved ("), "{content}");
}

#[test]
fn the_results_of_a_turn_share_the_room_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let before = history(&[]);
    let mut results: Vec<Block> =
        (0..8).map(|at| answer(&format!("t{at}"), &lines(2_500))).collect();
    results.push(answer("t8", "short"));
    context.admit(&before, &mut results).unwrap();
    let mut after = before;
    after.push(Message { role: Role::User, content: results });
    assert!(context.fits(&after), "{} %", context.fill(&after));
    assert_eq!(after[1].content[8], answer("t8", "short"));
}

#[test]
fn the_fuller_the_window_the_shorter_the_results_that_come_in() {
    let folder = tempfile::tempdir().unwrap();
    for (fill, stays, goes) in [(49, 15_000, 30_001), (50, 10_000, 10_001), (70, 4_000, 4_001)] {
        let mut context = Context::new(116_000, folder.path().to_path_buf());
        let history = history(&[]);
        context.measure(&history, fill * 1_000, true, START);
        assert_eq!(context.admit(&history, &mut [answer("t0", &"x".repeat(stays))]), None);
        assert!(context.admit(&history, &mut [answer("t0", &"x".repeat(goes))]).is_some());
    }
}

#[test]
fn from_half_full_on_old_results_over_budget_go_to_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let log = lines(1_500);
    let mut history = history(&[("run_shell", &log), ("x", "1"), ("x", "2"), ("x", "3")]);
    context.measure(&history, 7_900, true, START);
    assert_eq!(context.budget(&mut history), None);
    context.measure(&history, 8_000, true, START);
    let report = context.budget(&mut history).unwrap();
    assert!(report.after < report.before && report.after == context.tokens(&history));
    assert!(result(&history[2]).contains("all of it is in"));
    assert_eq!(fs::read_to_string(folder.path().join("results/result-0001.txt")).unwrap(), log);
    assert_eq!(context.budget(&mut history), None, "a preview is not shortened again");
}

#[test]
fn an_old_result_that_can_be_had_again_becomes_a_placeholder() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let text = lines(300);
    let mut history = history(&[
        ("read_file", &text),
        ("run_shell", &text),
        ("grep_search", &text),
        ("read_file", &text),
        ("read_file", &text),
        ("read_file", &text),
    ]);
    let before = history.clone();
    context.measure(&history, 8_000, false, START);
    let report = context.snip(&mut history, START).unwrap();
    assert_eq!(
        result(&history[2]),
        "[2592 bytes snipped; call read_file {\"path\":\"src/t0.rs\"} again if they are needed]"
    );
    assert_eq!(history[4], before[4], "a command is not simply run again");
    assert!(result(&history[6]).starts_with("[2592 bytes snipped; call grep_search"));
    assert_eq!(history[7..], before[7..], "the newest three stay");
    assert!(report.after < report.before);
    assert_eq!(context.snip(&mut history, START), None);
}

#[test]
fn what_the_model_has_not_seen_is_not_snipped() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let mut history = history(&[]);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for at in 0..6 {
        let [call, result] = pair(&format!("t{at}"), "read_file", &lines(300));
        calls.extend(call.content);
        results.extend(result.content);
    }
    history.push(Message { role: Role::Assistant, content: calls });
    history.push(Message { role: Role::User, content: results });
    history.push(said(Role::User, "Are you still there?"));
    context.measure(&history, 15_000, false, START);
    assert_eq!(context.tidy(&mut history, START), []);
    history.push(said(Role::Assistant, "I am."));
    assert_eq!(context.tidy(&mut history, START).len(), 1);
}

#[test]
fn while_the_cache_is_warm_snip_waits_until_three_quarters_are_full() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(300);
    let full = history(&[("read_file", &text), ("x", "1"), ("x", "2"), ("x", "3")]);
    let snips = |tokens, cached, seconds| {
        let mut context = context(folder.path());
        context.measure(&full, tokens, cached, START);
        context.snip(&mut full.clone(), after(seconds)).is_some()
    };
    assert!(!snips(7_999, false, 0));
    assert!(snips(8_000, false, 0));
    assert!(!snips(8_000, true, 299));
    assert!(snips(8_000, true, 300));
    assert!(!snips(11_999, true, 0));
    assert!(snips(12_000, true, 0));
}

#[test]
fn after_five_idle_minutes_old_results_go_at_any_fill() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(300);
    let mut history = history(&[("read_file", &text), ("x", "1"), ("x", "2"), ("x", "3")]);
    let mut context = context(folder.path());
    assert_eq!(context.idle(&mut history, after(900)), None, "nothing was called yet");
    context.measure(&history, 1_500, true, after(1_000));
    assert_eq!(context.tidy(&mut history, after(1_299)), []);
    let reports = context.tidy(&mut history, after(1_300));
    assert_eq!(reports.len(), 1);
    assert!(reports[0].did.starts_with("idle"), "{:?}", reports[0]);
    assert!(result(&history[2]).contains("snipped"));
}

#[test]
fn each_part_can_be_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(2_000);
    let mut context = context(folder.path());
    context.off = "disk, budgets,snip,idle, compaction".into();
    let mut history = history(&[("read_file", &text), ("x", "1"), ("x", "2"), ("x", "3")]);
    context.measure(&history, 15_999, false, START);
    let mut results = vec![answer("t9", &text.repeat(5))];
    assert_eq!(context.admit(&history, &mut results), None);
    assert_eq!(context.tidy(&mut history, after(900)), []);
    assert_eq!(context.plan(&history, 99_999), None);
    context.off = "idle, compaction".into();
    assert_eq!(context.tidy(&mut history, after(900)).len(), 2);
    assert!(context.admit(&history, &mut results).is_some());
}

#[test]
fn tokens_are_the_last_usage_and_an_estimate_of_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let mut history = history(&[("x", "1")]);
    assert_eq!(context.tokens(&history), 1_000 + 95, "3,000 bytes stand before");
    context.measure(&history, 5_000, true, START);
    assert_eq!(context.tokens(&history), 5_000);
    history.push(said(Role::User, &"x".repeat(300)));
    assert_eq!(context.tokens(&history), 5_000 + 119);
    history.pop();
    assert_eq!(context.tokens(&history), 5_000);
}

#[test]
fn what_is_taken_away_counts_for_no_more_than_it_was_measured_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = Context::new(200_000, folder.path().to_path_buf());
    let mut history = history(&[("x", &"x".repeat(30_000))]);
    let estimated = context.tokens(&history);
    context.measure(&history, estimated / 2, true, START);
    history.truncate(1);
    assert!(context.tokens(&history) > 0);
    assert!(context.tokens(&history) <= 20);
}

#[test]
fn the_models_own_count_replaces_ours() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = Context::new(400_000, folder.path().to_path_buf());
    let history = history(&[]);
    assert!(!context.was_too_long(&history, "overloaded_error: Overloaded"));
    let answer = "invalid_request_error: prompt is too long: 212230 tokens > 200000 maximum";
    assert!(context.was_too_long(&history, answer));
    assert_eq!((context.tokens(&history), context.usable()), (212_230, 184_000));
    assert!(context.was_too_long(&history, "prompt is too long"), "without numbers");
    assert!(!context.fits(&history));
    for odd in [
        "prompt is too long: 99999999999999999999999 tokens > x",
        "prompt is too long: 1 tokens > 0 maximum",
    ] {
        assert!(context.was_too_long(&history, odd));
        assert!(!context.fits(&history));
    }
}

#[test]
fn absurd_numbers_do_no_harm() {
    let mut context = Context::new(0, "nowhere".into());
    let mut history = history(&[("read_file", "x")]);
    context.measure(&history, u64::MAX, true, after(u32::MAX.into()));
    context.tidy(&mut history, START);
    context.admit(&history, &mut [answer("t", ""), Block::Other(json!(null))]);
    assert_eq!(context.plan(&history, 99_999), None);
    assert_eq!(context.plan(&[], 99_999), None);
    assert_eq!(context.tidy(&mut [], START), []);
}
