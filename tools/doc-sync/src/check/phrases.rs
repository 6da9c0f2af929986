//! The rule `phrase`: words that announce, praise or fill, and say nothing.

use super::Checked;
use crate::fault::Fault;

/// In small letters, with straight apostrophes.
const PHRASES: [&str; 36] = [
    "in this chapter we",
    "in this section we",
    "in this chapter you",
    "let's dive",
    "let's dive in",
    "let's dive into",
    "dive in",
    "dive into",
    "deep dive",
    "delve",
    "it is important to note",
    "it's important to note",
    "it is worth noting",
    "it's worth noting",
    "needless to say",
    "as we have seen",
    "as you can see",
    "as mentioned",
    "to sum up",
    "in summary",
    "in conclusion",
    "without further ado",
    "not only",
    "powerful",
    "robust",
    "seamless",
    "seamlessly",
    "elegant",
    "leverage",
    "game changer",
    "obviously",
    "easily",
    "basically",
    "simply",
    "just",
    "cutting-edge",
];

pub fn faults(page: &Checked) -> Vec<Fault> {
    let words = words(&prose(page));
    let mut faults = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = PHRASES.iter().filter(|phrase| begins(&words[at..], phrase));
        let Some(phrase) = found.max_by_key(|phrase| phrase.len()) else {
            at += 1;
            continue;
        };
        let text = format!("`{phrase}` is a stock phrase: cut it, or say the thing itself");
        faults.push(page.fault_at(words[at].0, "phrase", text));
        at += phrase.split(' ').count();
    }
    faults
}

/// The page with blanks for all that is no prose: code, comments, generated blocks.
fn prose(page: &Checked) -> Vec<u8> {
    let mut text = page.page.text.clone().into_bytes();
    let outline = &page.outline;
    let ranges = outline
        .html
        .iter()
        .chain(outline.code_spans.iter().map(|(range, _)| range))
        .chain(outline.code_blocks.iter().map(|block| &block.range))
        .chain(page.page.regions.iter().map(|region| &region.body));
    for range in ranges {
        text[range.clone()].fill(b' ');
    }
    text
}

/// The words with their places. A letter that is no ASCII belongs to a word, too.
fn words(text: &[u8]) -> Vec<(usize, String)> {
    let text = String::from_utf8_lossy(text).replace('’', "'\0\0").to_ascii_lowercase();
    let mut words = Vec::new();
    let mut start = None;
    for (at, sign) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_of_word = sign.is_alphanumeric() || "'-\0".contains(sign);
        match start {
            None if is_of_word => start = Some(at),
            Some(first) if !is_of_word => {
                words.push((first, text[first..at].replace('\0', "")));
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn begins(words: &[(usize, String)], phrase: &str) -> bool {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    words.len() >= wanted.len()
        && wanted.iter().zip(words).all(|(wanted, (_, word))| wanted == word)
}
