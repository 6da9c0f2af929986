//! The rules of `[verify]`: each key is a rule's name, its value says what must be true.

use super::files;
use super::table::{Entry, Faults, Table};
use crate::scene::{Check, FileCheck, Moment, Rule, Text, Which};

const KINDS: &str =
    "answer, requests, file, command, screen, request, cache_read, tokens, prefix, order";

pub fn rules(mut table: Table<'_>, faults: &mut Faults) -> Vec<Rule> {
    table.take_rest().into_iter().filter_map(|entry| rule(entry, faults)).collect()
}

fn rule(entry: Entry<'_>, faults: &mut Faults) -> Option<Rule> {
    if ["script", "protocol"].contains(&entry.key) {
        faults
            .add(entry.at, format!("`{}` is always verified; name the rule otherwise", entry.key));
    }
    let mut says = None;
    let check = match entry.key {
        "requests" if entry.is_whole() => requests(entry, faults),
        "answer" if !entry.is_table() => Some(Check::Answer(text_of(entry, faults))),
        _ => {
            let mut table = entry.table(faults)?;
            says = table.text("says", faults);
            let check = kind(entry, &mut table, faults);
            table.finish("says, and what its kind of rule takes (see the documentation)", faults);
            check
        }
    };
    let at = faults.line(entry.at);
    check.map(|check| Rule { at, name: entry.key.to_string(), says, check })
}

fn kind(entry: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    for (key, read) in [
        ("file", file as fn(Entry<'_>, &mut Table<'_>, &mut Faults) -> Option<Check>),
        ("command", command),
        ("screen", |named, _, faults| Some(Check::Screen(text_of(named, faults)))),
        // Before `request`, which says of what requests it speaks.
        ("cache_read", cache_read),
        ("tokens", tokens),
        ("request", request),
        ("prefix", prefix),
        ("order", order),
        ("answer", |named, _, faults| Some(Check::Answer(text_of(named, faults)))),
        ("requests", |named, _, faults| requests(named, faults)),
    ] {
        if let Some(named) = table.take(key) {
            return read(named, table, faults);
        }
    }
    match entry.key {
        "answer" => Some(Check::Answer(some_text(table, faults))),
        "requests" => {
            let (at_least, at_most) = at_least_at_most(table, faults);
            Some(Check::Requests { at_least, at_most })
        }
        _ => {
            faults.add(entry.at, format!("`{}` names nothing to look at: {KINDS}", entry.key));
            None
        }
    }
}

/// `"text"`, `["text", …]` or `{ holds, lacks, matches }`.
fn text_of(entry: Entry<'_>, faults: &mut Faults) -> Text {
    if !entry.is_table() {
        return Text { holds: entry.wanted(faults), ..Text::default() };
    }
    let Some(mut table) = entry.table(faults) else { return Text::default() };
    let text = some_text(&mut table, faults);
    table.finish("holds, lacks, matches", faults);
    text
}

/// A text that says something.
fn some_text(table: &mut Table<'_>, faults: &mut Faults) -> Text {
    let at = table.at;
    let text = ["holds", "lacks", "matches"].iter().any(|key| table.has(key));
    if !text {
        faults.add(at, "this rule looks for nothing: give holds, lacks or matches");
    }
    self::text(table, faults)
}

fn text(table: &mut Table<'_>, faults: &mut Faults) -> Text {
    let holds = table.wanted("holds", faults);
    let lacks = table.wanted("lacks", faults);
    let matches = table.take("matches");
    let matches = matches.and_then(|entry| {
        let pattern = entry.text(faults)?;
        if pattern.is_empty() {
            faults.add(entry.at, "an empty pattern matches everything");
        }
        // A value is filled in later: a word stands for it here.
        let filled = super::references::names(&pattern)
            .fold(pattern.clone(), |filled, name| filled.replace(&format!("<<{name}>>"), "x"));
        if let Err(error) = regex::Regex::new(&filled) {
            faults.add(entry.at, format!("not a regular expression: {error}"));
        }
        Some(pattern)
    });
    Text { holds, lacks, matches }
}

fn requests(entry: Entry<'_>, faults: &mut Faults) -> Option<Check> {
    range(entry, faults).map(|(at_least, at_most)| Check::Requests { at_least, at_most })
}

/// A number, or `{ at_least, at_most }`.
fn range(entry: Entry<'_>, faults: &mut Faults) -> Option<(u64, u64)> {
    if entry.is_table() {
        let mut table = entry.table(faults)?;
        let range = at_least_at_most(&mut table, faults);
        table.finish("at_least, at_most", faults);
        return Some(range);
    }
    let number = entry.whole(faults)?;
    Some((number, number))
}

