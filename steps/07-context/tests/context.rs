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

/// As if the API had counted so many tokens, however long the history is.
fn believe(context: &mut Context, history: &[Message], tokens: u64, cached: bool, at: SystemTime) {
    context.settle(history, tokens);
    (context.last_call, context.cached) = (Some(at), cached);
}

fn lines(number: usize) -> String {
    (1..=number).map(|line| format!("line {line}\n")).collect()
}

/// The file that a preview names.
fn saved(preview: &str) -> &str {
    let (_, rest) = preview.split_once("; they are in ").expect("a path");
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
    assert!(preview.contains(" bytes left out in lines 160 to 4934; they are in "), "{preview}");
    assert!(preview.starts_with("line 1\nline 2\n") && preview.ends_with("line 5000\n"));
    assert!(preview.len() < PREVIEW + NOTICE);
    assert_eq!(results[1], answer("t1", "short"));
    assert!(report.starts_with("disk: 1 saved, the model gets a preview · 20,"));
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
    assert!(text(&results[0]).contains("they could not be saved ("), "{}", text(&results[0]));
}

#[test]
fn a_preview_promises_no_bytes_that_its_file_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let lost =
        "exit code 0\n[5000 bytes in the middle of this output are lost, no file has them]\n";
    let mut results = vec![answer("t0", &(lost.to_string() + &lines(5_000)))];
    let whole = text(&results[0]).to_string();
    context(folder.path()).admit(&history(&[]), &mut results).unwrap();
    let preview = text(&results[0]);
    assert!(preview.starts_with(lost), "what is lost is said where it is seen");
    let (head, rest) = preview.split_once("\n[").unwrap().1.split_once("]\n").unwrap();
    assert!(head.contains("lost"), "{head}");
    let (_, notice) = rest.split_once("\n[").unwrap();
    let left_out: usize = notice.split_once(" bytes left out").unwrap().0.parse().unwrap();
    let (notice, tail) = notice.split_once("]\n").unwrap();
    let kept = preview.len() - notice.len() - "\n[]\n".len();
    assert_eq!((kept + left_out, whole.ends_with(tail)), (whole.len(), true));
    assert_eq!(fs::read_to_string(saved(preview)).unwrap(), whole);
}

#[test]
fn what_does_not_fit_is_squeezed_the_longest_first_and_the_unseen_last() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let pairs =
        [("run_shell", lines(600)), ("read_file", lines(1_400)), ("run_shell", lines(2_500))];
    let mut long = history(&pairs.each_ref().map(|(tool, text)| (*tool, text.as_str())));
    let before = long.clone();
    assert_eq!(context.squeeze(&mut long), None, "it fits");
    believe(&mut context, &long, 21_500, true, START);
    let report = context.squeeze(&mut long).unwrap();
    assert!(
        report.starts_with("squeeze: 2 of the longest results saved and made shorter · 21,500 → ")
    );
    assert!(context.fill(&long) <= SQUEEZED, "{} %", context.fill(&long));
    assert_eq!(long[5..], before[5..]);
    assert_eq!(fs::read_to_string(saved(result(&long[4]))).unwrap(), lines(1_400));
    believe(&mut context, &long, 30_000, true, START);
    context.squeeze(&mut long).unwrap();
    assert_eq!(fs::read_to_string(saved(result(&long[6]))).unwrap(), lines(2_500));
}

#[test]
fn what_is_squeezed_hard_is_a_name_of_a_file_that_leads_to_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let mut full = history(&[]);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for at in 0..40 {
        let id = format!("t{at}");
        let input = json!({"path": "a", "limit": 7});
        calls.push(Block::ToolUse { id: id.clone(), name: "read_file".into(), input });
        results.push(answer(&id, &format!("{at} {}", lines(200))));
    }
    full.push(Message { role: Role::Assistant, content: calls });
    full.push(Message { role: Role::User, content: results });
    context.squeeze(&mut full).unwrap();
    assert!(context.fits(&full), "{} %", context.fill(&full));
    for (at, block) in full[2].content.iter().enumerate() {
        let mut whole = text(block).to_string();
        while whole.contains("; they are in ") {
            whole = fs::read_to_string(saved(&whole)).unwrap();
        }
        assert_eq!(whole, format!("{at} {}", lines(200)));
    }
    assert_eq!(full[0], said(Role::User, "Why is the lamp dark?"));
}

