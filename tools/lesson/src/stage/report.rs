//! What every run says beside its scene's own rules: how it was called, whether the script was
//! followed to its end, and whether the program kept to the API.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use mock_server::scene::{Line, LineKind, Scene};
use mock_server::{Exchange, Fault, FaultKind};
use serde_json::json;

use super::ending::Ending;
use super::lines::Script;
use super::verify::{Evidence, tools_called};
use super::{Judged, Outcome};
use crate::screen::{Ink, Paint, fitted, plural};
use crate::{manifest, place};

/// The first lines of a screen.
pub fn head(paint: &Paint, scene: &Scene, scene_dir: &Path, seed: u64) -> String {
    let folder = scene_dir.file_name().unwrap_or_default().to_string_lossy();
    let name = match folder.split_once('-') {
        Some((number, name)) if place::is_step_number(number) => format!("step{number} · {name}"),
        _ => match manifest::story(scene_dir) {
            Some(number) => format!("{folder} · in the story of step {number}"),
            None => folder.into_owned(),
        },
    };
    let title = paint.wrapped("", "  ", &format!("{name} · {}", scene.title));
    let new = match manifest::what_is_new(scene_dir) {
        Some(new) => paint.wrapped("", "  ", &format!("new in this step: {new}")) + "\n",
        None => String::new(),
    };
    let safe = format!("no key, no network, your files are untouched · seed {seed}");
    let safe = paint.wrapped("", "", &safe);
    format!("{}\n{new}{}\n", paint.ink(Ink::Bold, &title), paint.ink(Ink::Dim, &safe))
}

/// Whether the story was played to its end, as it was written.
pub fn script(
    evidence: &Evidence<'_>,
    scene: &Scene,
    script: &Script<'_>,
    ending: &Ending,
    faults: &[Fault],
) -> Judged {
    let mut wrong = Vec::new();
    wrong.extend(bad_ending(ending, evidence));
    if evidence.transcript.broken {
        wrong.push("the program wrote bytes that are not UTF-8".to_string());
    }
    let missed = faults.iter().filter(|fault| fault.kind == FaultKind::Missed);
    let told = |fault: &Fault| place::shortened(&fault.message, &scene.path);
    wrong.extend(missed.map(|fault| format!("request {}: {}", fault.request, told(fault))));
    wrong.extend(never_reached(scene, script, evidence.exchanges));
    if let Some(answer) = script.answer_left() {
        wrong.push(format!("nothing was asked that the answer `{answer}` was for"));
    }
    Judged {
        name: "script".to_string(),
        says: "the story was played to its end, every call as the model expects".to_string(),
        verdict: verdict(wrong),
    }
}

fn bad_ending(ending: &Ending, evidence: &Evidence<'_>) -> Option<String> {
    let last_words = evidence.transcript.last_words();
    let said = last_words.map(|line| format!("; it said last: {line}")).unwrap_or_default();
    match ending {
        Ending::Exited(status) if status.success() => None,
        Ending::Killed => None,
        Ending::Exited(status) => Some(match status.code() {
            Some(code) => format!("the program ended with exit code {code}{said}"),
            None => format!("the program was ended by a signal ({status}){said}"),
        }),
        Ending::TooLong(limit) => {
            let (limit, why) = (limit.as_secs_f64(), what_did_not_come(evidence.exchanges));
            Some(format!("{why} within {limit} s, and the program was ended{said}"))
        }
        Ending::Quiet(quiet) => {
            let (quiet, why) = (quiet.as_secs_f64(), what_did_not_come(evidence.exchanges));
            Some(format!("{why}; the program was quiet for {quiet} s, and was ended{said}"))
        }
        Ending::StaysOn => Some(format!(
            "the program did not end when its input had ended: at the end of standard input it \
             should exit with 0{said}"
        )),
        Ending::Endless => Some("the program writes without end, and was ended".to_string()),
        Ending::Unanswered(question) => {
            Some(format!("the program asked, and the scene has no answer: {question}"))
        }
        Ending::Hindered(why) => {
            Some(format!("the story stopped where the scene does something from outside: {why}"))
        }
    }
}

/// What the stage waits for, or waited for when it lost patience.
pub fn what_did_not_come(exchanges: &[Exchange]) -> String {
    let Some(last) = exchanges.last() else { return "no request came".to_string() };
    let number = last.number;
    let tools = tools_called(last).join(", ");
    match last.status {
        200 if last.gone.is_none() => format!("reply {number} was not read to its end"),
        200 if tools.is_empty() => format!("after reply {number} the story did not go on"),
        200 => format!("reply {number} called {tools}; no request with the result followed"),
        status => format!("after the error status {status} to request {number} no other came"),
    }
}

