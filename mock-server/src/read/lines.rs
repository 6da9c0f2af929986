//! The lines of a conversation: what is typed, and what the model replies.

use std::time::Duration;

use serde_json::Map;

use super::files;
use super::table::{Entry, Faults, HOUR, MANY, Table};
use crate::scene::{Call, Expect, Fault, Line, LineKind, Reply, Speech, StageAction};
use crate::strict::is_tool_name;

const REPLY: &str = "say, [[PART.call]], thinking, stop, otherwise, expect, capture, stage, \
                     fault, pace (or a line of its own: user, answer, types with until)";

const SPEECH: &str = "say, call, thinking, stop";
const EXPECT: &str = "holds, lacks, tools";
const ACTIONS: &str = "write, remove, kill, cut, restart, interrupt, clock";
const FAULTS: &str =
    "status, retry_after_ms, stall, cut, drop_at, malformed, error_event, attempts";

/// Errors that the API sends in the middle of a stream.
const ERRORS: [&str; 10] = [
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "overloaded_error",
];

/// In seconds, some ten years: how far a clock may be moved on.
const FAR: u64 = 315_360_000;

pub fn lines(entry: Entry<'_>, faults: &mut Faults) -> Vec<Line> {
    entry.tables(faults).into_iter().map(|table| line(table, faults)).collect()
}

fn line(mut table: Table<'_>, faults: &mut Faults) -> Line {
    let at = faults.line(table.at);
    let kind = if let Some(text) = table.text("user", faults) {
        if text.trim().is_empty() {
            faults.add(table.at, "an empty user line is never sent");
        }
        is_one_line(&table, &text, faults);
        table.finish("user alone; what the model replies is the next [[…]]", faults);
        LineKind::User(text)
    } else if let Some(text) = table.text("answer", faults) {
        is_one_line(&table, &text, faults);
        table.finish("answer alone", faults);
        LineKind::Answer(text)
    } else if let Some(text) = table.text("types", faults) {
        let until = table.text("until", faults).unwrap_or_default();
        if until.is_empty() {
            faults.add(table.at, "`types` needs `until`: what stands on the screen afterwards");
        }
        if text.trim().is_empty() {
            faults.add(table.at, "an empty line is nothing that is typed");
        }
        is_one_line(&table, &text, faults);
        table.finish("types and until", faults);
        LineKind::Types { text, until }
    } else {
        LineKind::Reply(Box::new(reply(table, faults)))
    };
    Line { at, kind }
}

/// What is typed ends with its line.
fn is_one_line(table: &Table<'_>, text: &str, faults: &mut Faults) {
    if text.contains(['\n', '\r']) {
        faults.add(table.at, "what is typed is one line; this has a line end in it");
    }
}

fn reply(mut table: Table<'_>, faults: &mut Faults) -> Reply {
    let says_something = ["say", "call", "thinking", "fault"].iter().any(|key| table.has(key));
    if !says_something {
        faults.add(table.at, "this line says nothing; an empty reply is written say = \"\"");
    }
    let reply = Reply {
        speech: speech(&mut table, faults),
        otherwise: table.table("otherwise", faults).map(|mut otherwise| {
            otherwise.is_not_empty(faults, SPEECH);
            let speech = speech(&mut otherwise, faults);
            otherwise.finish(SPEECH, faults);
            speech
        }),
        expect: expect(&mut table, faults),
        capture: captures(&mut table, faults),
        stage: table.table("stage", faults).map(|t| stage(t, faults)).unwrap_or_default(),
        fault: match table.table("fault", faults) {
            Some(table) => fault(table, faults),
            None => Fault { attempts: 1, ..Fault::default() },
        },
        pace: table.whole_in("pace", 0..=HOUR, faults).map(Duration::from_millis),
    };
    let other = reply.otherwise.iter().flat_map(|other| &other.calls);
    if reply.fault.malformed && reply.speech.calls.iter().chain(other).next().is_none() {
        faults.add(table.at, "`fault.malformed` tears the arguments of calls; this reply has none");
    }
    table.finish(REPLY, faults);
    reply
}

