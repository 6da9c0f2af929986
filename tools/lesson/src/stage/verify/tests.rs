//! Each rule where it holds, and where it does not, with what it says then.

use std::fs;
use std::time::Instant;

use mock_server::scene::Moment;
use serde_json::json;

use super::super::output::Entry;
use super::*;

/// A run that went well: three requests, an answer, and some files.
struct AfterTheStory {
    rooms: Rooms,
    transcript: Transcript,
    exchanges: Vec<Exchange>,
    originals: HashMap<String, Option<Vec<u8>>>,
    values: Values,
    offspring: Offspring,
}

impl AfterTheStory {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(dir.path().join("workspace/logs")).expect("made");
        fs::create_dir_all(dir.path().join("home")).expect("made");
        fs::write(dir.path().join("workspace/report.md"), "12 nights\n").expect("written");
        fs::write(dir.path().join("home/notes.md"), "one\r\ntwo\r\n").expect("written");
        let rooms = Rooms::copy(dir.path()).expect("copied");
        let originals =
            rooms.remember(["report.md", "~/notes.md", "no"].into_iter()).expect("read");
        let mut values = Values::default();
        values.set("port", "4711".to_string());
        let before = "● The port is not here.\n";
        let answer = "● It listens on\n  port 4711.\n".to_string();
        let text = format!("{before}{answer}");
        let end = text.len();
        let log = vec![
            Entry::Request(1),
            Entry::Reply(1),
            Entry::Output(before.len()),
            Entry::Request(2),
            Entry::Reply(2),
            Entry::Output(end),
        ];
        let transcript = Transcript { text, answer, log, ..Transcript::default() };
        let exchanges = vec![exchange(1, "one “quoted\" word"), exchange(2, "two\nlines")];
        let offspring = Offspring::new(&rooms, false);
        Self { rooms, transcript, exchanges, originals, values, offspring }
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            rooms: &self.rooms,
            transcript: &self.transcript,
            exchanges: &self.exchanges,
            originals: &self.originals,
            values: &self.values,
            offspring: &self.offspring,
        }
    }

    async fn judge(&self, check: Check) -> Judged {
        let rule = Rule { at: 1, name: "rule".to_string(), says: None, check };
        let until = Instant::now() + Duration::from_secs(60);
        self.evidence().judge(&rule, until).await
    }

    async fn holds(&self, check: Check) {
        let judged = self.judge(check).await;
        assert_eq!(judged.verdict, Ok(()), "{}", judged.says);
    }

    async fn fails(&self, check: Check, with: &str) {
        assert_eq!(self.judge(check).await.verdict, Err(with.to_string()));
    }
}

fn exchange(number: usize, content: &str) -> Exchange {
    Exchange {
        number,
        place: Some(("main".to_string(), number)),
        attempt: 1,
        request: json!({"messages": [{"role": "user", "content": content}]}),
        status: 200,
        reply: json!({}),
        came: Instant::now(),
        gone: None,
    }
}

fn holding(text: &str) -> Text {
    Text { holds: vec![text.to_string()], ..Text::default() }
}

fn file(path: &str, file: FileCheck) -> Check {
    Check::File { path: path.to_string(), file }
}

#[tokio::test]
async fn an_answer_is_what_came_after_the_last_request() {
    let story = AfterTheStory::new();
    story.holds(Check::Answer(holding("listens on port <<port>>"))).await;
    let wrong = "the answer should hold “not here”, and is “It listens on port 4711.”";
    story.fails(Check::Answer(holding("not here")), wrong).await;
}

#[tokio::test]
async fn without_a_request_there_is_no_answer() {
    let mut story = AfterTheStory::new();
    story.exchanges.clear();
    story.transcript.answer = "4711".to_string();
    let wrong = "there is no answer: the program sent no request";
    story.fails(Check::Answer(holding("4711")), wrong).await;
}

#[tokio::test]
async fn what_follows_a_call_of_tools_is_no_answer() {
    let mut story = AfterTheStory::new();
    let call = json!({"type": "tool_use", "name": "read_file", "input": {}});
    story.exchanges[1].reply = json!({"content": [{"type": "text", "text": "so"}, call]});
    let wrong =
        "there is no answer: reply 2 called read_file, and no request with the result followed";
    story.fails(Check::Answer(holding("4711")), wrong).await;
}

