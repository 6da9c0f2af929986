//! The values of one run: drawn at random from a seed, or captured from what the program sent.
//!
//! A text quotes a value as `<<name>>`. A line of a file that is `<<name * text>>` becomes as many
//! lines of that text as the value says; an argument that is `<<name as number>>` becomes a number.
//! The same seed gives the same values.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scene::{Draw, Scene};

const WORDS: &[&str] = &[
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "heron", "indigo", "juniper",
    "kelp", "lichen", "marble", "nutmeg", "opal", "pebble", "quartz", "reed", "saffron", "tundra",
];

/// Most lines that a line of a file is repeated to.
pub const MOST_LINES: usize = 10_000;

/// Names and values, in the order they were set; a later value of a name replaces the earlier.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Values {
    pairs: Vec<(String, String)>,
}

impl Values {
    /// Draws the scene's random values.
    pub fn draw(scene: &Scene, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut values = Self::default();
        for (name, draw) in &scene.random {
            let value = match draw {
                Draw::Int(from, to) => rng.i64(*from..*to).to_string(),
                Draw::Hex(digits) => (0..*digits).map(|_| rng.digit(16)).collect(),
                Draw::Word => WORDS[rng.usize(..WORDS.len())].to_string(),
                Draw::OneOf(choices) => choices[rng.usize(..choices.len())].clone(),
            };
            values.set(name, value);
        }
        values
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub fn set(&mut self, name: &str, value: String) {
        match self.pairs.iter_mut().find(|(n, _)| n == name) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((name.to_string(), value)),
        }
    }

    /// `fill` for a regular expression: a value in it means its own letters.
    pub fn fill_pattern(&self, pattern: &str) -> String {
        let mut filled = pattern.to_string();
        for (name, value) in &self.pairs {
            filled = filled.replace(&format!("<<{name}>>"), &regex::escape(value));
        }
        filled
    }

    /// Replaces every `<<name>>` that has a value. What has none stays as it stands.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = text.to_string();
        for (name, value) in &self.pairs {
            filled = filled.replace(&format!("<<{name}>>"), value);
        }
        filled
    }

    /// The number that `<<name as number>>` stands for; nothing for other texts and other values.
    pub fn number(&self, text: &str) -> Option<Value> {
        let name = text.strip_prefix("<<")?.strip_suffix(" as number>>")?;
        self.get(name)?.parse::<i64>().ok().map(Value::from)
    }

    /// `fill` for a whole file: lines of the form `<<name * text>>` are repeated, too.
    pub fn fill_file(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match self.repeated(line) {
                Some(lines) => filled.push_str(&lines),
                None => filled.push_str(line),
            }
        }
        self.fill(&filled)
    }

    fn repeated(&self, line: &str) -> Option<String> {
        let inner = line.trim_end().strip_prefix("<<")?.strip_suffix(">>")?;
        let (name, text) = inner.split_once(" * ")?;
        let times: usize = self.get(name)?.parse().ok()?;
        Some(format!("{text}\n").repeat(times.min(MOST_LINES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_be_a_number() {
        let mut values = Values::default();
        values.set("at", "731".to_string());
        values.set("name", "heron".to_string());
        assert_eq!(values.number("<<at as number>>"), Some(Value::from(731)));
        for other in ["<<at>>", "line <<at as number>>", "<<name as number>>", "<<no as number>>"] {
            assert_eq!(values.number(other), None);
        }
    }
}
