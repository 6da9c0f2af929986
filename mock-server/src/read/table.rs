//! A TOML table whose keys are taken one by one, so that what is left over is unknown.
//!
//! The parser keeps no order but gives every key its place in the file: entries are sorted by it.
//! Nothing here returns early: a fault is noted with its line, and reading goes on, so that an
//! author sees all of them at once.

use std::ops::RangeInclusive;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// More than this of anything is a mistake.
pub const MANY: u64 = 1_000_000_000;
/// An hour in milliseconds: no wait of a scene is longer.
pub const HOUR: u64 = 3_600_000;

/// What is wrong with a file: line and message.
pub struct Faults {
    line_starts: Vec<usize>,
    found: Vec<(usize, String)>,
}

impl Faults {
    pub fn new(text: &str) -> Self {
        let after_breaks =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        Self { line_starts: std::iter::once(0).chain(after_breaks).collect(), found: Vec::new() }
    }

    /// The line, counted from 1, in which this byte stands.
    pub fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub fn add(&mut self, offset: usize, message: impl Into<String>) {
        self.add_at_line(self.line(offset), message);
    }

    pub fn add_at_line(&mut self, line: usize, message: impl Into<String>) {
        self.found.push((line, message.into()));
    }

    /// All faults in the file's order.
    pub fn into_sorted(mut self) -> Vec<(usize, String)> {
        self.found.sort_by_key(|(line, _)| *line);
        self.found
    }
}

/// One key with its value.
#[derive(Clone, Copy)]
pub struct Entry<'t> {
    pub key: &'t str,
    /// Where the key stands, in bytes.
    pub at: usize,
    value: &'t Spanned<DeValue<'t>>,
}

/// A table that is being read.
pub struct Table<'t> {
    /// Where its header or first key stands, in bytes.
    pub at: usize,
    entries: Vec<Entry<'t>>,
}

impl<'t> Table<'t> {
    pub fn new(at: usize, table: &'t DeTable<'t>) -> Self {
        let mut entries: Vec<Entry<'t>> = table
            .iter()
            .map(|(key, value)| Entry { key: key.get_ref(), at: key.span().start, value })
            .collect();
        entries.sort_by_key(|entry| entry.at);
        Self { at, entries }
    }

    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    pub fn take(&mut self, key: &str) -> Option<Entry<'t>> {
        let found = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(found))
    }

    /// Takes everything that is left, in the file's order.
    pub fn take_rest(&mut self) -> Vec<Entry<'t>> {
        std::mem::take(&mut self.entries)
    }

    /// What was not taken is unknown.
    pub fn finish(self, known: &str, faults: &mut Faults) {
        for entry in self.entries {
            faults.add(entry.at, format!("unknown key `{}`; here may stand: {known}", entry.key));
        }
    }

    pub fn text(&mut self, key: &str, faults: &mut Faults) -> Option<String> {
        self.take(key)?.text(faults)
    }

    /// A string or a list of strings; empty where the key is not there.
    pub fn texts(&mut self, key: &str, faults: &mut Faults) -> Vec<String> {
        self.take(key).map(|entry| entry.texts(faults)).unwrap_or_default()
    }

    pub fn whole(&mut self, key: &str, faults: &mut Faults) -> Option<u64> {
        self.take(key)?.whole(faults)
    }

    /// A whole number in this range, both ends included.
    pub fn whole_in(
        &mut self,
        key: &str,
        range: RangeInclusive<u64>,
        faults: &mut Faults,
    ) -> Option<u64> {
        self.take(key)?.whole_in(range, faults)
    }

    /// Texts to look for; see `Entry::wanted`.
    pub fn wanted(&mut self, key: &str, faults: &mut Faults) -> Vec<String> {
        self.take(key).map(|entry| entry.wanted(faults)).unwrap_or_default()
    }

    /// A table with nothing in it says nothing.
    pub fn is_not_empty(&self, faults: &mut Faults, what: &str) {
        if self.entries.is_empty() {
            faults.add(self.at, format!("this says nothing; here may stand: {what}"));
        }
    }

    pub fn flag(&mut self, key: &str, faults: &mut Faults) -> Option<bool> {
        self.take(key)?.flag(faults)
    }

    pub fn table(&mut self, key: &str, faults: &mut Faults) -> Option<Table<'t>> {
        self.take(key)?.table(faults)
    }
}

impl<'t> Entry<'t> {
    pub fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub fn is_whole(&self) -> bool {
        self.value.get_ref().is_integer()
    }

    fn wrong(&self, wanted: &str, faults: &mut Faults) {
        let is = self.value.get_ref().type_str();
        faults.add(self.at, format!("`{}` must be {wanted}, but is of type {is}", self.key));
    }

    pub fn text(&self, faults: &mut Faults) -> Option<String> {
        let text = self.value.get_ref().as_str().map(str::to_string);
        if text.is_none() {
            self.wrong("a text", faults);
        }
        text
    }

