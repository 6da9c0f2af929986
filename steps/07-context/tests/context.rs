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

/// One result of that text, and three newer ones that take nothing.
fn old(tool: &str, text: &str) -> Vec<Message> {
    history(&[(tool, text), ("x", "1"), ("x", "2"), ("x", "3")])
}

fn text(block: &Block) -> &str {
    let Block::ToolResult { content, .. } = block else { panic!("no result: {block:?}") };
    content
}

fn result(message: &Message) -> &str {
    text(&message.content[0])
}

/// A window of which 20,000 tokens are usable.
fn context(folder: &Path) -> Context {
    Context::new(30_000, folder.join("results"))
}

fn lines(number: usize) -> String {
    (1..=number).map(|line| format!("line {line}\n")).collect()
}

/// The file that a preview names.
fn saved(preview: &str) -> &str {
    let (_, rest) = preview.split_once("all of it is in ").expect("a path");
    rest.split_once("]\n").expect("its end").0
}

#[test]
fn a_long_result_goes_to_disk_whole_and_leaves_a_preview_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = lines(5_000);
    let mut results = vec![answer("t0", &log), answer("t1", "short")];
    let report = context(folder.path()).admit(&history(&[]), &mut results).unwrap();

    let preview = text(&results[0]);
    assert_eq!(fs::read_to_string(saved(preview)).unwrap(), log);
    assert!(
        preview.contains(" bytes left out in lines 160 to 4934; all of it is in "),
        "{preview}"
    );
    assert!(preview.starts_with("line 1\nline 2\n") && preview.ends_with("line 5000\n"));
    assert!(preview.len() < PREVIEW + NOTICE);
    assert_eq!(results[1], answer("t1", "short"));
    assert!(report.starts_with("disk: 1 saved whole, the model gets a preview · 20,"));
}

#[test]
fn a_result_of_30_kb_stays_whole_while_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::new(200_000, folder.path().to_path_buf());
    let mut results = vec![answer("t0", &"x".repeat(30_000))];
    assert_eq!(context.admit(&history(&[]), &mut results), None);
    let mut results = vec![answer("t0", &"x".repeat(30_001))];
    assert!(context.admit(&history(&[]), &mut results).is_some());
}

#[test]
fn a_preview_never_cuts_through_a_character() {
    let folder = tempfile::tempdir().unwrap();
    for letter in ["灯", "я", "🕯️", "e\u{301}", "🏴󠁧󠁢󠁳󠁣󠁴󠁿\n"] {
        let whole = letter.repeat(40_000 / letter.len());
        let mut results = vec![answer("t0", &whole)];
        context(folder.path()).admit(&history(&[]), &mut results).unwrap();
        let (head, rest) = text(&results[0]).split_once("\n[").unwrap();
        assert!(whole.starts_with(head) && head.len() > 1_200, "{head}");
        assert!(whole.ends_with(rest.split_once("]\n").unwrap().1));
    }
}

#[test]
fn a_saved_result_is_never_written_over_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let save = |text: &str| {
        let mut results = vec![answer("t0", &text.repeat(9_000))];
        context(folder.path()).admit(&history(&[]), &mut results).unwrap();
        saved(self::text(&results[0])).to_string()
    };
    let (first, second, again) = (save("first "), save("second "), save("first "));
    assert!(first != second && first == again);
    assert!(fs::read_to_string(first).unwrap().starts_with("first "));
}

#[test]
fn a_result_that_cannot_be_saved_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("results"), "a file where the folder should be").unwrap();
    let mut results = vec![answer("t0", &lines(9_000))];
    context(folder.path()).admit(&history(&[]), &mut results).unwrap();
    assert!(text(&results[0]).contains("it could not be saved ("), "{}", text(&results[0]));
}

#[test]
fn the_results_of_a_turn_share_the_room_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path());
    let before = history(&[]);
    let mut results: Vec<Block> =
        (0..8).map(|at| answer(&format!("t{at}"), &lines(2_200))).collect();
    results.push(answer("t8", "short"));
    context.admit(&before, &mut results).unwrap();
    let mut after = before;
    after.push(Message { role: Role::User, content: results });
    assert!(context.fits(&after), "{} %", context.fill(&after));
    assert_eq!(after[1].content[8], answer("t8", "short"));
}

#[test]
fn what_is_to_come_counts_as_it_may_come_in() {
    let context = context(Path::new("nowhere"));
    let results = [answer("t0", &"x".repeat(300_000)), answer("t1", &"x".repeat(300))];
    let short = json!({"type": "tool_result", "tool_use_id": "t1", "content": "x".repeat(300), "is_error": false});
    let tokens = 10_000 + short.to_string().len() as u64 / 3 + 1;
    assert_eq!(context.incoming(&history(&[]), &results), tokens);
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
    let mut history = old("run_shell", &log);
    context.measure(&history, 9_900, true, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0]);
    context.measure(&history, 10_000, true, START);
    let reports = context.tidy(&mut history, START);
    let after = count(context.tokens(&history));
    let report = format!("budgets: 1 of the old results made shorter · 10,000 → {after} tokens");
    assert_eq!(reports, [report]);
    assert_eq!(fs::read_to_string(saved(result(&history[2]))).unwrap(), log);
    context.measure(&history, 14_000, true, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0], "a preview is not shortened again");
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
    context.measure(&history, 10_000, false, START);
    let reports = context.tidy(&mut history, START);
    assert!(reports[0].starts_with("snip: 2 of the old results made shorter · 10,000 → "));
    let placeholder = "[2592 bytes snipped; call again if they are needed]";
    assert_eq!(result(&history[2]), placeholder);
    assert_eq!(history[4], before[4], "a command is not simply run again");
    assert_eq!(result(&history[6]), placeholder);
    assert_eq!(history[7..], before[7..], "the newest three stay");
    context.measure(&history, 10_000, false, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0]);
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
    context.measure(&history, 19_000, false, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0]);
    history.push(said(Role::Assistant, "I am."));
    assert_eq!(context.tidy(&mut history, START).len(), 1);
}

