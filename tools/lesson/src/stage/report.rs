//! What every run says beside its scene's own rules: how it was called, whether the script was
//! followed to its end, and whether the program kept to the API.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use mock_server::scene::{Line, LineKind, Scene};
use mock_server::{Exchange, Fault, FaultKind};
use serde_json::json;

use super::ending::Ending;
use super::lines::Script;
use super::verify::Evidence;
use super::{Judged, Outcome};
use crate::screen::{Ink, Paint, fitted};

/// The first two lines of a screen.
pub fn head(paint: &Paint, scene: &Scene, scene_dir: &Path, seed: u64) -> String {
    let folder = scene_dir.file_name().unwrap_or_default().to_string_lossy();
    let name = match folder.split_once('-') {
        Some((number, name)) => format!("step{number} · {name}"),
        None => folder.into_owned(),
    };
    let title = paint.wrapped("", "  ", &format!("{name} · {}", scene.title));
    let safe = format!("no key, no network, your files are untouched · seed {seed}");
    let safe = paint.wrapped("", "", &safe);
    format!("{}\n{}\n", paint.ink(Ink::Bold, &title), paint.ink(Ink::Dim, &safe))
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
    wrong.extend(bad_ending(ending, evidence.transcript.last_words()));
    if evidence.transcript.broken {
        wrong.push("the program wrote bytes that are not UTF-8".to_string());
    }
    let missed = faults.iter().filter(|fault| fault.kind == FaultKind::Missed);
    // Faults name the scene by its whole path, which says nothing more here.
    let (path, name) = (scene.path.display().to_string(), file_name(scene));
    let told = |fault: &Fault| fault.message.replace(&path, &name);
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

fn bad_ending(ending: &Ending, last_words: Option<&str>) -> Option<String> {
    let said = last_words.map(|line| format!("; it said last: {line}")).unwrap_or_default();
    match ending {
        Ending::Exited(status) if status.success() => None,
        Ending::Killed => None,
        Ending::Exited(status) => Some(match status.code() {
            Some(code) => format!("the program ended with exit code {code}{said}"),
            None => format!("the program was ended by a signal ({status}){said}"),
        }),
        Ending::TooLong(limit) => {
            let limit = limit.as_secs_f64();
            Some(format!("the story was not over after {limit} s, and the program was ended{said}"))
        }
        Ending::StaysOn => Some(format!(
            "the program did not end when its input had ended: at the end of standard input it \
             should exit with 0{said}"
        )),
        Ending::Endless => Some("the program writes without end, and was ended".to_string()),
        Ending::Unanswered(question) => {
            Some(format!("the program asked, and the scene has no answer: {question}"))
        }
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
    let file = file_name(scene);
    let more = match lines.len() - 1 {
        0 => String::new(),
        1 => " (nor was one more)".to_string(),
        more => format!(" (nor were {more} more)"),
    };
    Some(format!("line {} of {file} was never reached: {}{more}", first.at, what_it_is(first)))
}

fn file_name(scene: &Scene) -> String {
    scene.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
pub fn protocol(faults: &[Fault]) -> Judged {
    let broken = faults.iter().filter(|fault| fault.kind != FaultKind::Missed);
    let wrong = broken.map(|fault| format!("request {}: {}", fault.request, fault.message));
    Judged {
        name: "protocol".to_string(),
        says: "every request kept the rules of the API".to_string(),
        verdict: verdict(wrong.collect()),
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

/// Every request and reply, as a JSON list.
pub fn write_trace(file: &Path, exchanges: &[Exchange]) -> Result<()> {
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
                "reply": e.reply,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&list).context("writing the trace as JSON")?;
    std::fs::write(file, text + "\n")
        .with_context(|| format!("writing the trace to {}", file.display()))
}
