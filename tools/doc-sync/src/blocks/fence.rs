//! A fenced block.

/// The lines in a fence that none of them can end.
pub fn fence(info: &str, text: &str) -> String {
    let longest = text.lines().map(backticks).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{info}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The backticks at a line's beginning.
fn backticks(line: &str) -> usize {
    let line = line.trim_start_matches(['+', '-', ' ']);
    line.len() - line.trim_start_matches('`').len()
}

/// What a fence calls a file's language.
pub fn language(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "rs" => "rust",
        "toml" => "toml",
        "json" | "jsonl" => "json",
        "md" => "markdown",
        "sh" => "sh",
        _ => "text",
    }
}

/// What begins a comment in a file, and what ends it.
pub fn comment(file: &str) -> (&'static str, &'static str) {
    match language(file) {
        "rust" | "json" => ("// ", ""),
        "markdown" => ("<!-- ", " -->"),
        _ => ("# ", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("rust", "a\n\n"), "```rust\na\n```\n");
        assert_eq!(fence("markdown", "````\nx\n+ ````"), "`````markdown\n````\nx\n+ ````\n`````\n");
    }
}
