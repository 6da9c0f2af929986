//! What the origins of code give, on a repository of two small steps.

#[allow(dead_code, reason = "this file makes blocks, and checks no book")]
mod shelf;

use shelf::Shelf;

/// The block of one origin in a chapter of the second step.
fn block(shelf: &Shelf, origin: &str) -> String {
    shelf.page("01-log.md", &format!("<!--\nstep: 01\n-->\n<!-- doc-sync {origin} -->\n"));
    let report = shelf.sync();
    assert_eq!(report.faults, [], "{origin}");
    let text = shelf.read("book/src/01-log.md");
    let body = text.split_once("-->\n\n").expect("a block that is made").1;
    body.split_once("\n\n<!-- doc-sync end -->").expect("a block that is made").0.to_string()
}

const SPEECH: &str = "\
//! Speech.

use std::fmt;

// What both have in common.

/// A voice.
#[derive(Debug)]
pub struct Voice<T>(T);

impl<T> Voice<T> {
    // Not public.
    fn low(&self) -> &str {
        \"ho\"
    }

    pub fn high(&self) -> &str {
        let text = \"hi\";
        let text = text;
        text
    }

    fn end(&self) {}
}

impl<T> fmt::Display for Voice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(\"voice\")
    }

    fn low() {}
}

pub trait Loud {
    fn shout(&self);
}

mod inner {
    pub fn deep() {}
}
";

fn speech() -> Shelf {
    let shelf = Shelf::new();
    shelf.write("steps/01-log/src/speech.rs", SPEECH);
    shelf
}

fn code(shelf: &Shelf, origin: &str) -> String {
    let block = block(shelf, origin);
    let (place, fence) = block.split_once("\n\n```rust\n").expect("a fence of Rust");
    format!("{place}\n{}", fence.strip_suffix("\n```").expect("a fence of Rust"))
}

#[test]
fn an_item_has_its_comments_and_attributes() {
    assert_eq!(
        code(&speech(), "item speech.rs Voice"),
        "*`src/speech.rs`* · new\n\
         // What both have in common.\n\n\
         /// A voice.\n#[derive(Debug)]\npub struct Voice<T>(T);"
    );
}

#[test]
fn a_method_is_found_in_the_type_before_it_is_found_in_a_trait() {
    let shelf = speech();
    assert_eq!(
        code(&shelf, "item speech.rs Voice::low"),
        "*`src/speech.rs`, in `impl Voice`, first* · new\n\
         // Not public.\nfn low(&self) -> &str {\n    \"ho\"\n}"
    );
    assert_eq!(
        code(&shelf, "item speech.rs Voice::fmt").lines().next(),
        Some("*`src/speech.rs`, in `impl Display for Voice`, first* · new")
    );
    assert_eq!(
        code(&shelf, "item speech.rs Loud::shout"),
        "*`src/speech.rs`, in `trait Loud`, first* · new\nfn shout(&self);"
    );
    assert_eq!(
        code(&shelf, "item speech.rs inner::deep"),
        "*`src/speech.rs`, in `mod inner`, first* · new\npub fn deep() {}"
    );
}

#[test]
fn an_impl_is_named_with_or_without_its_generics_and_paths() {
    let shelf = speech();
    let short = code(&shelf, "item speech.rs impl Display for Voice");
    assert_eq!(short.lines().next(), Some("*`src/speech.rs`, after `impl Voice`* · new"));
    assert!(short.contains("impl<T> fmt::Display for Voice<T> {\n    fn fmt"), "{short}");
    assert_eq!(code(&shelf, "item speech.rs impl<T> fmt::Display for Voice<T>"), short);
}

#[test]
fn a_part_is_marked_where_it_is_cut() {
    assert_eq!(
        code(&speech(), "item speech.rs Voice::high from `\"hi\"` to \"= text\""),
        "*`src/speech.rs`, in `Voice::high`* · new\n\
         // …\nlet text = \"hi\";\nlet text = text;\n// …"
    );
}

#[test]
fn a_method_beside_other_items_keeps_its_impl_around_it() {
    assert_eq!(
        code(&speech(), "item speech.rs head, Voice::high"),
        "*`src/speech.rs`: the head and `Voice::high`* · new\n\
         //! Speech.\n\n\
         impl<T> Voice<T> {\n    // …\n    pub fn high(&self) -> &str {\n        let text = \"hi\";\n        \
         let text = text;\n        text\n    }\n    // …\n}"
    );
}

#[test]
fn methods_of_one_impl_stand_at_the_margin() {
    assert_eq!(
        code(&speech(), "item speech.rs Voice::high, Voice::end"),
        "*`src/speech.rs`, in `impl Voice`, after `low`* · new\n\
         pub fn high(&self) -> &str {\n    let text = \"hi\";\n    let text = text;\n    text\n}\n\n\
         fn end(&self) {}"
    );
}

#[test]
fn an_item_says_whether_the_step_before_has_it() {
    let shelf = Shelf::new();
    assert!(
        code(&shelf, "item lamp.rs Lamp")
            .starts_with("*`src/lamp.rs`, after `WATTS`* · as in step 00\n")
    );
    assert!(
        code(&shelf, "item lamp.rs Lamp::light")
            .starts_with("*`src/lamp.rs`, in `impl Lamp`, after `new`* · changed\n")
    );
    assert!(
        code(&shelf, "item 00 lamp.rs Lamp")
            .starts_with("*step 00, `src/lamp.rs`, after `WATTS`*\n")
    );
}

