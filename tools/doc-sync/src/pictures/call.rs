//! Step 01: what happens to a tool call between the model's word and our result.

use anyhow::{Context, Result};

use super::canvas::{Canvas, MARGIN, TEXT, Tone, WIDTH, number};
use super::data::{Block, Data};
use super::flow::{self, Station};

pub fn draw(data: &Data) -> Result<String> {
    let calls = Calls::find(data)?;
    let mut canvas = Canvas::new(
        "The life of a tool call",
        "From top to bottom: the schema that is sent with every request, the model's call, the check \
         of its arguments, the run with its limits, and the result. At three stations a call can \
         leave early, as an error that the model reads.",
    );
    canvas.text(MARGIN, 32.0, "The life of a call", TEXT.bold());
    canvas.text(
        WIDTH - MARGIN,
        32.0,
        "what calls of this run met",
        TEXT.small().right().tone(Tone::Pale),
    );
    let end = flow::draw(&mut canvas, 50.0, &calls.stations());
    Ok(canvas.svg(end + MARGIN))
}

/// The calls of the run that the picture tells of.
struct Calls {
    tools: u64,
    schemas: u64,
    unknown: (Block, Block),
    wrong: (Block, Block),
    ended: (Block, Block),
    good: (Block, Block),
}

impl Calls {
    fn find(data: &Data) -> Result<Calls> {
        let all = data.all_calls();
        let find = |what: &str, wanted: &dyn Fn(&Block, &Block) -> bool| {
            let found = all.iter().find(|(call, result)| wanted(call, result));
            found.cloned().with_context(|| format!("the run has no call {what}"))
        };
        let error = |result: &Block, words: &str| result.is_error && result.text.contains(words);
        let schemas = data.layers.iter().find(|layer| layer.name == "tools");
        Ok(Calls {
            tools: data.tools,
            schemas: schemas.map_or(0, |layer| layer.characters),
            unknown: find("of an unknown tool", &|_, result| error(result, "there is no tool"))?,
            wrong: find("with a wrong argument", &|_, result| error(result, "has no argument"))?,
            ended: find("that was stopped", &|_, result| error(result, "stopped after"))?,
            good: find("that went well", &|call, result| {
                call.name == "grep_search" && !result.is_error
            })?,
        })
    }

    fn stations(&self) -> Vec<Station> {
        let limit = self.ended.0.argument("timeout_ms").unwrap_or_default();
        let query = self.good.0.argument("pattern").unwrap_or_default();
        vec![
            Station::new(
                Tone::Pale,
                "schemas go with each request",
                &format!("{} tools, {} characters", self.tools, number(self.schemas)),
            ),
            Station::new(
                Tone::Model,
                "the model writes a call",
                &format!("such as {}  pattern={query}", self.good.0.name),
            ),
            Station::new(Tone::Plain, "is there such a tool?", "by its name in the list")
                .leaves(self.unknown.1.first_line()),
            Station::new(Tone::Plain, "do the arguments fit?", "names and types, by the schema")
                .leaves(self.wrong.1.first_line()),
            Station::new(
                Tone::Tool,
                "it runs, with limits",
                &format!("a run_shell: at most {limit} ms"),
            )
            .leaves(self.ended.1.first_line()),
            Station::new(
                Tone::Good,
                "a bounded result goes back",
                &format!("{} characters: {}", self.good.1.characters, self.good.1.first_line()),
            ),
        ]
    }
}