fn speech(table: &mut Table<'_>, faults: &mut Faults) -> Speech {
    let stop = table.take("stop");
    let stop = stop.and_then(|entry| {
        let known = ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn"];
        let more = ["refusal", "model_context_window_exceeded"];
        let text = entry.text(faults)?;
        if !known.contains(&text.as_str()) && !more.contains(&text.as_str()) {
            faults.add(
                entry.at,
                format!("`{text}` is no stop reason: {}, {}", known.join(", "), more.join(", ")),
            );
        }
        Some(text)
    });
    let calls = match table.take("call") {
        Some(entry) if entry.is_array() => {
            entry.tables(faults).into_iter().filter_map(|table| call(table, faults)).collect()
        }
        Some(entry) => entry.table(faults).and_then(|t| call(t, faults)).into_iter().collect(),
        None => Vec::new(),
    };
    Speech { thinking: table.text("thinking", faults), say: table.text("say", faults), calls, stop }
}

fn call(mut table: Table<'_>, faults: &mut Faults) -> Option<Call> {
    let at = table.at;
    let returns = table.wanted("returns", faults);
    let lacks = table.wanted("lacks", faults);
    let error = table.flag("error", faults);
    let capture = captures(&mut table, faults);
    let mut tools = table.take_rest();
    if tools.len() != 1 {
        let names: Vec<&str> = tools.iter().map(|entry| entry.key).collect();
        faults.add(
            at,
            format!(
                "a call names one tool, as in `read_file.path = \"a.txt\"`, and beside it \
                 returns, lacks, error, capture; found: {}",
                if names.is_empty() { "none".to_string() } else { names.join(", ") }
            ),
        );
    }
    let tool = tools.drain(..).next()?;
    if !is_tool_name(tool.key) {
        faults.add(tool.at, format!("no tool can be named `{}`: a-z, A-Z, 0-9, _ and -", tool.key));
    }
    let mut input = Map::new();
    for argument in tool.table(faults)?.take_rest() {
        input.insert(argument.key.to_string(), argument.json(faults));
    }
    let at = faults.line(at);
    Some(Call { at, tool: tool.key.to_string(), input, returns, lacks, error, capture })
}

fn captures(table: &mut Table<'_>, faults: &mut Faults) -> Vec<(String, String)> {
    let Some(mut table) = table.table("capture", faults) else { return Vec::new() };
    table.is_not_empty(faults, "NAME = 'regular expression'");
    let mut captures = Vec::new();
    for entry in table.take_rest() {
        if !super::references::is_name(entry.key) {
            faults.add(entry.at, format!("`{}` is no name: a-z, 0-9 and _ only", entry.key));
        }
        let Some(pattern) = entry.text(faults) else { continue };
        if pattern.is_empty() {
            faults.add(entry.at, "an empty pattern captures nothing");
        }
        if let Err(error) = regex::Regex::new(&pattern) {
            faults.add(entry.at, format!("not a regular expression: {error}"));
        }
        captures.push((entry.key.to_string(), pattern));
    }
    captures
}

fn expect(table: &mut Table<'_>, faults: &mut Faults) -> Expect {
    let Some(mut table) = table.table("expect", faults) else { return Expect::default() };
    table.is_not_empty(faults, EXPECT);
    let expect = Expect {
        holds: table.wanted("holds", faults),
        lacks: table.wanted("lacks", faults),
        tools: table.wanted("tools", faults),
    };
    table.finish(EXPECT, faults);
    expect
}

