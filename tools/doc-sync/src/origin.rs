//! What an author writes above a block of the book: where the block comes from.
//!
//! `<!-- doc-sync item 03 agent.rs Agent::run, Agent::new folded "the loop" -->` is read word by
//! word: the verb, perhaps a step, what the verb needs, then the modifiers. Nothing is looked up
//! here; whether the item exists is found out when its block is made.

mod words;

use anyhow::{Result, bail};

use words::Words;

/// One opening comment, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    pub verb: Verb,
    /// The step that is named, where it is another than the chapter's own.
    pub step: Option<usize>,
    /// The summary of the `<details>` that the block is put into.
    pub folded: Option<String>,
    /// Whether it is meant to stand twice in the book.
    pub again: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// Rust items. Where there is a part there is one item.
    Item {
        file: String,
        items: Vec<String>,
        part: Part,
    },
    /// A file of another kind.
    File {
        file: String,
        piece: Piece,
    },
    /// What the step changed in these items, or in the whole file if none is named.
    Diff {
        file: String,
        items: Vec<String>,
        place: Option<String>,
        part: Part,
    },
    /// Imports, `mod` lines, the manifest, and what the front matter leaves out.
    Rest,
    /// A run of the step; the switches are those behind `--`.
    Run {
        switches: Vec<String>,
        part: Part,
    },
    /// A run with the mutation that has this claim.
    Without {
        claim: String,
        part: Part,
    },
    /// A part of what a run said on the wire.
    Wire {
        half: Half,
        /// Which request, counted from 1; a reply has the number of its request.
        number: usize,
        /// Names and indices, joined by dots: `messages.2.content`. Where it leads to a text, the
        /// text is shown line by line.
        path: String,
        /// The lines of such a text that are shown.
        part: Part,
    },
    Exercise {
        name: String,
    },
    Solution {
        name: String,
    },
    Table(Table),
    Picture {
        name: String,
        alt: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Half {
    Request,
    Reply,
}

impl Half {
    /// Its name in an origin, and in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Half::Request => "request",
            Half::Reply => "reply",
        }
    }
}

/// From the line that holds the first text to the line that holds the second, both included.
/// Where one is absent the part reaches to the beginning or the end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    pub from: Option<String>,
    pub to: Option<String>,
}