#[tokio::test]
async fn what_follows_an_error_status_or_half_a_reply_is_no_answer() {
    let mut story = AfterTheStory::new();
    story.exchanges[1].status = 529;
    let wrong = "there is no answer: request 2 got the error status 529";
    story.fails(Check::Answer(holding("4711")), wrong).await;

    let mut story = AfterTheStory::new();
    story.transcript.log.retain(|entry| *entry != Entry::Reply(2));
    let wrong = "there is no answer: reply 2 was not read to its end";
    story.fails(Check::Answer(holding("4711")), wrong).await;
}

#[tokio::test]
async fn an_answer_on_standard_error_is_told_so() {
    let mut story = AfterTheStory::new();
    story.transcript.errors = std::mem::take(&mut story.transcript.answer);
    let wrong = "the answer stood on standard error: write answers to standard output";
    story.fails(Check::Answer(holding("4711")), wrong).await;
    let wrong = "the answer should hold “nothing”, and is empty";
    story.fails(Check::Answer(holding("nothing")), wrong).await;
}

#[tokio::test]
async fn the_screen_is_everything_that_was_written() {
    let story = AfterTheStory::new();
    story.holds(Check::Screen(holding("not here"))).await;
    let lacks = Text { lacks: vec!["not here".to_string()], ..Text::default() };
    let wrong = "the screen should not hold “not here”, and does, in line 1";
    story.fails(Check::Screen(lacks), wrong).await;
}

#[tokio::test]
async fn requests_are_counted() {
    let story = AfterTheStory::new();
    story.holds(Check::Requests { at_least: 2, at_most: 2 }).await;
    story.holds(Check::Requests { at_least: 1, at_most: u64::MAX }).await;
    let wrong = "the model should have received 3 requests, and received 2";
    story.fails(Check::Requests { at_least: 3, at_most: 3 }, wrong).await;
    let wrong = "the model should have received at most 1 request, and received 2";
    story.fails(Check::Requests { at_least: 0, at_most: 1 }, wrong).await;
}

#[tokio::test]
async fn files_hold_equal_or_are_gone() {
    let story = AfterTheStory::new();
    story.holds(file("report.md", FileCheck::Text(holding("12")))).await;
    story.holds(file("~/notes.md", FileCheck::Equals("one\r\ntwo\r\n".to_string()))).await;
    story.holds(file("gone.md", FileCheck::Absent)).await;
    let wrong = "report.md should hold “13”, and is “12 nights”";
    story.fails(file("report.md", FileCheck::Text(holding("13"))), wrong).await;
    story.fails(file("no.md", FileCheck::Text(holding("13"))), "no.md is not there").await;
    let wrong = "logs should be a file, and is a folder";
    story.fails(file("logs", FileCheck::Text(holding("13"))), wrong).await;
    let wrong = "report.md should not be there, and is";
    story.fails(file("report.md", FileCheck::Absent), wrong).await;
    let wrong =
        "report.md is not what it should be: line 1 should be “13 nights”, and is “12 nights”";
    story.fails(file("report.md", FileCheck::Equals("13 nights\n".to_string())), wrong).await;
    let wrong =
        "~/notes.md is not what it should be: line endings or the end of the last line differ";
    story.fails(file("~/notes.md", FileCheck::Equals("one\ntwo\n".to_string())), wrong).await;
}

