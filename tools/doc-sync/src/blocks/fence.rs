//! A fenced block.

/// The lines in a fence that none of them can end.
pub fn fence(info: &str, text: &str) -> String {
    let longest = text.lines().map(backticks).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let info = info_for_mdbook(info, text);
    format!("{fence}{info}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// In a fence called `rust`, mdBook takes a line such as `# Limits` for one that a documentation
/// test hides: it drops the `#` and folds the line away. In our sources that is a line of a prompt.
/// `rs` is another name of the language, here and on code hosts, and mdBook leaves it alone.
fn info_for_mdbook(info: &str, text: &str) -> String {
    let hides = |line: &str| {
        let line = line.trim_start();
        line == "#" || line.starts_with("# ") || line.starts_with("##")
    };
    match info.strip_prefix("rust") {
        Some(rest) if text.lines().any(hides) => format!("rs{rest}"),
        _ => info.to_string(),
    }
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
    fn a_line_that_mdbook_would_hide_makes_a_fence_that_it_leaves_alone() {
        assert_eq!(fence("rust", "\"\n# Limits\n\""), "```rs\n\"\n# Limits\n\"\n```\n");
        assert_eq!(fence("rust,diff", "+a\n ##"), "```rs,diff\n+a\n ##\n```\n");
        assert_eq!(fence("rust", "#[test]\n#!x"), "```rust\n#[test]\n#!x\n```\n");
        assert_eq!(fence("sh", "# a"), "```sh\n# a\n```\n");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("rust", "a\n\n"), "```rust\na\n```\n");
        assert_eq!(fence("markdown", "````\nx\n+ ````"), "`````markdown\n````\nx\n+ ````\n`````\n");
    }
}