#[test]
fn an_item_that_takes_over_lines_of_another_is_new() {
    let shelf = Shelf::new();
    let lamp = shelf.read("steps/01-log/src/lamp.rs");
    shelf.write("steps/01-log/src/lamp.rs", &lamp.replace("fn light", "fn shine"));
    assert!(
        code(&shelf, "item lamp.rs Lamp::shine")
            .starts_with("*`src/lamp.rs`, in `impl Lamp`, after `new`* · new\n")
    );
}

#[test]
fn a_diff_of_an_item_says_where_it_goes_and_how_much_it_is() {
    assert_eq!(
        block(&Shelf::new(), "diff lamp.rs Lamp::light \"before it is lit\""),
        "*`src/lamp.rs`, in `Lamp::light`, before it is lit: 1 line added*\n\n\
         ```rust,diff\n \
         /// Turns it on.\n pub fn light(&mut self) {\n+    crate::log::note(\"on\");\n     self.is_on = true;\n }\n```"
    );
}

#[test]
fn a_diff_of_a_file_folds_what_is_the_same_and_leaves_tests_out() {
    let shelf = Shelf::new();
    shelf.change("steps/01-log/src/lamp.rs", "= 40", "= 60");
    shelf.change("steps/01-log/src/lamp.rs", "fn a() {}", "fn b() {}");
    assert_eq!(
        block(&shelf, "diff lamp.rs"),
        "*`src/lamp.rs`: 2 lines added, 1 removed*\n\n\
         ```rust,diff\n \
         // …\n /// How bright.\n-const WATTS: usize = 40;\n+const WATTS: usize = 60;\n\n \
         pub struct Lamp {\n // …\n     /// Turns it on.\n     pub fn light(&mut self) {\n\
         +        crate::log::note(\"on\");\n         self.is_on = true;\n     }\n     // …\n```"
    );
}

#[test]
fn a_fold_names_the_function_that_the_next_change_is_in() {
    let shelf = Shelf::new();
    let long = "fn long() {\n    one();\n    two();\n    three();\n    four();\n}\n";
    shelf.write("steps/00-lamp/src/long.rs", long);
    shelf.write("steps/01-log/src/long.rs", &long.replace("four", "five"));
    let shown = "    two();\n     three();\n-    four();\n+    five();\n }\n```";
    let place = "*`src/long.rs`: 1 line added, 1 removed*\n\n```rust,diff\n     // … in long\n ";
    assert_eq!(block(&shelf, "diff long.rs"), format!("{place}{shown}"));
    let place = "*`src/long.rs`, in `long`: 1 line added, 1 removed*\n\n```rust,diff\n     // …\n ";
    assert_eq!(block(&shelf, "diff long.rs long"), format!("{place}{shown}"));
}

#[test]
fn a_manifest_has_a_diff_and_no_items() {
    assert_eq!(
        block(&Shelf::new(), "diff Cargo.toml"),
        "*`Cargo.toml`: 1 line added, 1 removed*\n\n\
         ```toml,diff\n [package]\n-name = \"step00\"\n+name = \"step01\"\n```"
    );
}

#[test]
fn a_diff_finds_an_item_that_moved_and_one_that_is_gone() {
    let shelf = Shelf::new();
    shelf.change("steps/01-log/src/lamp.rs", "/// How bright.\nconst WATTS: usize = 40;\n", "");
    shelf.write("steps/01-log/src/power.rs", "/// How bright.\npub const WATTS: usize = 40;\n");
    assert_eq!(
        block(&shelf, "diff power.rs WATTS"),
        "*`src/power.rs`, in `WATTS`: 1 line added, 1 removed*\n\n\
         ```rust,diff\n /// How bright.\n-const WATTS: usize = 40;\n+pub const WATTS: usize = 40;\n```"
    );
    assert_eq!(
        block(&shelf, "diff lamp.rs WATTS"),
        "*`src/lamp.rs`, in `WATTS`: 2 lines removed*\n\n\
         ```rust,diff\n-/// How bright.\n-const WATTS: usize = 40;\n```"
    );
}

#[test]
fn a_piece_of_a_scene_is_taken_as_a_table_or_between_texts() {
    let shelf = Shelf::new();
    assert_eq!(
        block(&shelf, "file 00 scene.toml table verify"),
        "*step 00, `scene.toml`, `[verify]`*\n\n```toml\n[verify]\nanswer = \"x\"\n```"
    );
    assert_eq!(
        block(&shelf, "file 00 scene.toml to \"title\" folded \"The scene\""),
        "<details>\n<summary>The scene</summary>\n\n\
         *step 00, `scene.toml`, a part*\n\n```toml\ntitle = \"a\"\n# …\n```\n\n</details>"
    );
}

#[test]
fn the_rest_has_the_manifest_and_the_imports() {
    let shelf = Shelf::new();
    shelf.write("steps/01-log/src/log.rs", "use std::fs;\n\nfn a() {}\n");
    assert_eq!(
        block(&shelf, "rest"),
        "<details>\n<summary>Imports, modules and the manifest</summary>\n\n\
         *`Cargo.toml`: 1 line added, 1 removed*\n\n\
         ```toml,diff\n [package]\n-name = \"step00\"\n+name = \"step01\"\n```\n\n\
         *`src/log.rs`, at the top* · new\n\n```rust\nuse std::fs;\n```\n\n\
         *`src/main.rs`: 1 line added*\n\n```rust,diff\n mod lamp;\n+mod log;\n```\n\n</details>"
    );
}