/// The first line that was never reached, and how many others.
fn never_reached(scene: &Scene, script: &Script<'_>, exchanges: &[Exchange]) -> Option<String> {
    let mut lines: Vec<&Line> = script.lines_left().collect();
    for part in &scene.parts {
        let came = |at: usize| {
            let place = Some((part.name.clone(), at));
            exchanges.iter().any(|exchange| exchange.place == place)
        };
        let replies = part.lines.iter().enumerate();
        lines.extend(
            replies
                .filter(|(at, line)| matches!(line.kind, LineKind::Reply(_)) && !came(*at))
                .map(|(_, line)| line),
        );
    }
    lines.sort_by_key(|line| line.at);
    let first = lines.first()?;
    let file = place::short(&scene.path);
    let more = match lines.len() - 1 {
        0 => String::new(),
        1 => " (nor was one more)".to_string(),
        more => format!(" (nor were {more} more)"),
    };
    Some(format!("{file}:{} was never reached: {}{more}", first.at, what_it_is(first)))
}

fn what_it_is(line: &Line) -> String {
    let quoted = |text: &str| format!("“{}”", fitted(&text.replace('\n', " "), 60));
    match &line.kind {
        LineKind::User(text) | LineKind::Types { text, .. } => {
            format!("the user types {}", quoted(text))
        }
        LineKind::Answer(text) => format!("the user answers {}", quoted(text)),
        LineKind::Reply(reply) => match (&reply.speech.say, reply.speech.calls.first()) {
            (Some(say), _) => format!("the model says {}", quoted(say)),
            (None, Some(call)) => format!("the model calls {}", call.tool),
            (None, None) => "the model replies".to_string(),
        },
    }
}

/// Whether every request was one that the API takes and the script knows.
pub fn protocol(scene: &Scene, exchanges: &[Exchange], faults: &[Fault]) -> Judged {
    let broken = faults.iter().filter(|fault| fault.kind != FaultKind::Missed);
    let told = |fault: &Fault| place::shortened(&fault.message, &scene.path);
    let mut wrong: Vec<String> =
        broken.map(|fault| format!("request {}: {}", fault.request, told(fault))).collect();
    let lines = scene.parts.iter().flat_map(|part| &part.lines);
    let has_replies = lines.into_iter().any(|line| matches!(line.kind, LineKind::Reply(_)));
    // A rule that nothing was held against has not held.
    if exchanges.is_empty() && wrong.is_empty() && has_replies {
        wrong.push("no request came at all".to_string());
    }
    Judged {
        name: "protocol".to_string(),
        says: "every request kept the rules of the API".to_string(),
        verdict: verdict(wrong),
    }
}

/// The first few things that are wrong: what follows from them is not news.
fn verdict(wrong: Vec<String>) -> Result<(), String> {
    match wrong.len() {
        0 => Ok(()),
        1..=3 => Err(wrong.join("\n")),
        many => Err(format!("{}\n(and {} more)", wrong[..3].join("\n"), many - 3)),
    }
}

/// The list of what was verified.
pub fn verified(paint: &Paint, outcome: &Outcome) -> String {
    let holding = outcome.rules.iter().filter(|rule| rule.verdict.is_ok()).count();
    let title = match outcome.rules.len() {
        all if all == holding => "verified".to_string(),
        all => format!("verified: {holding} of {all}"),
    };
    let mut shown = format!("\n{}\n", paint.ink(Ink::Bold, &title));
    for rule in &outcome.rules {
        let (sign, ink) = if rule.verdict.is_ok() { ("✓", Ink::Good) } else { ("✗", Ink::Bad) };
        let says = paint.wrapped("    ", "    ", &rule.says);
        let _ = writeln!(shown, "  {} {}", paint.ink(ink, sign), says.trim_start());
        let Err(error) = &rule.verdict else { continue };
        for line in error.lines() {
            let line = paint.wrapped("      ", "      ", line);
            let _ = writeln!(shown, "{}", paint.ink(Ink::Bad, &line));
        }
    }
    if !outcome.left_out.is_empty() {
        let names = outcome.left_out.join(", ");
        let line = format!("left out, since they are about our own screen: {names}");
        let _ = writeln!(shown, "{}", paint.ink(Ink::Dim, &paint.wrapped("  ", "  ", &line)));
    }
    shown
}

/// Sees to it that a trace can be written there, before anything is played.
pub fn writable(file: &Path) -> Result<()> {
    let mut open = std::fs::OpenOptions::new();
    let opened = open.create(true).append(true).open(file);
    opened.map(|_| ()).with_context(|| format!("the trace cannot be written to {}", file.display()))
}

/// A moment of this run, in milliseconds since 1970.
fn since_epoch(moment: Instant) -> u64 {
    let at = SystemTime::now() - moment.elapsed();
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// Writes every request and reply as a JSON list, and says so.
pub fn write_trace(file: &Path, exchanges: &[Exchange]) -> String {
    let list: Vec<_> = exchanges
        .iter()
        .map(|e| {
            json!({
                "number": e.number,
                "part": e.place.as_ref().map(|(part, _)| part),
                "line": e.place.as_ref().map(|(_, line)| line),
                "attempt": e.attempt,
                "request": e.request,
                "status": e.status,
                "came": since_epoch(e.came),
                "gone": e.gone.map(since_epoch),
                "reply": e.reply,
            })
        })
        .collect();
    let text = format!("{:#}\n", json!(list));
    let (count, name) = (exchanges.len(), file.display());
    match std::fs::write(file, text) {
        Ok(()) => format!("trace: {count} {} in {name}", plural(count, "request")),
        Err(error) => format!("trace: it could not be written to {name}: {error}"),
    }
}
