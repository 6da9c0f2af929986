//! What a text must hold, lack or match.

use mock_server::Values;
use mock_server::scene::Text;
use regex::Regex;

/// Characters of what was found that a verdict shows.
const EXCERPT: usize = 160;

/// Whether lines may have been broken between words since the text was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layout {
    Exact,
    Wrapped,
}

/// The text with the run's values in it.
pub fn filled(text: &Text, values: &Values) -> Text {
    let fill = |texts: &[String]| texts.iter().map(|text| values.fill(text)).collect();
    Text {
        holds: fill(&text.holds),
        lacks: fill(&text.lacks),
        matches: text.matches.as_ref().map(|pattern| filled_pattern(pattern, values)),
    }
}

/// A value stands for itself in a pattern, whatever characters it has.
fn filled_pattern(pattern: &str, values: &Values) -> String {
    let name = Regex::new("<<([^<>]+)>>").expect("the pattern is a constant and well formed");
    let value = |found: &regex::Captures<'_>| match values.get(&found[1]) {
        Some(value) => regex::escape(value),
        None => found[0].to_string(),
    };
    name.replace_all(pattern, value).into_owned()
}

/// How a text is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub enum Miss {
    /// It lacks this.
    Lacks(String),
    /// It holds this, from the byte on.
    Holds(String, usize),
    /// It does not match this pattern.
    Unlike(String),
    BadPattern(String),
}

/// The first thing that is not as it should be.
pub fn miss(text: &Text, found: &str, layout: Layout) -> Option<Miss> {
    for wanted in &text.holds {
        if position(found, wanted, layout, 0).is_none() {
            return Some(Miss::Lacks(wanted.clone()));
        }
    }
    for unwanted in &text.lacks {
        if let Some((at, _)) = position(found, unwanted, layout, 0) {
            return Some(Miss::Holds(unwanted.clone(), at));
        }
    }
    let pattern = text.matches.as_ref()?;
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => return Some(Miss::BadPattern(error.to_string())),
    };
    let flat = || found.split_whitespace().collect::<Vec<_>>().join(" ");
    if regex.is_match(found) || (layout == Layout::Wrapped && regex.is_match(&flat())) {
        return None;
    }
    Some(Miss::Unlike(pattern.clone()))
}

pub fn judge(text: &Text, found: &str, what: &str, layout: Layout) -> Result<(), String> {
    let Some(miss) = miss(text, found, layout) else { return Ok(()) };
    Err(match miss {
        Miss::Lacks(wanted) => {
            format!("{what} should hold {}, and {}", excerpt(&wanted), shown(found))
        }
        Miss::Holds(unwanted, at) => {
            let line = found[..at].matches('\n').count() + 1;
            format!("{what} should not hold {}, and does, in line {line}", excerpt(&unwanted))
        }
        Miss::Unlike(pattern) => format!("{what} should match `{pattern}`, and {}", shown(found)),
        Miss::BadPattern(error) => format!("the scene's pattern: {error}"),
    })
}

/// Where a text first stands at or after an offset: its begin and end.
pub fn position(found: &str, wanted: &str, layout: Layout, from: usize) -> Option<(usize, usize)> {
    let rest = found.get(from..)?;
    if let Some(at) = rest.find(wanted) {
        return Some((from + at, from + at + wanted.len()));
    }
    if layout == Layout::Exact {
        return None;
    }
    let words: Vec<String> = wanted.split_whitespace().map(regex::escape).collect();
    let pattern = Regex::new(&words.join(r"\s+")).ok().filter(|_| words.len() > 1)?;
    pattern.find(rest).map(|range| (from + range.start(), from + range.end()))
}

pub fn says(text: &Text) -> String {
    let quoted =
        |texts: &[String]| texts.iter().map(|text| excerpt(text)).collect::<Vec<_>>().join(" and ");
    let mut parts = Vec::new();
    if !text.holds.is_empty() {
        parts.push(format!("holds {}", quoted(&text.holds)));
    }
    if !text.lacks.is_empty() {
        parts.push(format!("does not hold {}", quoted(&text.lacks)));
    }
    if let Some(pattern) = &text.matches {
        parts.push(format!("matches `{pattern}`"));
    }
    if parts.is_empty() { "is there".to_string() } else { parts.join(", ") }
}

fn shown(found: &str) -> String {
    if found.trim().is_empty() {
        return "is empty".to_string();
    }
    let excerpt = excerpt(found);
    let verb = if excerpt.starts_with("“… ") { "ends with" } else { "is" };
    format!("{verb} {excerpt}")
}

/// A text in quotes, on one line, its last words only where it is long: what counts comes last.
pub fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    if count <= EXCERPT {
        return format!("“{line}”");
    }
    let tail: String = line.chars().skip(count - EXCERPT).collect();
    // The first word of the tail may be half a one; what has no blank is cut where it must be.
    let words = tail.split_once(' ').map_or(tail.as_str(), |(_, words)| words);
    format!("“… {words}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Text {
        Text { holds: vec![text.to_string()], ..Text::default() }
    }

    #[test]
    fn a_text_broken_between_words_is_found_only_where_lines_are_wrapped() {
        let found = "It listens on\n  port 4711.";
        assert_eq!(judge(&holds("on port 4711"), found, "it", Layout::Wrapped), Ok(()));
        assert!(judge(&holds("on port 4711"), found, "it", Layout::Exact).is_err());
    }

    #[test]
    fn what_is_missing_and_what_stands_there_are_both_named() {
        let verdict = judge(&holds("4711"), "no idea\n", "the answer", Layout::Wrapped);
        assert_eq!(verdict, Err("the answer should hold “4711”, and is “no idea”".to_string()));
        let verdict = judge(&holds("4711"), " \n", "the answer", Layout::Wrapped);
        assert_eq!(verdict, Err("the answer should hold “4711”, and is empty".to_string()));
    }

    #[test]
    fn what_must_be_lacking_is_found_with_its_line() {
        let text = Text { lacks: vec!["panic".to_string()], ..Text::default() };
        assert_eq!(judge(&text, "all well", "it", Layout::Exact), Ok(()));
        let verdict = judge(&text, "one\na panic\n", "it", Layout::Exact);
        assert_eq!(verdict, Err("it should not hold “panic”, and does, in line 2".to_string()));
    }

    #[test]
    fn a_pattern_matches_with_the_values_as_they_stand() {
        let mut values = Values::default();
        values.set("file", "a.b".to_string());
        let text = Text { matches: Some(r"^<<file>>: \d+$".to_string()), ..Text::default() };
        let text = filled(&text, &values);
        assert_eq!(judge(&text, "a.b: 12", "it", Layout::Exact), Ok(()));
        assert!(judge(&text, "axb: 12", "it", Layout::Exact).is_err());
    }

    #[test]
    fn a_long_text_is_shown_by_its_end() {
        let shown = excerpt(&format!("{} the end", "word ".repeat(100)));
        assert!(shown.starts_with("“… word ") && shown.ends_with("the end”"), "{shown}");
    }
}