#[test]
fn a_line_of_the_user_that_is_too_long_is_refused_with_its_length_and_a_way_out() {
    let context = context(Path::new("nowhere"));
    assert!(context.can_take(&"x".repeat(14_998)).is_ok());
    let refusal = context.can_take(&"x".repeat(14_999)).unwrap_err().to_string();
    let wanted = "this line takes 15,001 bytes, and one may take 15,000 here\n\
                  put it into a file and name the file: it can be read part by part";
    assert_eq!(refusal, wanted);
    assert!(context.can_take(&"\u{1b}".repeat(3_000)).is_err(), "six bytes each, as it is sent");
}

#[test]
fn a_window_that_the_beginning_half_fills_is_refused() {
    let beginning = |bytes| said(Role::User, &"x".repeat(bytes));
    let refusal = |window, bytes| {
        let context = Context::new(window, "nowhere".into());
        context.can_hold(&[beginning(bytes)]).err().map(|error| error.to_string())
    };
    assert_eq!(refusal(7_700, 0), None);
    let wanted = "a window of 7,000 tokens is too small: system prompt, tools and the project's \
                  instructions take about 2,519 of 4,667 tokens, and may take half of them\n\
                  set LOOPWRIGHT_WINDOW to more, or make the instructions shorter";
    assert_eq!(refusal(7_000, 0).as_deref(), Some(wanted));
    assert_eq!(refusal(200_000, 40_000), None);
    assert!(refusal(20_000, 40_000).is_some());
}

#[test]
fn what_a_server_reports_is_believed_within_reason() {
    let mut context = context(Path::new("nowhere"));
    let history = history(&[("x", &"x".repeat(9_000))]);
    let guess = PREFIX + estimate(&history);
    for (reported, believed) in [(1, guess / 4), (u64::MAX, guess * 3), (guess, guess)] {
        context.measure(&history, reported, true, START);
        assert_eq!(context.tokens(&history), believed);
    }
    context.forget();
    assert_eq!(context.tokens(&[]), PREFIX);
}

#[test]
fn the_fuller_the_window_the_shorter_the_results_that_come_in() {
    let folder = tempfile::tempdir().unwrap();
    for (fill, stays, goes) in [(49, 15_000, 30_001), (50, 10_000, 10_001), (70, 4_000, 4_001)] {
        let mut context = Context::new(116_000, folder.path().to_path_buf());
        let history = history(&[]);
        believe(&mut context, &history, fill * 1_000, true, START);
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
    believe(&mut context, &history, 9_900, true, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0]);
    believe(&mut context, &history, 10_000, true, START);
    let reports = context.tidy(&mut history, START);
    let after = count(context.tokens(&history));
    let report = format!("budgets: 1 of the old results made shorter · 10,000 → {after} tokens");
    assert_eq!(reports, [report]);
    assert_eq!(fs::read_to_string(saved(result(&history[2]))).unwrap(), log);
    believe(&mut context, &history, 14_000, true, START);
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
    believe(&mut context, &history, 10_000, false, START);
    let reports = context.tidy(&mut history, START);
    assert!(reports[0].starts_with("snip: 2 of the old results made shorter · 10,000 → "));
    let placeholder = "[2592 bytes snipped; call again if they are needed]";
    assert_eq!(result(&history[2]), placeholder);
    assert_eq!(history[4], before[4], "a command is not simply run again");
    assert_eq!(result(&history[6]), placeholder);
    assert_eq!(history[7..], before[7..], "the newest three stay");
    believe(&mut context, &history, 10_000, false, START);
    assert_eq!(context.tidy(&mut history, START), [""; 0]);
}