fn at_least_at_most(table: &mut Table<'_>, faults: &mut Faults) -> (u64, u64) {
    let at_least = table.whole("at_least", faults).unwrap_or(0);
    let at_most = table.whole("at_most", faults).unwrap_or(u64::MAX);
    if at_least > at_most || (at_least == 0 && at_most == u64::MAX) {
        faults.add(table.at, "this number cannot fail or cannot hold: give at_least, at_most");
    }
    (at_least, at_most)
}

fn file(named: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let path = files::path(&named, faults)?;
    let whole = ["unchanged", "absent"].map(|key| table.take(key));
    for entry in whole.iter().flatten() {
        entry.only_true(faults);
    }
    let equals = table.text("equals", faults);
    let text = text(table, faults);
    let file = match (whole, equals) {
        ([None, None], None) => FileCheck::Text(text),
        ([Some(_), None], None) if text == Text::default() => FileCheck::Unchanged,
        ([None, Some(_)], None) if text == Text::default() => FileCheck::Absent,
        ([None, None], Some(equals)) if text == Text::default() => FileCheck::Equals(equals),
        _ => {
            faults.add(
                named.at,
                "a file has one check: unchanged, absent, equals, or holds, lacks and matches",
            );
            return None;
        }
    };
    if file == FileCheck::Text(Text::default()) {
        faults.add(
            named.at,
            "say what the file must be: holds, lacks, matches, equals, absent, unchanged",
        );
    }
    Some(Check::File { path, file })
}

fn command(named: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let words: Vec<String> = if named.is_text() {
        named.text(faults)?.split_whitespace().map(str::to_string).collect()
    } else {
        named.texts(faults)
    };
    if words.is_empty() {
        faults.add(named.at, "the command has no words");
    }
    let exit = table.whole_in("exit", 0..=255, faults).and_then(|exit| u8::try_from(exit).ok());
    let exit = i32::from(exit.unwrap_or(0));
    Some(Check::Command { words, exit, output: text(table, faults) })
}

fn request(named: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let which = which(named, faults)?;
    let part = part(table, faults);
    Some(Check::Request { which, part, text: some_text(table, faults) })
}

fn part(table: &mut Table<'_>, faults: &mut Faults) -> String {
    table.text("part", faults).unwrap_or_else(|| "main".into())
}

fn cache_read(named: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let at = named.at;
    let (at_least, at_most) = range(named, faults)?;
    let (which, part) = of_which_request(at, table, faults)?;
    Some(Check::CacheRead { which, part, at_least, at_most })
}

fn tokens(named: Entry<'_>, table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let at = named.at;
    let (at_least, at_most) = range(named, faults)?;
    let (which, part) = of_which_request(at, table, faults)?;
    Some(Check::Tokens { which, part, at_least, at_most })
}

fn of_which_request(
    at: usize,
    table: &mut Table<'_>,
    faults: &mut Faults,
) -> Option<(Which, String)> {
    let Some(of) = table.take("request") else {
        faults.add(at, "say of which request: request = 2, \"last\", \"any\" or \"every\"");
        return None;
    };
    Some((which(of, faults)?, part(table, faults)))
}

fn prefix(named: Entry<'_>, _table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    Some(Check::Prefix { part: named.text(faults)? })
}

fn which(named: Entry<'_>, faults: &mut Faults) -> Option<Which> {
    let which = if named.is_whole() {
        Which::Number(named.count(1, faults)?)
    } else {
        match named.text(faults)?.as_str() {
            "last" => Which::Last,
            "any" => Which::Any,
            "every" => Which::Every,
            other => {
                let known = "a number from 1, \"last\", \"any\" or \"every\"";
                faults.add(named.at, format!("`{other}` is no request: {known}"));
                return None;
            }
        }
    };
    Some(which)
}

fn order(named: Entry<'_>, _table: &mut Table<'_>, faults: &mut Faults) -> Option<Check> {
    let mut moments = Vec::new();
    for moment in named.texts(faults) {
        let number = |text: &str| text.trim().parse().ok().filter(|n: &usize| *n > 0);
        let read = match moment.split_once(' ') {
            Some(("request", which)) => number(which).map(Moment::Request),
            Some(("reply", which)) => number(which).map(Moment::Reply),
            Some(("screen", text)) if !text.trim().is_empty() => {
                Some(Moment::Screen(text.to_string()))
            }
            _ => None,
        };
        match read {
            Some(moment) => moments.push(moment),
            None => faults.add(
                named.at,
                format!("`{moment}` is no moment: \"request N\", \"reply N\" or \"screen TEXT\""),
            ),
        }
    }
    if moments.len() < 2 {
        faults.add(named.at, "an order needs two moments or more");
    }
    Some(Check::Order(moments))
}