#[test]
fn while_the_cache_is_warm_snip_waits_until_three_quarters_are_full() {
    let folder = tempfile::tempdir().unwrap();
    let full = old("read_file", &lines(300));
    let snips = |tokens, cached, seconds| {
        let mut context = context(folder.path());
        context.off = "idle".to_string();
        context.measure(&full, tokens, cached, START);
        context.tidy(&mut full.clone(), after(seconds)).len() == 1
    };
    assert!(!snips(9_999, false, 0));
    assert!(snips(10_000, false, 0));
    assert!(!snips(10_000, true, 299));
    assert!(snips(10_000, true, 300));
    assert!(!snips(14_999, true, 0));
    assert!(snips(15_000, true, 0));
}

#[test]
fn after_five_idle_minutes_old_results_go_at_any_fill() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = old("read_file", &lines(300));
    let mut context = context(folder.path());
    assert_eq!(context.tidy(&mut history, after(900)), [""; 0], "nothing was called yet");
    context.measure(&history, 1_500, true, after(1_000));
    assert_eq!(context.tidy(&mut history, after(900)), [""; 0], "the clock was set back");
    assert_eq!(context.tidy(&mut history, after(1_299)), [""; 0]);
    let reports = context.tidy(&mut history, after(1_300));
    assert!(reports.len() == 1 && reports[0].starts_with("idle: 1 of the"), "{reports:?}");
    assert!(result(&history[2]).contains("snipped"));
}

#[test]
fn each_part_can_be_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(2_000);
    let mut context = context(folder.path());
    context.off = "disk, budgets,snip,idle, compaction".into();
    let mut history = old("read_file", &text);
    context.measure(&history, 19_999, false, START);
    let mut results = vec![answer("t9", &text.repeat(5))];
    assert_eq!(context.admit(&history, &mut results), None);
    assert_eq!(context.tidy(&mut history, after(900)), [""; 0]);
    assert_eq!(context.plan(&history, 99_999), None);
    context.off = "idle, compaction".into();
    assert_eq!(context.tidy(&mut history, after(900)).len(), 2);
    assert!(context.admit(&history, &mut results).is_some());
}

#[test]
fn window_and_switches_come_from_the_settings() {
    let home = tempfile::tempdir().unwrap();
    let load = || Context::load(home.path());
    assert_eq!((load().unwrap().window, load().unwrap().is_on("snip")), (200_000, true));
    fs::create_dir(home.path().join(".claude")).unwrap();
    let write = |text: &str| fs::write(home.path().join(".claude/settings.json"), text).unwrap();
    write(r#"{"permissions": {}, "context": {"window": 9000, "off": "idle, snip"}}"#);
    let context = load().unwrap();
    assert_eq!((context.window, context.max_output(), context.usable()), (9_000, 3_000, 6_000));
    assert_eq!(
        (context.is_on("snip"), context.is_on("idle"), context.is_on("disk")),
        (false, false, true)
    );
    write(r#"{"context": {"window": "much"}}"#);
    assert_eq!(load().err().unwrap().to_string(), "the window takes tokens, not much");
    write("{");
    assert!(load().err().unwrap().to_string().ends_with("holds no valid settings"));
}

#[test]
fn tokens_are_the_last_usage_and_an_estimate_of_what_is_new() {
    let mut context = context(Path::new("nowhere"));
    let mut history = history(&[("x", "1")]);
    assert_eq!(context.tokens(&history), PREFIX + 95, "nothing is known yet");
    context.measure(&history, 5_000, true, START);
    assert_eq!(context.tokens(&history), 5_000);
    history.push(said(Role::User, &"x".repeat(300)));
    assert_eq!(context.tokens(&history), 5_000 + 119);
    history.pop();
    context.measure(&history, 0, false, START);
    assert_eq!(context.tokens(&history), 5_000, "a server that reports nothing");
}

#[test]
fn what_is_taken_away_counts_for_no_more_than_it_was_measured_with() {
    let mut context = context(Path::new("nowhere"));
    let mut history = history(&[("x", &"x".repeat(30_000))]);
    let estimated = estimate(&history);
    context.measure(&history, estimated / 2, true, START);
    history.truncate(1);
    // What stands before the messages has its part of what was measured.
    let tokens = context.tokens(&history);
    assert!((900..1_100).contains(&tokens), "{tokens}");
}

#[test]
fn the_models_own_count_replaces_ours() {
    let mut context = Context::new(400_000, "nowhere".into());
    let history = history(&[]);
    let mut answers = |text: &str| {
        let was_too_long = context.was_too_long(&history, &anyhow::anyhow!("{text}"));
        (was_too_long, context.tokens(&history), context.usable(), context.fits(&history))
    };
    assert_eq!(answers("overloaded_error: Overloaded").2, 384_000);
    let text = "the model answered 400: prompt is too long: 212230 tokens > 200000 maximum";
    assert_eq!(answers(text), (true, 212_230, 184_000, false));
    for odd in [
        "prompt is too long",
        "prompt is too long: 99999999999999999999999 tokens > x",
        "prompt is too long: 1 tokens > 0 maximum",
    ] {
        let (was_too_long, _, _, fits) = answers(odd);
        assert!(was_too_long && !fits, "{odd}");
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
    assert_eq!(context.tidy(&mut [], START), [""; 0]);
}
