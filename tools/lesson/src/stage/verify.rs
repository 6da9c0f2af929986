//! Checks a scene's rules against the disk, the screen and the requests that the model received.
//!
//! A verdict that fails says what was expected, what was found instead, and where.

mod answer;
mod cache;
mod order;
mod request;
pub mod text;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use mock_server::scene::{Check, FileCheck, Rule, Text, Which};
use mock_server::{Exchange, Values};

use super::Judged;
use super::command;
use super::offspring::Offspring;
use super::output::Transcript;
use super::regular::{LIMIT, Unfit, read_regular};
use super::rooms::Rooms;
pub use answer::tools_called;
use text::{Layout, excerpt, filled};

/// How long a command that verifies may take, where the scene has more time.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

type Verdict = Result<(), String>;

/// What a run has left behind.
pub struct Evidence<'a> {
    pub rooms: &'a Rooms,
    pub transcript: &'a Transcript,
    pub exchanges: &'a [Exchange],
    /// Files as they were at the start, for `unchanged`.
    pub originals: &'a HashMap<String, Option<Vec<u8>>>,
    pub values: &'a Values,
    pub offspring: &'a Offspring,
}

impl Evidence<'_> {
    /// Judges a rule. A command that has not ended at `until` fails it.
    pub async fn judge(&self, rule: &Rule, until: Instant) -> Judged {
        let verdict = match &rule.check {
            Check::Answer(text) => self.answer(&filled(text, self.values)),
            Check::Requests { at_least, at_most } => self.requests(*at_least, *at_most),
            Check::File { path, file } => self.file(path, file),
            Check::Command { words, exit, output } => {
                let limit = until.saturating_duration_since(Instant::now());
                self.command(words, *exit, output, limit.min(COMMAND_LIMIT)).await
            }
            Check::Screen(text) => self.screen(text),
            Check::Request { which, part, text } => {
                self.request(which, part, &filled(text, self.values))
            }
            Check::Tokens { which, part, at_least, at_most } => {
                self.tokens(which, part, *at_least, *at_most)
            }
            Check::CacheRead { which, part, at_least, at_most } => {
                self.cache_read(which, part, *at_least, *at_most)
            }
            Check::Prefix { part } => self.prefix(part),
            Check::Order(moments) => order::judge(moments, self.transcript, self.values),
        };
        let says = match &rule.says {
            Some(says) => self.values.fill(says),
            None => self.says(&rule.check),
        };
        Judged { name: rule.name.clone(), says, verdict }
    }

    fn screen(&self, text: &Text) -> Verdict {
        let found = &self.transcript.text;
        text::judge(&filled(text, self.values), found, "the screen", Layout::Wrapped)
    }

    fn requests(&self, at_least: u64, at_most: u64) -> Verdict {
        let count = self.of_part("main").count() as u64;
        if (at_least..=at_most).contains(&count) {
            return Ok(());
        }
        let wanted = wanted_requests(at_least, at_most);
        Err(format!("the model should have received {wanted}, and received {count}"))
    }

    /// What no line expected counts for the main part: nothing else tells where it belongs.
    fn of_part<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a Exchange> {
        self.exchanges.iter().filter(move |exchange| match &exchange.place {
            Some((name, _)) => name == part,
            None => part == "main",
        })
    }

    fn file(&self, path: &str, check: &FileCheck) -> Verdict {
        let path = self.values.fill(path);
        let file = self.rooms.find(&path).map_err(|error| error.to_string())?;
        match (check, read_regular(&file, LIMIT)) {
            (FileCheck::Absent, Err(Unfit::Missing)) => Ok(()),
            (FileCheck::Absent, _) => Err(format!("{path} should not be there, and is")),
            (FileCheck::Unchanged, now) => self.unchanged(&path, now),
            (_, Err(unfit)) => Err(is_no_file(&path, &unfit)),
            (FileCheck::Equals(wanted), Ok(now)) => equals(&path, &self.values.fill(wanted), &now),
            (FileCheck::Text(text), Ok(now)) => {
                let text = filled(text, self.values);
                text::judge(&text, &String::from_utf8_lossy(&now), &path, Layout::Exact)
            }
        }
    }

    fn unchanged(&self, path: &str, now: Result<Vec<u8>, Unfit>) -> Verdict {
        match (self.originals.get(path).and_then(Option::as_ref), now) {
            (Some(before), Ok(now)) if *before == now => Ok(()),
            (Some(_), Err(Unfit::Missing)) => {
                Err(format!("{path} should be as it was, and is gone"))
            }
            (Some(_), Err(unfit)) => Err(is_no_file(path, &unfit)),
            (None, Err(Unfit::Missing)) => Ok(()),
            (None, _) => Err(format!("{path} was not there at the start, and is now")),
            (Some(before), Ok(now)) => {
                let (before, now) =
                    (String::from_utf8_lossy(before), String::from_utf8_lossy(&now));
                let difference = first_difference(&before, &now);
                Err(format!("{path} should be as it was, and is not: {difference}"))
            }
        }
    }

    async fn command(
        &self,
        words: &[String],
        exit: i32,
        output: &Text,
        limit: Duration,
    ) -> Verdict {
        let words: Vec<String> = words.iter().map(|word| self.values.fill(word)).collect();
        let line = words.join(" ");
        if limit.is_zero() {
            return Err(format!("`{line}` was not run: the scene's time was over before"));
        }
        let ran = command::run(&words, self.rooms, self.offspring, limit).await?;
        if ran.exit != exit {
            let (was, said) = (ran.exit, excerpt(&ran.output));
            return Err(format!("`{line}` should exit with {exit}, and exits with {was}: {said}"));
        }
        let what = format!("the output of `{line}`");
        text::judge(&filled(output, self.values), &ran.output, &what, Layout::Exact)
    }

    /// Judges the requests that are meant; `judge` also gets the request's name.
    fn in_requests(
        &self,
        which: &Which,
        part: &str,
        judge: impl Fn(&Exchange, &str) -> Verdict,
    ) -> Verdict {
        let exchanges: Vec<&Exchange> = self.of_part(part).collect();
        let of = of_part(part);
        if exchanges.is_empty() {
            return Err(format!("the model received no request{of}"));
        }
        let count = exchanges.len();
        let judge = |n: usize| judge(exchanges[n], &format!("request {}{of}", n + 1));
        match which {
            Which::Last => judge(count - 1),
            Which::Number(n) if (1..=count).contains(n) => judge(n - 1),
            Which::Number(n) => {
                Err(format!("there is no request {n}{of}: the model received {count}"))
            }
            Which::Every => (0..count).try_for_each(judge),
            Which::Any if (0..count).any(|n| judge(n).is_ok()) => Ok(()),
            Which::Any => {
                let last = judge(count - 1).err().unwrap_or_default();
                Err(format!("none of the {count} requests{of} is as it should be; {last}"))
            }
        }
    }

    fn says(&self, check: &Check) -> String {
        let text = |text: &Text| text::says(&filled(text, self.values));
        match check {
            Check::Answer(wanted) => format!("the answer {}", text(wanted)),
            Check::Screen(wanted) => format!("the screen {}", text(wanted)),
            Check::Requests { at_least, at_most } => {
                format!("the model received {}", wanted_requests(*at_least, *at_most))
            }
            Check::File { path, file } => {
                let what = match file {
                    FileCheck::Text(wanted) => text(wanted),
                    FileCheck::Equals(_) => "holds exactly what it should".to_string(),
                    FileCheck::Absent => "is not there".to_string(),
                    FileCheck::Unchanged => "is unchanged".to_string(),
                };
                format!("{} {what}", self.values.fill(path))
            }
            Check::Command { words, exit: 0, .. } => format!("`{}` succeeds", words.join(" ")),
            Check::Command { words, exit, .. } => {
                format!("`{}` exits with {exit}", words.join(" "))
            }
            Check::Request { which, part, text: wanted } => {
                format!("{} {}", named(which, part), text(wanted))
            }
            Check::CacheRead { which, part, at_least, at_most } => {
                format!("{} {}", named(which, part), cache::says(*at_least, *at_most))
            }
            Check::Tokens { which, part, at_least, at_most } => {
                format!("{} {}", named(which, part), cache::says_tokens(*at_least, *at_most))
            }
            Check::Prefix { part } => cache::says_prefix(part),
            Check::Order(moments) => {
                let names: Vec<String> = moments.iter().map(order::name).collect();
                format!("in this order: {}", self.values.fill(&names.join(", ")))
            }
        }
    }
}