    pub fn texts(&self, faults: &mut Faults) -> Vec<String> {
        if let Some(text) = self.value.get_ref().as_str() {
            return vec![text.to_string()];
        }
        let texts = self.value.get_ref().as_array().and_then(|items| {
            items.iter().map(|item| item.get_ref().as_str().map(str::to_string)).collect()
        });
        texts.unwrap_or_else(|| {
            self.wrong("a text or a list of texts", faults);
            Vec::new()
        })
    }

    /// A text or a list of texts to look for. An empty one would be found everywhere.
    pub fn wanted(&self, faults: &mut Faults) -> Vec<String> {
        let texts = self.texts(faults);
        let is_text = self.is_text() || self.is_array();
        if is_text && (texts.is_empty() || texts.iter().any(String::is_empty)) {
            faults.add(self.at, format!("`{}` holds an empty text, or none at all", self.key));
        }
        texts
    }

    pub fn whole_in(&self, range: RangeInclusive<u64>, faults: &mut Faults) -> Option<u64> {
        let number = self.whole(faults)?;
        self.is_in(number, &range, faults).then_some(number)
    }

    fn is_in(&self, number: u64, range: &RangeInclusive<u64>, faults: &mut Faults) -> bool {
        let (least, most) = (range.start(), range.end());
        let is_in = range.contains(&number);
        if !is_in {
            let what = format!("`{}` must be from {least} to {most}, but is {number}", self.key);
            faults.add(self.at, what);
        }
        is_in
    }

    /// A number of things, or of bytes: from `least` to 1,000,000,000.
    pub fn count(&self, least: u64, faults: &mut Faults) -> Option<usize> {
        self.whole_in(least..=MANY, faults).and_then(|number| usize::try_from(number).ok())
    }

    pub fn whole(&self, faults: &mut Faults) -> Option<u64> {
        let number = whole(self.value.get_ref());
        if number.is_none() {
            self.wrong("a whole number that is not negative (and below 2^64)", faults);
        }
        number
    }

    /// A whole number in this range, or a list of them.
    pub fn wholes_in(&self, range: RangeInclusive<u64>, faults: &mut Faults) -> Vec<u64> {
        if let Some(one) = whole(self.value.get_ref()) {
            return if self.is_in(one, &range, faults) { vec![one] } else { Vec::new() };
        }
        let all = self
            .value
            .get_ref()
            .as_array()
            .and_then(|items| items.iter().map(|item| whole(item.get_ref())).collect());
        let all: Vec<u64> = all.unwrap_or_else(|| {
            self.wrong("a whole number or a list of them", faults);
            Vec::new()
        });
        all.into_iter().filter(|number| self.is_in(*number, &range, faults)).collect()
    }

    pub fn flag(&self, faults: &mut Faults) -> Option<bool> {
        let flag = self.value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong("true or false", faults);
        }
        flag
    }

    /// A flag that only makes sense as `true`.
    pub fn only_true(&self, faults: &mut Faults) {
        if self.flag(faults) == Some(false) {
            faults.add(self.at, format!("`{} = false` says nothing; leave it out", self.key));
        }
    }

    pub fn table(&self, faults: &mut Faults) -> Option<Table<'t>> {
        match self.value.get_ref().as_table() {
            Some(table) => Some(Table::new(self.at, table)),
            None => {
                self.wrong("a table", faults);
                None
            }
        }
    }

    /// The tables of `[[key]]`, each with the place of its own header.
    pub fn tables(&self, faults: &mut Faults) -> Vec<Table<'t>> {
        let tables: Option<Vec<_>> = self.value.get_ref().as_array().and_then(|items| {
            items
                .iter()
                .map(|item| Some(Table::new(item.span().start, item.get_ref().as_table()?)))
                .collect()
        });
        tables.unwrap_or_else(|| {
            self.wrong(&format!("written as [[{}]]", self.key), faults);
            Vec::new()
        })
    }

    pub fn json(&self, faults: &mut Faults) -> Value {
        json(self.value.get_ref()).unwrap_or_else(|wrong| {
            faults.add(self.at, format!("`{}`: {wrong} has no form in JSON", self.key));
            Value::Null
        })
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

/// The same value in JSON, tables in the file's order; an error names what JSON does not have.
fn json(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            let parsed = i64::from_str_radix(&digits, number.radix());
            Value::Number(parsed.map_err(|_| format!("the number {digits}"))?.into())
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().replace('_', "").parse().ok();
            let number = parsed.and_then(Number::from_f64).ok_or("this number")?;
            Value::Number(number)
        }
        DeValue::Datetime(_) => return Err("a date".into()),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(key, _)| key.span().start);
            let mut map = Map::new();
            for (key, value) in entries {
                map.insert(key.get_ref().to_string(), json(value.get_ref())?);
            }
            Value::Object(map)
        }
    })
}
