//! A faulty book for each rule, and what is said of it word by word.

mod shelf;

use shelf::Shelf;

/// The faults of a good book after a change to it.
fn faults(change: impl FnOnce(&Shelf)) -> Vec<String> {
    let shelf = Shelf::new();
    change(&shelf);
    shelf.faults()
}

/// The faults of a good book with this text at the end of its first chapter.
fn faults_of(text: &str) -> Vec<String> {
    faults(|shelf| shelf.append("00-lamp.md", text))
}

#[test]
fn a_good_book_has_no_fault_and_shows_every_line() {
    assert_eq!(
        Shelf::new().check().to_string(),
        "nothing is wrong\n\
         lines shown of those added: 00 100% · 01 100% · all 100% (28 of 28)\n"
    );
}

#[test]
fn every_rule_is_explained() {
    let rules: Vec<String> = doc_sync::check::explain()
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_string())
        .collect();
    assert_eq!(
        rules,
        [
            "comment", "block", "drift", "run", "twice", "fence", "front", "chapter", "coverage",
            "link", "command", "phrase"
        ]
    );
}

#[test]
fn a_comment_that_cannot_be_read_is_a_fault() {
    let found = faults_of(
        "\n<!-- doc-sync end -->\n\nText <!-- doc-sync rest -->\n\n- <!-- doc-sync rest -->\n\n\
         <!-- doc-sync itme lamp.rs Lamp -->\n\n<!-- doc-sync item lamp.rs head -->\n\n```rust\n```\n",
    );
    assert_eq!(
        found,
        [
            "[comment] book/src/00-lamp.md:82: `doc-sync end` ends nothing; delete it, or write the opening comment above it",
            "[comment] book/src/00-lamp.md:84: a doc-sync comment stands on one line of its own, at the margin",
            "[comment] book/src/00-lamp.md:86: a doc-sync comment stands on one line of its own, at the margin",
            "[comment] book/src/00-lamp.md:88: there is no origin `itme`: there are item, file, diff, rest, run, without, wire, exercise, solution, table, picture",
            "[comment] book/src/00-lamp.md:90: the end of this block is missing: write `<!-- doc-sync end -->` on a line of its own behind it, or delete the old block",
            "[twice] book/src/00-lamp.md:90: this block stands at book/src/00-lamp.md:9 too; if both are meant, end this one's origin with `again`",
            "[fence] book/src/00-lamp.md:92: this block has no origin; write one above it (`<!-- doc-sync item … -->`) in its place, or `,illustration` behind its language",
        ]
    );
}

#[test]
fn a_block_that_cannot_be_made_is_a_fault() {
    let found = faults_of(
        "\n<!-- doc-sync item lamp.rs Lamp::ligth -->\n<!-- doc-sync item lump.rs Lamp -->\n\
         <!-- doc-sync item 07 lamp.rs Lamp -->\n<!-- doc-sync diff lamp.rs Lamp -->\n\
         <!-- doc-sync item lamp.rs Lamp::light from \"self\" to \"}\" -->\n\
         <!-- doc-sync file scene.toml table verfy -->\n\
         <!-- doc-sync diff 01 lamp.rs Lamp::new -->\n<!-- doc-sync item scene.toml verify -->\n\
         <!-- doc-sync diff 01 Cargo.toml name -->\n",
    );
    assert_eq!(
        found,
        [
            "[block] book/src/00-lamp.md:82: src/lamp.rs has no item `Lamp::ligth`; did you mean `Lamp::light` or `Lamp::new`?",
            "[block] book/src/00-lamp.md:83: step 00 has no src/lump.rs; did you mean `lamp.rs`?",
            "[block] book/src/00-lamp.md:84: there is no step 07: there are 00-lamp, 01-log",
            "[block] book/src/00-lamp.md:85: step 00 has none before it; show its code with `item`",
            "[block] book/src/00-lamp.md:86: 2 lines of `Lamp::light` hold `self`; take a longer text",
            "[block] book/src/00-lamp.md:87: scene.toml has no table `verfy`; did you mean `verify`?",
            "[block] book/src/00-lamp.md:88: `Lamp::new` has no change here since step 00; show it with `item` or `file`, or drop the block",
            "[block] book/src/00-lamp.md:89: scene.toml is no Rust; show it with `file`",
            "[block] book/src/00-lamp.md:90: Cargo.toml has no items, since it is no Rust; name the file alone",
        ]
    );
}

#[test]
fn a_block_that_differs_from_its_origin_is_shown_with_the_difference() {
    let found = faults(|shelf| {
        shelf.change("steps/00-lamp/src/lamp.rs", "WATTS: usize = 40", "WATTS: usize = 60");
    });
    assert_eq!(
        found,
        [
            "[drift] book/src/00-lamp.md:18: this block is not what its origin gives; `cargo run -p doc-sync -- sync` writes it anew\n     /// How bright.\n    -const WATTS: usize = 40;\n    +const WATTS: usize = 60;",
            "[coverage] book/src/01-log.md:1: src/lamp.rs, `WATTS`: 1 added line is in no block; show them (`item lamp.rs WATTS`, or `diff`), or name them in the front matter (`left-out: lamp.rs WATTS: WHY`)",
        ]
    );
}

