//! Step 06: in which order it is decided whether a call may run, and where this run's calls ended.

use anyhow::{Result, bail};

use super::canvas::{Canvas, MARGIN, TEXT, Tone, WIDTH, fitted};
use super::data::{Block, Data};
use super::flow::{self, Station};

pub fn draw(data: &Data) -> Result<String> {
    if data.questions.is_empty() {
        bail!("in the run nothing is asked");
    }
    let mut canvas = Canvas::new(
        "The order of decisions",
        "From top to bottom: deny rules, what was answered with always, ask rules, then what the \
         allow rules and the mode let run. To the right, the calls of this run that were decided at \
         each place.",
    );
    canvas.text(MARGIN, 32.0, "May it run?", TEXT.bold());
    let note = TEXT.small().right().tone(Tone::Pale);
    canvas.text(WIDTH - MARGIN, 32.0, "this run's calls", note);
    let end = flow::draw(&mut canvas, 50.0, &Calls::sorted(data).stations());
    Ok(canvas.svg(end + MARGIN))
}

/// The run's calls by the place that decided them, each as a line of text.
#[derive(Default)]
struct Calls {
    denied: Vec<String>,
    always: Vec<String>,
    by_rule: Vec<String>,
    unnamed: Vec<String>,
    allowed: Vec<String>,
}

impl Calls {
    fn sorted(data: &Data) -> Calls {
        let mut calls = Calls::default();
        let mut asked: Vec<(String, String)> = data.questions.clone();
        let mut always: Vec<String> = Vec::new();
        for (call, result) in data.all_calls() {
            let shown = shown(&call);
            let name = format!("run_shell {shown}");
            let question = asked.iter().position(|(what, _)| *what == name);
            if result.is_error && result.text.contains("the deny rule") {
                calls.denied.push(format!("{shown}: refused"));
            } else if let Some(at) = question {
                let (_, answer) = asked.remove(at);
                let has_rule = shown.starts_with("rm ");
                let list = if has_rule { &mut calls.by_rule } else { &mut calls.unnamed };
                list.push(format!("{shown}: {answer}"));
                if answer == "a" {
                    always.push(name);
                }
            } else if always.contains(&name) {
                calls.always.push(format!("{shown}, the second time"));
            } else {
                calls.allowed.push(fitted(&shown, flow::RIGHT - 20.0, TEXT.small()));
            }
        }
        calls
    }

    fn stations(&self) -> Vec<Station> {
        let lines = |calls: &[String]| calls.join("\n");
        let runs = self.allowed.len();
        vec![
            Station::new(Tone::Model, "the model calls a tool", "a line is taken apart into acts"),
            Station::new(Tone::Plain, "does a deny rule bind one act?", "in every mode")
                .leaves(&lines(&self.denied)),
            Station::new(
                Tone::Plain,
                "was “always” the answer?",
                "to this very call, in this session",
            )
            .leaves_as(Tone::Good, &lines(&self.always)),
            Station::new(Tone::Plain, "does an ask rule bind one act?", "then a person decides")
                .leaves_as(Tone::Ask, &lines(&self.by_rule)),
            Station::new(
                Tone::Plain,
                "is each act allowed?",
                "by a rule, by the mode, or harmless",
            )
            .leaves_as(Tone::Ask, &lines(&self.unnamed)),
            Station::new(Tone::Good, "it runs", &format!("{runs} calls of this run came here"))
                .leaves_as(Tone::Good, &lines(&self.allowed)),
        ]
    }
}

/// A call's argument that says most.
fn shown(call: &Block) -> String {
    let of_file = || Some(format!("{} {}", call.name, call.argument("path")?));
    call.argument("command").or_else(of_file).unwrap_or_default()
}