impl Part {
    pub fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Part(Part),
    /// All tables of a TOML file with this name: `verify` is `[verify]`, `[[verify]]` and
    /// `[verify.files]`.
    TomlTable(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Table {
    Steps,
    Sizes,
    Matrix,
    Timetable,
    Coverage,
    Added,
}

const TABLES: [(&str, Table); 6] = [
    ("steps", Table::Steps),
    ("sizes", Table::Sizes),
    ("matrix", Table::Matrix),
    ("timetable", Table::Timetable),
    ("coverage", Table::Coverage),
    ("added", Table::Added),
];

const VERBS: &str =
    "item, file, diff, rest, run, without, wire, exercise, solution, table, picture";

impl Origin {
    /// Reads what stands between `<!-- doc-sync` and `-->`. The error says what is missing.
    pub fn read(text: &str) -> Result<Self> {
        let mut words = Words::read(text)?;
        let name = words.word("a verb")?;
        let step = words.step();
        let verb = match name.as_str() {
            "item" => read_item(&mut words)?,
            "file" => read_file(&mut words)?,
            "diff" => read_diff(&mut words)?,
            "rest" => Verb::Rest,
            "run" => Verb::Run { switches: words.until_modifier(), part: words.part()? },
            "without" => {
                Verb::Without { claim: words.quoted("the mutation's claim")?, part: words.part()? }
            }
            "wire" => read_wire(&mut words)?,
            "exercise" => Verb::Exercise { name: words.word("the exercise's folder")? },
            "solution" => Verb::Solution { name: words.word("the exercise's folder")? },
            "table" => read_table(&mut words)?,
            "picture" => Verb::Picture {
                name: words.word("the picture's name")?,
                alt: words.quoted("the alternative text")?,
            },
            _ => bail!("there is no origin `{name}`: there are {VERBS}"),
        };
        let folded = words.folded()?;
        let again = words.again();
        words.end()?;
        Ok(Self { verb, step, folded, again })
    }
}

fn read_item(words: &mut Words) -> Result<Verb> {
    let file = words.word("a file")?;
    let items = words.items();
    if let Some(name) = words.quoted_if_any() {
        bail!("an item's name stands without quotes: `{name}`");
    }
    if items.is_empty() {
        bail!("`item {file}` names no item: write its name behind the file, as in `Agent::run`");
    }
    let part = words.part()?;
    if !part.is_whole() && items.len() > 1 {
        bail!("`from` and `to` cut one item, and here are {}", items.len());
    }
    Ok(Verb::Item { file, items, part })
}

fn read_file(words: &mut Words) -> Result<Verb> {
    let file = words.word("a file")?;
    if words.take("table") {
        return Ok(Verb::File { file, piece: Piece::TomlTable(words.word("the table's name")?) });
    }
    Ok(Verb::File { file, piece: Piece::Part(words.part()?) })
}

fn read_diff(words: &mut Words) -> Result<Verb> {
    let file = words.word("a file")?;
    let items = words.items();
    let place = words.quoted_if_any();
    Ok(Verb::Diff { file, items, place, part: words.part()? })
}

fn read_wire(words: &mut Words) -> Result<Verb> {
    let half = match words.word("`request` or `reply`")?.as_str() {
        "request" => Half::Request,
        "reply" => Half::Reply,
        other => bail!("a wire has a `request` or a `reply`, and not `{other}`"),
    };
    let number = words.word("the request's number")?;
    let Ok(number @ 1..) = number.parse() else {
        bail!("requests are counted from 1, and `{number}` is none of them");
    };
    let path = words.word("a path such as `messages.0`")?;
    Ok(Verb::Wire { half, number, path, part: words.part()? })
}

fn read_table(words: &mut Words) -> Result<Verb> {
    let name = words.word("the table's name")?;
    let Some((_, table)) = TABLES.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        bail!("there is no table `{name}`: there are {}", names.join(", "));
    };
    Ok(Verb::Table(*table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Origin {
        Origin::read(text).unwrap()
    }

    fn error(text: &str) -> String {
        Origin::read(text).unwrap_err().to_string()
    }

    #[test]
    fn an_item_has_a_file_names_and_modifiers() {
        let origin =
            read(r#"item 03 agent.rs impl Display for Agent, From<A, B>::x folded "a b" again"#);
        assert_eq!(
            origin,
            Origin {
                verb: Verb::Item {
                    file: "agent.rs".into(),
                    items: vec!["impl Display for Agent".into(), "From<A, B>::x".into()],
                    part: Part::default(),
                },
                step: Some(3),
                folded: Some("a b".into()),
                again: true,
            }
        );
    }

    #[test]
    fn texts_stand_in_quotes_or_in_backticks() {
        let origin = read(r#"item agent.rs Agent::run from "say(\"a\\n\")" to `print("\n")`"#);
        let part = Part { from: Some(r#"say("a\\n")"#.into()), to: Some(r#"print("\n")"#.into()) };
        assert_eq!(
            origin.verb,
            Verb::Item { file: "agent.rs".into(), items: vec!["Agent::run".into()], part }
        );
    }

    #[test]
    fn a_diff_may_say_where_it_goes() {
        assert_eq!(
            read(r#"diff main.rs "at the top""#).verb,
            Verb::Diff {
                file: "main.rs".into(),
                items: Vec::new(),
                place: Some("at the top".into()),
                part: Part::default(),
            }
        );
    }

    #[test]
    fn a_run_has_switches_and_a_part() {
        assert_eq!(
            read(r#"run 01 --scene 02 --pace 0 from "verified""#),
            Origin {
                verb: Verb::Run {
                    switches: ["--scene", "02", "--pace", "0"].map(String::from).to_vec(),
                    part: Part { from: Some("verified".into()), to: None },
                },
                step: Some(1),
                folded: None,
                again: false,
            }
        );
    }

    #[test]
    fn a_wire_has_a_half_a_number_and_a_path() {
        let part = Part { from: Some("a".to_string()), to: None };
        let path = "messages.2.content".to_string();
        let wire = Verb::Wire { half: Half::Request, number: 2, path, part };
        assert_eq!(read(r#"wire 00 request 2 messages.2.content from "a""#).verb, wire);
        assert_eq!(
            error("wire 00 answer 1 x"),
            "a wire has a `request` or a `reply`, and not `answer`"
        );
        assert_eq!(
            error("wire 00 reply 0 x"),
            "requests are counted from 1, and `0` is none of them"
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!(
            error("itme agent.rs x"),
            "there is no origin `itme`: there are item, file, diff, rest, run, without, wire, \
             exercise, solution, table, picture"
        );
        assert_eq!(error(r#"item a.rs "b""#), "an item's name stands without quotes: `b`");
        assert_eq!(error("item"), "a file is missing at the end");
        assert_eq!(
            error("table size"),
            "there is no table `size`: there are steps, sizes, matrix, timetable, coverage, added"
        );
        assert_eq!(error("rest of it"), "`of` is not understood here");
        assert_eq!(error(r#"picture x "alt"#), "a text begins with \" and does not end");
        assert_eq!(
            error("without 03 claim"),
            "the mutation's claim is missing, in quotes, before `claim`"
        );
        assert_eq!(
            error("item a.rs b, c from `x`"),
            "`from` and `to` cut one item, and here are 2"
        );
    }
}