#[test]
fn a_block_that_is_not_made_yet_is_a_fault() {
    assert_eq!(
        faults_of("\n<!-- doc-sync file scene.toml -->\n"),
        [
            "[drift] book/src/00-lamp.md:82: this block is not made yet; `cargo run -p doc-sync -- sync` makes it",
        ]
    );
}

#[test]
fn a_stored_run_that_no_block_shows_is_a_fault() {
    let found = faults(|shelf| shelf.write("book/runs/step00.txt", "$ cargo run\n"));
    assert_eq!(
        found,
        [
            "[run] book/runs/step00.txt:1: no block shows this run; `cargo run -p doc-sync -- sync` removes it"
        ]
    );
}

#[test]
fn an_origin_that_stands_twice_says_again() {
    let shelf = Shelf::new();
    shelf.append("01-log.md", "\n<!-- doc-sync item 00 lamp.rs head -->\n\n<!-- doc-sync item 00 lamp.rs head again -->\n");
    shelf.sync();
    assert_eq!(
        shelf.faults(),
        [
            "[twice] book/src/01-log.md:65: this block stands at book/src/00-lamp.md:9 too; if both are meant, end this one's origin with `again`",
        ]
    );
}

#[test]
fn code_without_an_origin_is_a_fault() {
    let found = faults_of(
        "\n```rust\nfn f() {}\n```\n\n    indented\n\n```text,illustration\nx\n```\n\n```sh\ngit status\n```\n",
    );
    assert_eq!(
        found,
        [
            "[fence] book/src/00-lamp.md:82: this block has no origin; write one above it (`<!-- doc-sync item … -->`) in its place, or `,illustration` behind its language",
            "[fence] book/src/00-lamp.md:86: an indented block has no origin; fence it and write its origin above it, or end the indentation",
        ]
    );
}

#[test]
fn a_chapter_gives_its_step_and_its_minutes() {
    let found = faults(|shelf| {
        shelf.change("book/src/00-lamp.md", "minutes: 10", "hours: 1");
    });
    assert_eq!(
        found,
        [
            "[front] book/src/00-lamp.md:1: `minutes:` missing in the chapter's front matter: a comment at the very top, a line each",
            "[front] book/src/00-lamp.md:3: the front matter has no `hours`: there are step, minutes, left-out",
        ]
    );
}

#[test]
fn steps_chapters_and_summary_belong_together() {
    let found = faults(|shelf| {
        shelf.write("steps/02-wick/Cargo.toml", "[package]\nname = \"step02\"\n");
        shelf.write("steps/02-wick/src/main.rs", "fn main() {}\n");
        shelf.page("09-moon.md", "<!--\nstep: 09\nminutes: 1\n-->\n# Moon\n");
        shelf.change("book/src/SUMMARY.md", "- [Log](01-log.md)\n", "");
    });
    assert_eq!(
        found,
        [
            "[chapter] book/src/01-log.md:1: no line of SUMMARY.md names this page; add `- [Title](01-log.md)`",
            "[chapter] book/src/09-moon.md:1: there is no step 09 for this chapter; there are `00-lamp`, `01-log`, `02-wick`",
            "[chapter] book/src/09-moon.md:1: no line of SUMMARY.md names this page; add `- [Title](09-moon.md)`",
            "[chapter] book/src/SUMMARY.md:1: steps/02-wick has no chapter; write book/src/02-wick.md",
        ]
    );
}

#[test]
fn a_line_that_a_step_adds_and_no_block_shows_is_a_fault() {
    let found = faults(|shelf| {
        shelf.write(
            "steps/01-log/src/log.rs",
            "//! A log.\n\nuse std::fs;\n\n/// Says it.\npub fn note(text: &str) {\n    println!(\"{text}\");\n}\n\nfn more() {\n}\n\n#[test]\nfn t() {}\n",
        );
    });
    assert_eq!(
        found,
        [
            "[coverage] book/src/01-log.md:1: src/log.rs, `more`: 2 added lines are in no block; show them (`item log.rs more`, or `diff`), or name them in the front matter (`left-out: log.rs more: WHY`)",
            "[drift] book/src/01-log.md:41: this block is not what its origin gives; `cargo run -p doc-sync -- sync` writes it anew\n    +*`src/log.rs`, at the top* · new\n    +\n    +```rust\n    +use std::fs;\n    +```\n    +\n     *`src/main.rs`: 1 line added*",
        ]
    );
}