#[tokio::test]
async fn unchanged_means_byte_for_byte() {
    let story = AfterTheStory::new();
    story.holds(file("report.md", FileCheck::Unchanged)).await;
    story.holds(file("no", FileCheck::Unchanged)).await;
    fs::write(story.rooms.workspace().join("report.md"), "12 nights\nand more\n").expect("written");
    let wrong = "report.md should be as it was, and is not: line 2 is one too many: “and more”";
    story.fails(file("report.md", FileCheck::Unchanged), wrong).await;
    fs::remove_file(story.rooms.workspace().join("report.md")).expect("removed");
    let wrong = "report.md should be as it was, and is gone";
    story.fails(file("report.md", FileCheck::Unchanged), wrong).await;
    fs::write(story.rooms.workspace().join("no"), "").expect("written");
    let wrong = "no was not there at the start, and is now";
    story.fails(file("no", FileCheck::Unchanged), wrong).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_or_an_endless_device_fails_the_rule_and_holds_nobody() {
    let story = AfterTheStory::new();
    let report = story.rooms.workspace().join("report.md");
    let kinds = [FileCheck::Text(holding("12")), FileCheck::Unchanged];
    for make in [&["mkfifo"][..], &["ln", "-s", "/dev/zero"]] {
        fs::remove_file(&report).expect("it was there");
        let made = std::process::Command::new(make[0]).args(&make[1..]).arg(&report).status();
        assert!(made.expect("it runs").success(), "{make:?}");
        for kind in &kinds {
            let check = file("report.md", kind.clone());
            story.fails(check, "report.md is a pipe or a device").await;
        }
        let wrong = "report.md should not be there, and is";
        story.fails(file("report.md", FileCheck::Absent), wrong).await;
    }
}

#[tokio::test]
async fn a_path_out_of_the_rooms_fails_the_rule() {
    let story = AfterTheStory::new();
    let judged = story.judge(file("../report.md", FileCheck::Absent)).await;
    assert!(judged.verdict.is_err_and(|error| error.contains("leads out of")));
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_runs_in_the_workspace() {
    let story = AfterTheStory::new();
    let command = |line: &str, exit: i32, output: Text| Check::Command {
        words: line.split(' ').map(str::to_string).collect(),
        exit,
        output,
    };
    story.holds(command("cat report.md", 0, holding("12"))).await;
    story.holds(command("cat no.md", 1, Text::default())).await;
    let wrong = "`cat report.md` should exit with 1, and exits with 0: “12 nights”";
    story.fails(command("cat report.md", 1, Text::default()), wrong).await;
    let wrong = "the output of `cat report.md` should hold “13”, and is “12 nights”";
    story.fails(command("cat report.md", 0, holding("13")), wrong).await;
    let judged = story.judge(command("no-such-program x", 0, Text::default())).await;
    assert!(judged.verdict.is_err_and(|e| e.starts_with("`no-such-program x` cannot be run")));
}

#[tokio::test]
async fn requests_are_looked_into() {
    let story = AfterTheStory::new();
    let request = |which: Which, text: &str| Check::Request {
        which,
        part: "main".to_string(),
        text: holding(text),
    };
    story.holds(request(Which::Number(1), "“quoted\" word")).await;
    story.holds(request(Which::Last, "two\nlines")).await;
    story.holds(request(Which::Any, "one")).await;
    story.holds(request(Which::Every, "\"role\":\"user\"")).await;
    let first = |judged: Judged| judged.verdict.expect_err("it does not hold");
    let error = first(story.judge(request(Which::Number(2), "one")).await);
    let told = "request 2 should hold “one”, and does not; the last that it brought: “two lines”";
    assert_eq!(error, told);
    let error = first(story.judge(request(Which::Number(3), "one")).await);
    assert_eq!(error, "there is no request 3: the model received 2");
    assert_eq!(first(story.judge(request(Which::Every, "one")).await), told);
    let error = first(story.judge(request(Which::Any, "three")).await);
    assert_eq!(error, "no request held “three”");
}

#[tokio::test]
async fn a_verdict_on_a_request_quotes_its_last_result_and_no_json() {
    let mut story = AfterTheStory::new();
    let result = json!({"type": "tool_result", "content": [{"type": "text", "text": "port = 1"}]});
    story.exchanges[1].request = json!({"messages": [{"role": "user", "content": [result]}]});
    let check =
        Check::Request { which: Which::Last, part: "main".to_string(), text: holding("4711") };
    let wrong = "request 2 should hold “4711”, and does not; the last that it brought: “port = 1”";
    story.fails(check, wrong).await;
}

#[tokio::test]
async fn the_order_of_events_is_checked() {
    let story = AfterTheStory::new();
    let screen = |text: &str| Moment::Screen(text.to_string());
    let right =
        vec![Moment::Reply(1), screen("not here"), Moment::Request(2), screen("on port <<port>>")];
    story.holds(Check::Order(right)).await;
    let wrong = "“not here” on the screen came before request 2, and should come after";
    story.fails(Check::Order(vec![Moment::Request(2), screen("not here")]), wrong).await;
    let wrong = "request 3 never came";
    story.fails(Check::Order(vec![Moment::Request(1), Moment::Request(3)]), wrong).await;
    let wrong = "“nowhere” on the screen never came";
    story.fails(Check::Order(vec![screen("nowhere")]), wrong).await;
}

#[tokio::test]
async fn a_rule_says_what_holds_in_words() {
    let story = AfterTheStory::new();
    let says = async |check: Check| story.judge(check).await.says;
    assert_eq!(says(Check::Answer(holding("<<port>>"))).await, "the answer holds “4711”");
    let requests = Check::Requests { at_least: 3, at_most: 3 };
    assert_eq!(says(requests).await, "the model received 3 requests");
    assert_eq!(says(file("a.md", FileCheck::Unchanged)).await, "a.md is unchanged");
    let order = Check::Order(vec![Moment::Request(1), Moment::Screen("x".to_string())]);
    assert_eq!(says(order).await, "in this order: request 1, “x” on the screen");
}

fn asked(number: usize, system: &str, words: &[&str], read: u64) -> Exchange {
    let mut messages: Vec<_> = words
        .iter()
        .map(|word| json!({"role": "user", "content": [{"type": "text", "text": word}]}))
        .collect();
    if let Some(last) = messages.last_mut() {
        last["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    }
    Exchange {
        request: json!({"tools": [], "system": system, "messages": messages}),
        reply: json!({"usage": {"cache_read_input_tokens": read}}),
        ..exchange(number, "")
    }
}

#[tokio::test]
async fn tokens_read_from_the_cache_are_counted_by_request() {
    let mut story = AfterTheStory::new();
    story.exchanges = vec![asked(1, "s", &["a"], 0), asked(2, "s", &["a", "b"], 1200)];
    let read = |which: Which, at_least: u64| {
        let part = "main".to_string();
        Check::CacheRead { which, part, at_least, at_most: u64::MAX }
    };
    story.holds(read(Which::Number(2), 1200)).await;
    let wrong = "request 1 should have at least 1 tokens read from the cache, and had 0";
    story.fails(read(Which::Every, 1), wrong).await;
    let says = story.judge(read(Which::Number(2), 1000)).await.says;
    assert_eq!(says, "request 2 had at least 1000 tokens read from the cache");
}

#[tokio::test]
async fn all_tokens_of_a_request_are_counted_and_a_refused_one_has_too_many() {
    let mut story = AfterTheStory::new();
    let mut first = asked(1, "s", &["a"], 1200);
    first.reply["usage"]["input_tokens"] = json!(30);
    story.exchanges = vec![first];
    let tokens = |which: Which, at_most: u64| {
        let part = "main".to_string();
        Check::Tokens { which, part, at_least: 0, at_most }
    };
    story.holds(tokens(Which::Every, 1230)).await;
    let wrong = "request 1 should have at most 1229 tokens, and had 1230";
    story.fails(tokens(Which::Every, 1229), wrong).await;
    let mut second = asked(2, "s", &["a", "b"], 0);
    second.reply = json!({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}});
    story.exchanges.push(second);
    let wrong = "request 2 was refused: prompt is too long: 9 tokens > 8 maximum";
    story.fails(tokens(Which::Every, 1230), wrong).await;
    let says = story.judge(tokens(Which::Every, 1230)).await.says;
    assert_eq!(says, "every request had at most 1230 tokens");
}

#[tokio::test]
async fn a_prefix_is_the_whole_request_before_without_its_marks() {
    let mut story = AfterTheStory::new();
    let prefix = || Check::Prefix { part: "main".to_string() };
    story.exchanges = vec![asked(1, "s", &["a"], 0), asked(2, "s", &["a", "b"], 0)];
    story.holds(prefix()).await;
    story.exchanges.push(asked(3, "s, at noon", &["a", "b", "c"], 0));
    let wrong = "request 3 should begin with request 2, and differs in system";
    story.fails(prefix(), wrong).await;
    story.exchanges[2] = asked(3, "s", &["a", "B", "c"], 0);
    let wrong = "request 3 should begin with request 2, and differs in message 2";
    story.fails(prefix(), wrong).await;
    story.exchanges[2] = asked(3, "s", &["a"], 0);
    story.fails(prefix(), wrong).await;
}
