//! The rule `command`: what a reader is told to type can be typed.
//!
//! Looked at are `code in the text` that begins with `cargo`, `lesson` or `doc-sync`, and the
//! lines of `sh` blocks that do. A word in capitals (`NN`, `FOLDER`) stands for something else.

use anyhow::Result;

use super::{Checked, fences};
use crate::book::Book;
use crate::catalog::{self, Catalog, Program};
use crate::fault::Fault;
use crate::near;

const CARGO: [&str; 14] = [
    "run", "test", "build", "check", "clippy", "fmt", "doc", "bench", "new", "init", "add",
    "install", "clean", "update",
];

pub fn faults(pages: &[Checked], book: &Book) -> Result<Vec<Fault>> {
    let catalog = catalog::read(&book.root)?;
    let mut faults = Vec::new();
    for page in pages {
        for (at, line) in lines(page) {
            let wrong = Command { book, catalog: &catalog }.wrong(&line);
            faults.extend(wrong.map(|text| page.fault_at(at, "command", text)));
        }
    }
    Ok(faults)
}

/// What may be a command, with its place.
fn lines(page: &Checked) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> =
        page.outline.code_spans.iter().map(|(range, text)| (range.start, text.clone())).collect();
    for block in &page.outline.code_blocks {
        let language = block.info.as_deref().and_then(|info| fences::words(info).next());
        if language != Some("sh") {
            continue;
        }
        let source = &page.page.text[block.range.clone()];
        let mut at = block.range.start;
        for line in source.split_inclusive('\n') {
            lines.push((at, line.to_string()));
            at += line.len();
        }
    }
    lines.retain(|(at, _)| !page.is_generated(*at));
    lines
}

struct Command<'a> {
    book: &'a Book,
    catalog: &'a Catalog,
}

impl Command<'_> {
    /// What is wrong with a line, if it is one of our commands.
    fn wrong(&self, line: &str) -> Option<String> {
        let line = line.split(" #").next().unwrap_or(line).trim();
        let words: Vec<&str> = line.trim_start_matches("$ ").split_whitespace().collect();
        let is_setting = |word: &&&str| word.contains('=') && !word.starts_with('-');
        let words = &words[words.iter().take_while(is_setting).count()..];
        match words {
            ["cargo", command, rest @ ..] => self.cargo(command, rest),
            [name @ ("lesson" | "doc-sync"), first, ..] if is_name(first) => {
                self.arguments(name, self.catalog.get(*name)?, &words[1..])
            }
            _ => None,
        }
    }

    fn cargo(&self, command: &str, rest: &[&str]) -> Option<String> {
        if !is_name(command) {
            return None;
        }
        if !CARGO.contains(&command) {
            return Some(format!("cargo has no `{command}`{}", near::hint(command, &CARGO)));
        }
        let at = rest.iter().position(|word| *word == "-p" || *word == "--package")?;
        let name = rest.get(at + 1).filter(|name| !is_placeholder(name))?;
        let Some(program) = self.catalog.get(*name) else {
            let known: Vec<&str> = self.catalog.keys().map(String::as_str).collect();
            return Some(format!("there is no package `{name}`{}", near::hint(name, &known)));
        };
        let behind = rest.iter().position(|word| *word == "--")? + 1;
        if command == "run" { self.arguments(name, program, &rest[behind..]) } else { None }
    }

    fn arguments(&self, name: &str, program: &Program, words: &[&str]) -> Option<String> {
        let words: Vec<&str> = words.iter().copied().take_while(|word| *word != "--").collect();
        let subcommands: Vec<&str> = program.subcommands.iter().map(String::as_str).collect();
        let first = words.first().filter(|first| is_name(first) && subcommands.len() > 1);
        if let Some(first) = first.filter(|first| !subcommands.contains(first)) {
            return Some(format!("{name} has no `{first}`{}", near::hint(first, &subcommands)));
        }
        let switches: Vec<&str> = program.switches.iter().map(String::as_str).collect();
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with("--")) {
            let switch = word.split('=').next().unwrap_or(word);
            if !switches.contains(&switch) {
                return Some(format!("{name} has no `{switch}`{}", near::hint(switch, &switches)));
            }
            let value = words.get(at + 1).filter(|_| ["--scene", "--from"].contains(&switch));
            if let Some(wrong) = value.and_then(|value| self.step_or_path(value)) {
                return Some(wrong);
            }
        }
        let steps = words.iter().skip(1).filter(|word| !program.is_step && is_step(word));
        steps.filter_map(|word| self.step_or_path(word)).next()
    }

    /// What is wrong with a step's number or a scene's folder.
    fn step_or_path(&self, value: &str) -> Option<String> {
        if is_placeholder(value) {
            return None;
        }
        if is_step(value) {
            return self.book.step(value.parse().ok()?).err().map(|error| error.to_string());
        }
        (!self.book.root.join(value).exists()).then(|| format!("there is no scene at `{value}`"))
    }
}

fn is_step(word: &str) -> bool {
    word.len() == 2 && word.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_placeholder(word: &str) -> bool {
    word.contains(|sign: char| sign.is_uppercase() || sign == '…' || sign == '<')
}

/// A word that can only be meant as the name of a command.
fn is_name(word: &str) -> bool {
    word.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-')
        && !word.starts_with('-')
}
