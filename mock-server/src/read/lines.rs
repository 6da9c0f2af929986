//! The lines of a conversation: what is typed, and what the model replies.

use std::time::Duration;

use serde_json::Map;

use super::table::{Entry, Faults, Table};
use crate::scene::{Call, Expect, Fault, Line, LineKind, Reply, Speech, StageAction};

const REPLY: &str = "say, [[PART.call]], thinking, stop, otherwise, expect, capture, stage, \
                     fault, pace (or a line of its own: user, answer, types with until)";

pub fn lines(entry: Entry<'_>, faults: &mut Faults) -> Vec<Line> {
    entry.tables(faults).into_iter().map(|table| line(table, faults)).collect()
}

fn line(mut table: Table<'_>, faults: &mut Faults) -> Line {
    let at = faults.line(table.at);
    let kind = if let Some(text) = table.text("user", faults) {
        if text.trim().is_empty() {
            faults.add(table.at, "an empty user line is never sent");
        }
        table.finish("user alone; what the model replies is the next [[…]]", faults);
        LineKind::User(text)
    } else if let Some(text) = table.text("answer", faults) {
        table.finish("answer alone", faults);
        LineKind::Answer(text)
    } else if let Some(text) = table.text("types", faults) {
        let until = table.text("until", faults).unwrap_or_default();
        if until.is_empty() {
            faults.add(table.at, "`types` needs `until`: what stands on the screen afterwards");
        }
        table.finish("types and until", faults);
        LineKind::Types { text, until }
    } else {
        LineKind::Reply(Box::new(reply(table, faults)))
    };
    Line { at, kind }
}

fn reply(mut table: Table<'_>, faults: &mut Faults) -> Reply {
    let says_something = ["say", "call", "thinking", "fault"].iter().any(|key| table.has(key));
    if !says_something {
        faults.add(table.at, "this line says nothing; an empty reply is written say = \"\"");
    }
    let reply = Reply {
        speech: speech(&mut table, faults),
        otherwise: table.table("otherwise", faults).map(|mut otherwise| {
            let speech = speech(&mut otherwise, faults);
            otherwise.finish("say, call, thinking, stop", faults);
            speech
        }),
        expect: expect(&mut table, faults),
        capture: captures(&mut table, faults),
        stage: table.table("stage", faults).map(|t| stage(t, faults)).unwrap_or_default(),
        fault: match table.table("fault", faults) {
            Some(table) => fault(table, faults),
            None => Fault { attempts: 1, ..Fault::default() },
        },
        pace: table.whole("pace", faults).map(Duration::from_millis),
    };
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
    let returns = table.texts("returns", faults);
    let lacks = table.texts("lacks", faults);
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
    let mut input = Map::new();
    for argument in tool.table(faults)?.take_rest() {
        input.insert(argument.key.to_string(), argument.json(faults));
    }
    let at = faults.line(at);
    Some(Call { at, tool: tool.key.to_string(), input, returns, lacks, error, capture })
}

fn captures(table: &mut Table<'_>, faults: &mut Faults) -> Vec<(String, String)> {
    let Some(mut table) = table.table("capture", faults) else { return Vec::new() };
    let mut captures = Vec::new();
    for entry in table.take_rest() {
        if !super::references::is_name(entry.key) {
            faults.add(entry.at, format!("`{}` is no name: a-z, 0-9 and _ only", entry.key));
        }
        let Some(pattern) = entry.text(faults) else { continue };
        if let Err(error) = regex::Regex::new(&pattern) {
            faults.add(entry.at, format!("not a regular expression: {error}"));
        }
        captures.push((entry.key.to_string(), pattern));
    }
    captures
}

fn expect(table: &mut Table<'_>, faults: &mut Faults) -> Expect {
    let Some(mut table) = table.table("expect", faults) else { return Expect::default() };
    let expect = Expect {
        holds: table.texts("holds", faults),
        lacks: table.texts("lacks", faults),
        tools: table.texts("tools", faults),
    };
    table.finish("holds, lacks, tools", faults);
    expect
}

fn stage(mut table: Table<'_>, faults: &mut Faults) -> Vec<StageAction> {
    let mut actions = Vec::new();
    for entry in table.take_rest() {
        let action = match entry.key {
            "write" => with_path(entry, faults, |table, path, faults| StageAction::Write {
                path,
                text: table.text("text", faults).unwrap_or_default(),
            }),
            "cut" => with_path(entry, faults, |table, path, faults| StageAction::Cut {
                path,
                bytes: table.whole("bytes", faults).unwrap_or(1),
            }),
            "remove" if entry.is_text() => {
                entry.text(faults).map(|path| StageAction::Remove { path })
            }
            "remove" => with_path(entry, faults, |_, path, _| StageAction::Remove { path }),
            "kill" => {
                entry.only_true(faults);
                Some(StageAction::Kill)
            }
            "interrupt" if entry.is_text() => entry.text(faults).map(StageAction::InterruptAt),
            "interrupt" => {
                entry.only_true(faults);
                Some(StageAction::Interrupt)
            }
            "restart" => Some(StageAction::Restart(entry.texts(faults))),
            "clock" => entry.whole(faults).map(|s| StageAction::Clock(Duration::from_secs(s))),
            other => {
                let known = "write, remove, kill, cut, restart, interrupt, clock";
                faults.add(entry.at, format!("unknown key `{other}`; here may stand: {known}"));
                None
            }
        };
        actions.extend(action);
    }
    actions
}

fn with_path(
    entry: Entry<'_>,
    faults: &mut Faults,
    make: impl Fn(&mut Table<'_>, String, &mut Faults) -> StageAction,
) -> Option<StageAction> {
    let mut table = entry.table(faults)?;
    let Some(path) = table.text("path", faults) else {
        faults.add(entry.at, format!("`{}` needs a path", entry.key));
        return None;
    };
    let action = make(&mut table, path, faults);
    table.finish("path, and text (write) or bytes (cut)", faults);
    Some(action)
}

fn fault(mut table: Table<'_>, faults: &mut Faults) -> Fault {
    let status = table.take("status").map(|entry| statuses(entry, faults)).unwrap_or_default();
    let stall = table.table("stall", faults).map(|mut stall| {
        let after = stall.whole("after", faults).unwrap_or(0) as usize;
        let wait = Duration::from_millis(stall.whole("ms", faults).unwrap_or(0));
        stall.finish("after (events), ms", faults);
        (after, wait)
    });
    let cut = table.take("cut").map(|entry| entry.wholes(faults)).unwrap_or_default();
    let fault = Fault {
        status,
        retry_after: table.whole("retry_after_ms", faults).map(Duration::from_millis),
        stall,
        cut: cut.into_iter().map(|bytes| bytes as usize).collect(),
        drop_at: table.whole("drop_at", faults).map(|bytes| bytes as usize),
        malformed: table.flag("malformed", faults).unwrap_or(false),
        error_event: table.text("error_event", faults),
        attempts: table.whole("attempts", faults).unwrap_or(1) as usize,
    };
    table.finish(
        "status, retry_after_ms, stall, cut, drop_at, malformed, error_event, attempts",
        faults,
    );
    fault
}

fn statuses(entry: Entry<'_>, faults: &mut Faults) -> Vec<u16> {
    let all = entry.wholes(faults);
    if let Some(wrong) = all.iter().find(|status| !(400..600).contains(*status)) {
        faults.add(entry.at, format!("{wrong} is no status of an error: 400 to 599"));
        return Vec::new();
    }
    all.into_iter().map(|status| status as u16).collect()
}