#[test]
fn what_the_front_matter_leaves_out_stands_in_the_rest() {
    let shelf = Shelf::new();
    shelf.change(
        "book/src/01-log.md",
        "minutes: 20",
        "minutes: 20\nleft-out: log.rs more: it is empty.",
    );
    shelf.write(
        "steps/01-log/src/log.rs",
        "//! A log.\n\n/// Says it.\npub fn note(text: &str) {\n    println!(\"{text}\");\n}\n\nfn more() {}\n",
    );
    shelf.sync();
    assert_eq!(shelf.faults(), [""; 0]);
    assert!(shelf.read("book/src/01-log.md").contains("Not explained: it is empty.\n\n*`src/log.rs`, after `note`* · new\n\n```rust\nfn more() {}\n```"));
}

#[test]
fn code_that_moves_or_is_indented_is_not_new() {
    let shelf = Shelf::new();
    let lamp = shelf.read("steps/01-log/src/lamp.rs");
    let (before, light) = lamp.split_once("    /// Turns it on.").unwrap();
    let light = light.split_once("#[cfg(test)]").unwrap().0.trim_end().trim_end_matches('}');
    shelf.write("steps/01-log/src/lamp.rs", &format!("{before}}}\n"));
    let log = shelf.read("steps/01-log/src/log.rs");
    shelf.write(
        "steps/01-log/src/log.rs",
        &format!("{log}\nimpl Lamp {{\n    /// Turns it on.{light}}}\n"),
    );
    shelf.change("book/src/01-log.md", "diff lamp.rs", "diff log.rs");
    shelf.sync();
    assert_eq!(shelf.faults(), [""; 0]);
}

#[test]
fn a_link_that_leads_nowhere_is_a_fault() {
    let found = faults_of(
        "\n[a](01-log.md#the-log) [b](01-log.md#the-lgo) [c](01-lag.md) [d](#the-lamp) [e](#x)\n\
         [f](../../README.md) [g](https://example.org) ![h](images/lamp.svg)\n\n\
         <a href=\"#y\">i</a> <!-- a href=\"#z\" -->\n",
    );
    assert_eq!(
        found,
        [
            "[link] book/src/00-lamp.md:82: 01-log.md has no heading `#the-lgo`; did you mean `the-log`?",
            "[link] book/src/00-lamp.md:82: there is no page `01-lag.md`; did you mean `01-log.md` or `00-lamp.md`?",
            "[link] book/src/00-lamp.md:82: 00-lamp.md has no heading `#x`; there are `the-lamp`",
            "[link] book/src/00-lamp.md:83: `../../README.md` leads out of the book's pages, where the built book has nothing; name the file in `code` instead",
            "[link] book/src/00-lamp.md:83: there is no image `images/lamp.svg`; `<!-- doc-sync picture … -->` makes one",
            "[link] book/src/00-lamp.md:85: 00-lamp.md has no heading `#y`; there are `the-lamp`",
        ]
    );
}

#[test]
fn a_command_that_does_not_exist_is_a_fault() {
    let found = faults_of(
        "\n`cargo run -p step00 -- --dif`, `cargo run -p step02`, `cargo rum`, `lesson chek 00`,\n\
         `cargo run -p lesson -- check 07 -- ./x`, `cargo run -p stepNN -- --whatever`,\n\
         `cargo run -p step01 -- --scene 00 --diff`, `cargo run -p step01 -- --scene 09`,\n\
         `cargo test -p lesson -- x`, `cargo run -p step00 -- --scene book/exercises/x`.\n\n\
         ```sh\ncargo run -p step00   # play\nX=1 cargo run -p sten01\n```\n",
    );
    assert_eq!(
        found,
        [
            "[command] book/src/00-lamp.md:82: step00 has no `--dif`; did you mean `--diff`?",
            "[command] book/src/00-lamp.md:82: there is no package `step02`; did you mean `step00` or `step01`?",
            "[command] book/src/00-lamp.md:82: cargo has no `rum`; did you mean `run`?",
            "[command] book/src/00-lamp.md:82: lesson has no `chek`; did you mean `check`?",
            "[command] book/src/00-lamp.md:83: there is no step 07: there are 00-lamp, 01-log",
            "[command] book/src/00-lamp.md:84: there is no step 09: there are 00-lamp, 01-log",
            "[command] book/src/00-lamp.md:85: there is no scene at `book/exercises/x`",
            "[command] book/src/00-lamp.md:89: there is no package `sten01`; did you mean `step01` or `step00`?",
        ]
    );
}

#[test]
fn a_stock_phrase_is_a_fault() {
    let found = faults_of(
        "\nIn this\nchapter we **simply** let’s dive in. It is a `powerful` adjustment.\n\nİİİ灯 Just so.\n",
    );
    assert_eq!(
        found,
        [
            "[phrase] book/src/00-lamp.md:82: `in this chapter we` is a stock phrase: cut it, or say the thing itself",
            "[phrase] book/src/00-lamp.md:83: `simply` is a stock phrase: cut it, or say the thing itself",
            "[phrase] book/src/00-lamp.md:83: `let's dive in` is a stock phrase: cut it, or say the thing itself",
            "[phrase] book/src/00-lamp.md:85: `just` is a stock phrase: cut it, or say the thing itself",
        ]
    );
}
