//! What differs from run to run or from machine to machine, and what the book shows instead.
//!
//! A replacement is as long as what it replaces where that has a fixed length, so that lines which
//! the screen has cut or wrapped still fit.

use std::sync::OnceLock;

use regex::Regex;

/// A change here changes what stored runs look like: `FORM` must then be another.
const CHANGING: [(&str, &str); 10] = [
    // The folder of a run, also as a part of other names.
    (r"(?:/private)?/tmp/lantern-[A-Za-z0-9]{6}", "/tmp/lantern-xxxxxx"),
    (r"\blantern-[A-Za-z0-9]{6}\b([-/\\])", "lantern-xxxxxx$1"),
    // A session's name: date, time, microseconds, process.
    (r"\b\d{4}-\d\d-\d\d-\d{6}-\d{6}-\d+\b", "2026-01-01-120000-000000-12345"),
    // What cargo and its test programs measure.
    (r"\bin \d+\.\d+s\b", "in 0.00s"),
    (r"-[0-9a-f]{16}\b", "-0123456789abcdef"),
    // Since Rust 1.91 a panic names the thread's number.
    (r"thread '([^']+)' \(\d+\)", "thread '$1'"),
    (r"\brustc \d+\.\d+\.\d+(?:-\w+)?(?: \([^)]*\))?", "rustc 1.88.0"),
    // The first wait of a retry: half a second, less what the dice take off.
    (r"\bagain in 0\.[45] s\b", "again in 0.5 s"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:8080"),
    (r"\b(pid|process) \d+\b", "$1 12345"),
];

/// Goes into the hash of every run.
pub const FORM: u32 = 1;

/// A run's output as it is everywhere: with line feeds, without blanks at the ends of lines.
/// `temporary` is the folder that the run's own folder was made in.
pub fn everywhere(output: &str, temporary: &str) -> String {
    static PATTERNS: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        let compiled = |(pattern, instead)| {
            (Regex::new(pattern).expect("the patterns are ours, and tested"), instead)
        };
        CHANGING.map(compiled).to_vec()
    });
    let temporary = temporary.trim_end_matches(['/', '\\']);
    let mut text = output.replace("\r\n", "\n");
    if !temporary.is_empty() && temporary != "/tmp" {
        let lantern = |end| format!("{end}lantern-");
        text = text.replace(&lantern(format!("{temporary}/")), "/tmp/lantern-");
        text = text.replace(&lantern(format!("{temporary}\\")), "/tmp/lantern-");
    }
    for (pattern, instead) in patterns {
        text = pattern.replace_all(&text, *instead).into_owned();
    }
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_replaced() {
        let cases = [
            ("in /tmp/lantern-WenlxV/workspace", "in /tmp/lantern-xxxxxx/workspace"),
            ("in /private/tmp/lantern-WenlxV/home", "in /tmp/lantern-xxxxxx/home"),
            ("projects/-tmp-lantern-Bs5KVz-workspace/", "projects/-tmp-lantern-xxxxxx-workspace/"),
            (
                "session 2026-11-30-223932-084640-31308 goes on",
                "session 2026-01-01-120000-000000-12345 goes on",
            ),
            ("0 filtered out; finished in 1.37s", "0 filtered out; finished in 0.00s"),
            ("Finished `dev` profile in 0.31s", "Finished `dev` profile in 0.00s"),
            ("deps/lantern-4c9bc9c7f3b3f6e2", "deps/lantern-0123456789abcdef"),
            ("thread 'tests::a' (4242) panicked", "thread 'tests::a' panicked"),
            ("rustc 1.92.0 (abcdef 2026-01-01)", "rustc 1.88.0"),
            ("http://127.0.0.1:40123/v1", "http://127.0.0.1:8080/v1"),
            ("process 77 was ended", "process 12345 was ended"),
            (
                "no connection to the model; again in 0.4 s",
                "no connection to the model; again in 0.5 s",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(everywhere(before, "/tmp"), format!("{after}\n"));
        }
    }

    #[test]
    fn what_the_story_says_stays() {
        for line in [
            "[01:30:02] fetching: already up to date at 7d1f3a0",
            "2026-04-01 lit 17:30 out 06:30 dark 12 min: wind",
            "the model answered 529: Overloaded; again in 0.1 s",
            "results/f78468b21a8db24c.txt:591",
            "crate lantern-core, lantern v0.1.0",
        ] {
            assert_eq!(everywhere(line, "/tmp"), format!("{line}\n"));
        }
    }

    #[test]
    fn line_ends_and_the_temporary_folder_are_the_same_on_every_system() {
        let windows = "kept: C:\\Temp\\lantern-AbC123\\workspace\r\ndone  \r\n\r\n";
        let said = everywhere(windows, "C:\\Temp\\");
        assert_eq!(said, "kept: /tmp/lantern-xxxxxx\\workspace\ndone\n");
    }
}
