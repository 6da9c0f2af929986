//! The words of an origin. A text stands in "quotes", where `\"` is a quote, or in `backticks`,
//! where everything is itself.

use std::collections::VecDeque;

use anyhow::{Result, bail};

use super::Part;

/// The words that may stand behind what a verb needs.
const MODIFIERS: [&str; 4] = ["from", "to", "folded", "again"];

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Plain(String),
    Text(String),
}

/// What is left to read.
pub struct Words(VecDeque<Word>);

impl Words {
    pub fn read(text: &str) -> Result<Self> {
        let mut words = VecDeque::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (word, after) = match first {
                '"' | '`' => quoted(rest, first)?,
                _ => {
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    (Word::Plain(rest[..end].to_string()), &rest[end..])
                }
            };
            words.push_back(word);
            rest = after.trim_start();
        }
        Ok(Self(words))
    }

    pub fn word(&mut self, what: &str) -> Result<String> {
        match self.0.pop_front() {
            Some(Word::Plain(word)) => Ok(word),
            Some(Word::Text(text)) => bail!("{what} is missing before \"{text}\""),
            None => bail!("{what} is missing at the end"),
        }
    }

    pub fn quoted(&mut self, what: &str) -> Result<String> {
        match self.0.pop_front() {
            Some(Word::Text(text)) => Ok(text),
            Some(Word::Plain(word)) => bail!("{what} is missing, in quotes, before `{word}`"),
            None => bail!("{what} is missing, in quotes, at the end"),
        }
    }

    pub fn quoted_if_any(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Word::Text(text)) => {
                let text = text.clone();
                self.0.pop_front();
                Some(text)
            }
            _ => None,
        }
    }

    /// Two digits behind the verb.
    pub fn step(&mut self) -> Option<usize> {
        let Some(Word::Plain(word)) = self.0.front() else { return None };
        if word.len() != 2 {
            return None;
        }
        let step = word.parse().ok()?;
        self.0.pop_front();
        Some(step)
    }

    /// Takes this very word, if it is the next one.
    pub fn take(&mut self, wanted: &str) -> bool {
        let is_next = matches!(self.0.front(), Some(Word::Plain(word)) if word == wanted);
        if is_next {
            self.0.pop_front();
        }
        is_next
    }

    /// Names between commas, which may hold blanks, and commas inside `<…>`.
    pub fn items(&mut self) -> Vec<String> {
        let mut text = String::new();
        while let Some(Word::Plain(word)) = self.0.front() {
            if MODIFIERS.contains(&word.as_str()) {
                break;
            }
            text.push_str(word);
            text.push(' ');
            self.0.pop_front();
        }
        let mut depth = 0;
        let names = text.split(|sign| {
            match sign {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            sign == ',' && depth == 0
        });
        names.map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
    }

    /// All words and texts up to a modifier.
    pub fn until_modifier(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(next) = self.0.front() {
            match next {
                Word::Plain(word) if MODIFIERS.contains(&word.as_str()) => break,
                Word::Plain(word) | Word::Text(word) => words.push(word.clone()),
            }
            self.0.pop_front();
        }
        words
    }

    pub fn part(&mut self) -> Result<Part> {
        let mut part = Part::default();
        if self.take("from") {
            part.from = Some(self.quoted("the text after `from`")?);
        }
        if self.take("to") {
            part.to = Some(self.quoted("the text after `to`")?);
        }
        Ok(part)
    }

    pub fn folded(&mut self) -> Result<Option<String>> {
        match self.take("folded") {
            true => Ok(Some(self.quoted("the summary after `folded`")?)),
            false => Ok(None),
        }
    }

    pub fn again(&mut self) -> bool {
        self.take("again")
    }

    pub fn end(&mut self) -> Result<()> {
        match self.0.pop_front() {
            None => Ok(()),
            Some(Word::Plain(word)) => bail!("`{word}` is not understood here"),
            Some(Word::Text(text)) => bail!("\"{text}\" is not understood here"),
        }
    }
}

/// A text in quotes, and what follows it.
fn quoted(rest: &str, quote: char) -> Result<(Word, &str)> {
    let mut text = String::new();
    let mut signs = rest.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        let escapes = sign == '\\' && quote == '"';
        match signs.peek() {
            Some((_, '"')) if escapes => {
                text.push('"');
                signs.next();
            }
            _ if sign == quote => return Ok((Word::Text(text), &rest[at + 1..])),
            _ => text.push(sign),
        }
    }
    bail!("a text begins with {quote} and does not end")
}