fn stage(mut table: Table<'_>, faults: &mut Faults) -> Vec<StageAction> {
    table.is_not_empty(faults, ACTIONS);
    let mut actions = Vec::new();
    for entry in table.take_rest() {
        let action = match entry.key {
            "write" => with_path(entry, "path, text", faults, |table, path, faults| {
                let text = table.text("text", faults)?;
                Some(StageAction::Write { path, text })
            }),
            "cut" => with_path(entry, "path, bytes", faults, |table, path, faults| {
                let bytes = table.whole_in("bytes", 1..=MANY, faults)?;
                Some(StageAction::Cut { path, bytes })
            }),
            "remove" if entry.is_text() => {
                files::path(&entry, faults).map(|path| StageAction::Remove { path })
            }
            "remove" => {
                with_path(entry, "path", faults, |_, path, _| Some(StageAction::Remove { path }))
            }
            "kill" => {
                entry.only_true(faults);
                Some(StageAction::Kill)
            }
            "interrupt" if entry.is_text() => {
                entry.wanted(faults).pop().map(StageAction::InterruptAt)
            }
            "interrupt" => {
                entry.only_true(faults);
                Some(StageAction::Interrupt)
            }
            "restart" => Some(StageAction::Restart(entry.texts(faults))),
            "clock" => entry
                .whole_in(1..=FAR, faults)
                .map(|seconds| StageAction::Clock(Duration::from_secs(seconds))),
            other => {
                faults.add(entry.at, format!("unknown key `{other}`; here may stand: {ACTIONS}"));
                None
            }
        };
        actions.extend(action);
    }
    actions
}

/// An action on a path; `keys` are all that it needs.
fn with_path(
    entry: Entry<'_>,
    keys: &str,
    faults: &mut Faults,
    make: impl Fn(&mut Table<'_>, String, &mut Faults) -> Option<StageAction>,
) -> Option<StageAction> {
    let mut table = entry.table(faults)?;
    for key in keys.split(", ").filter(|key| !table.has(key)) {
        faults.add(entry.at, format!("`{}` needs {key}", entry.key));
    }
    let path = table.take("path").and_then(|path| files::path(&path, faults));
    let action = make(&mut table, path.unwrap_or_default(), faults);
    table.finish(keys, faults);
    action
}

fn fault(mut table: Table<'_>, faults: &mut Faults) -> Fault {
    table.is_not_empty(faults, FAULTS);
    let status = table.take("status").map(|entry| statuses(entry, faults)).unwrap_or_default();
    let stall = table.take("stall").and_then(|entry| stall(entry, faults));
    let cut = table.take("cut").map(|entry| entry.wholes_in(0..=MANY, faults)).unwrap_or_default();
    let retry_after = table.whole_in("retry_after_ms", 0..=HOUR, faults);
    let fault = Fault {
        status,
        retry_after: retry_after.map(Duration::from_millis),
        stall,
        cut: cut.into_iter().filter_map(|bytes| usize::try_from(bytes).ok()).collect(),
        drop_at: table.take("drop_at").and_then(|entry| entry.count(0, faults)),
        malformed: table.flag("malformed", faults).unwrap_or(false),
        error_event: table.take("error_event").and_then(|entry| error_event(entry, faults)),
        attempts: table.take("attempts").and_then(|entry| entry.count(1, faults)).unwrap_or(1),
    };
    table.finish(FAULTS, faults);
    fault
}

fn stall(entry: Entry<'_>, faults: &mut Faults) -> Option<(usize, Duration)> {
    let mut stall = entry.table(faults)?;
    if !stall.has("ms") {
        faults.add(entry.at, "a stall needs ms: how long nothing is sent");
    }
    let after = stall.take("after").and_then(|entry| entry.count(0, faults)).unwrap_or(0);
    let wait = stall.whole_in("ms", 1..=HOUR, faults);
    stall.finish("after (events), ms", faults);
    Some((after, Duration::from_millis(wait?)))
}

fn error_event(entry: Entry<'_>, faults: &mut Faults) -> Option<String> {
    let kind = entry.text(faults)?;
    if !ERRORS.contains(&kind.as_str()) {
        let known = ERRORS.join(", ");
        faults.add(entry.at, format!("`{kind}` is no error of the API; there are: {known}"));
    }
    Some(kind)
}

fn statuses(entry: Entry<'_>, faults: &mut Faults) -> Vec<u16> {
    let all = entry.wholes_in(400..=599, faults);
    all.into_iter().filter_map(|status| u16::try_from(status).ok()).collect()
}
