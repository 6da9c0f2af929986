//! The comment at the very top of a page: what doc-sync knows of it beside its text.
//!
//! ```text
//! <!--
//! step: 03
//! minutes: 35
//! left-out: model.rs Prices: a table of numbers
//! -->
//! ```

/// A page without such a comment has an empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Front {
    /// How many lines it fills, the closing one aside; 0 where there is none.
    pub lines: usize,
    pub step: Option<usize>,
    /// How long a reader takes, with the exercises.
    pub minutes: Option<usize>,
    pub left_out: Vec<LeftOut>,
}

/// An item of the step that the chapter shows only among the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The line it stands in, from 1.
    pub line: usize,
    pub file: String,
    pub item: String,
    pub reason: String,
}

impl Front {
    /// Reads the top of a page, and says what cannot be read at which line.
    pub fn read(text: &str) -> (Self, Vec<(usize, String)>) {
        let (mut front, mut faults) = (Self::default(), Vec::new());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(rest) = text.strip_prefix("<!--") else { return (front, faults) };
        let Some((comment, _)) = rest.split_once("-->") else {
            front.lines = 1;
            return (front, vec![(1, "the comment at the top has no end: write `-->`".into())]);
        };
        if comment.trim_start().starts_with("doc-sync") {
            return (front, faults);
        }
        front.lines = comment.lines().count();
        for (index, line) in comment.lines().enumerate() {
            if let Err(fault) = front.take(index + 1, line.trim()) {
                faults.push((index + 1, fault));
            }
        }
        (front, faults)
    }

    fn take(&mut self, line: usize, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let Some((key, value)) = text.split_once(':') else {
            return Err(format!("`{text}` in the front matter is no `key: value`"));
        };
        let value = value.trim();
        let number = || {
            let fault = format!("`{key}` in the front matter wants a number, not `{value}`");
            value.parse().map_err(|_| fault)
        };
        match key.trim() {
            "step" => self.step = Some(number()?),
            "minutes" => self.minutes = Some(number()?),
            "left-out" => self.left_out.push(left_out(line, value)?),
            other => {
                return Err(format!(
                    "the front matter has no `{other}`: there are step, minutes, left-out"
                ));
            }
        }
        Ok(())
    }
}

/// Reads `FILE ITEM: reason`. An item's name may hold `::`, so the reason begins behind `: `.
fn left_out(line: usize, value: &str) -> Result<LeftOut, String> {
    let parts = value.split_once(": ").and_then(|(place, reason)| {
        let (file, item) = place.split_once(' ')?;
        Some((file.trim(), item.trim(), reason.trim()))
    });
    match parts {
        Some((file, item, reason)) if !item.is_empty() && !reason.is_empty() => Ok(LeftOut {
            line,
            file: file.to_string(),
            item: item.to_string(),
            reason: reason.to_string(),
        }),
        _ => Err(format!("`left-out: {value}` is not of the form `left-out: FILE ITEM: reason`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_at_the_top_is_read() {
        let text = "<!--\r\nstep: 03\r\nminutes: 35\r\nleft-out: m.rs Model::ask: a table: long\r\n-->\r\n# A\r\n";
        let left_out = LeftOut {
            line: 4,
            file: "m.rs".into(),
            item: "Model::ask".into(),
            reason: "a table: long".into(),
        };
        let front = Front { lines: 4, step: Some(3), minutes: Some(35), left_out: vec![left_out] };
        assert_eq!(Front::read(text), (front, Vec::new()));
    }

    #[test]
    fn a_page_without_the_comment_has_none() {
        assert_eq!(Front::read("# A\n"), (Front::default(), Vec::new()));
        assert_eq!(Front::read("<!-- doc-sync rest -->\n"), (Front::default(), Vec::new()));
    }

    #[test]
    fn a_comment_without_an_end_is_one_fault() {
        let (_, faults) = Front::read("<!--\nstep: 03\n# A\nProse.\n");
        assert_eq!(faults, [(1, "the comment at the top has no end: write `-->`".to_string())]);
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_line() {
        let (_, faults) = Front::read("<!--\nstep: three\nhours: 1\nleft-out: x\nword\n-->");
        let faults: Vec<String> =
            faults.into_iter().map(|(line, fault)| format!("{line}: {fault}")).collect();
        assert_eq!(
            faults,
            [
                "2: `step` in the front matter wants a number, not `three`",
                "3: the front matter has no `hours`: there are step, minutes, left-out",
                "4: `left-out: x` is not of the form `left-out: FILE ITEM: reason`",
                "5: `word` in the front matter is no `key: value`",
            ]
        );
    }
}