#[test]
fn a_result_is_judged_by_the_call_right_before_it_though_ids_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let mut context = context(folder.path());
    let mut history = history(&[]);
    for tool in ["read_file", "run_shell", "read_file", "x", "x", "x"] {
        history.extend(pair("call_0", tool, &lines(300)));
    }
    let twice = |at: usize| {
        let [one, two] =
            [pair("call_0", "run_shell", &lines(300)), pair("call_0", "read_file", "")];
        [one[at].clone(), two[at].clone()].into_iter().flat_map(|message| message.content).collect()
    };
    history.insert(1, Message { role: Role::Assistant, content: twice(0) });
    history.insert(2, Message { role: Role::User, content: twice(1) });
    let before = history.clone();
    believe(&mut context, &history, 19_000, false, START);
    context.off = "budgets".to_string();
    context.tidy(&mut history, START);
    assert!(result(&history[4]).contains("snipped"));
    assert_eq!(history[6], before[6], "a command stands between two reads of the same id");
    assert!(result(&history[8]).contains("snipped"));
    assert_eq!(history[2], before[2], "one message has the id twice");
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
    believe(&mut context, &history, 19_000, false, START);
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
        believe(&mut context, &full, tokens, cached, START);
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
    believe(&mut context, &history, 1_500, true, after(1_000));
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
    believe(&mut context, &history, 19_999, false, START);
    let mut results = vec![answer("t9", &text.repeat(5))];
    assert_eq!(context.admit(&history, &mut results), None);
    assert_eq!(context.tidy(&mut history, after(900)), [""; 0]);
    believe(&mut context, &history, 99_999, false, START);
    assert_eq!(context.plan(&history), None);
    assert_eq!(context.leave_out(&mut history), None);
    assert_eq!(context.squeeze(&mut history), None);
    for (off, on) in
        [("snip, idle", "budgets"), ("budgets,idle", "snip"), ("budgets, snip", "idle")]
    {
        context.off = off.into();
        believe(&mut context, &history, 19_999, false, START);
        let reports = context.tidy(&mut history.clone(), after(900));
        assert!(reports.len() == 1 && reports[0].starts_with(on), "{reports:?}");
    }
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
    write(&format!(r#"{{"context": {{"window": {}}}}}"#, u64::MAX));
    assert_eq!(load().unwrap().window, LARGEST);
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
    let history = history(&[("x", &"x".repeat(500_000))]);
    let mut answers = |text: &str| {
        let was_too_long = context.was_too_long(&history, &anyhow::anyhow!("{text}"));
        (was_too_long, context.tokens(&history), context.usable(), context.fits(&history))
    };
    assert_eq!(answers("overloaded_error: Overloaded").2, 384_000);
    let text = "the model answered 400: prompt is too long: 212230 tokens > 200000 maximum";
    assert_eq!(answers(text), (true, 212_230, 184_000, false));
    let text = "there is no summary: the model answered 400: input length and `max_tokens` exceed \
                context limit: 185123 + 16000 > 190000, decrease input length or `max_tokens`";
    assert_eq!(answers(text), (true, 185_123, 174_000, false));
    for odd in [
        "prompt is too long",
        "prompt is too long: 99999999999999999999999 tokens > x",
        "prompt is too long: 1 tokens > 0 maximum",
        "input length and `max_tokens` exceed context limit",
    ] {
        let (was_too_long, _, usable, fits) = answers(odd);
        assert!(was_too_long && !fits && usable >= 2 * PREFIX, "{odd}");
    }
}

#[test]
fn absurd_numbers_do_no_harm() {
    for window in [0, 1, LARGEST] {
        absurd_numbers_in(window);
    }
}

fn absurd_numbers_in(window: u64) {
    let mut context = Context::new(window, "nowhere".into());
    let mut history = history(&[("read_file", "x")]);
    context.measure(&history, u64::MAX, true, after(u32::MAX.into()));
    context.tidy(&mut history, START);
    context.admit(&history, &mut [answer("t", ""), Block::Other(json!(null))]);
    assert_eq!(context.plan(&history), None);
    assert_eq!(context.plan(&[]), None);
    assert_eq!(context.tidy(&mut [], START), [""; 0]);
    assert_eq!(context.squeeze(&mut []), None);
    assert_eq!(context.leave_out(&mut Vec::new()), None);
}