/// ` of NAME`, save for the main part.
fn of_part(part: &str) -> String {
    if part == "main" { String::new() } else { format!(" of {part}") }
}

fn named(which: &Which, part: &str) -> String {
    let part = of_part(part);
    match which {
        Which::Number(n) => format!("request {n}{part}"),
        Which::Last => format!("the last request{part}"),
        Which::Any => format!("a request{part}"),
        Which::Every => format!("every request{part}"),
    }
}

fn wanted_requests(at_least: u64, at_most: u64) -> String {
    let requests =
        |count: u64| if count == 1 { "1 request".to_string() } else { format!("{count} requests") };
    match (at_least, at_most) {
        (least, most) if least == most => requests(most),
        (0, most) => format!("at most {}", requests(most)),
        (least, u64::MAX) => format!("at least {}", requests(least)),
        (least, most) => format!("{least} to {}", requests(most)),
    }
}

fn is_no_file(path: &str, unfit: &Unfit) -> String {
    match unfit {
        Unfit::Folder => format!("{path} should be a file, and is a folder"),
        unfit => format!("{path} {unfit}"),
    }
}

fn equals(path: &str, wanted: &str, now: &[u8]) -> Verdict {
    if wanted.as_bytes() == now {
        return Ok(());
    }
    let difference = first_difference(wanted, &String::from_utf8_lossy(now));
    Err(format!("{path} is not what it should be: {difference}"))
}

/// Where two texts part, as a person would say it.
fn first_difference(wanted: &str, found: &str) -> String {
    let mut wanted_lines = wanted.lines();
    let mut found_lines = found.lines();
    let mut number = 1;
    loop {
        match (wanted_lines.next(), found_lines.next()) {
            (Some(a), Some(b)) if a == b => number += 1,
            (Some(a), Some(b)) => {
                let (a, b) = (excerpt(a), excerpt(b));
                return format!("line {number} should be {a}, and is {b}");
            }
            (Some(a), None) => return format!("line {number} is missing: {}", excerpt(a)),
            (None, Some(b)) => return format!("line {number} is one too many: {}", excerpt(b)),
            (None, None) => return "line endings or the end of the last line differ".to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
