//! `sync` never touches what an author wrote, whatever stands around the blocks.

use doc_sync::markdown::Outline;
use doc_sync::page::Page;
use doc_sync::regions::{self, Region};
use doc_sync::sync::{self, END};
use proptest::prelude::*;

/// What a page may be made of, line by line: all that could hide a comment or make one of none.
const LINES: &[&str] = &[
    "",
    "",
    "Prose, and `code`.",
    "灯台 …",
    "<!-- doc-sync item lamp.rs Lamp -->",
    "<!-- doc-sync item lamp.rs Lamp -->",
    "<!-- doc-sync rest -->   ",
    "<!-- doc-sync nonsense -->",
    "<!-- doc-sync end -->",
    "  <!-- doc-sync rest -->",
    "Text <!-- doc-sync rest --> text",
    "- item",
    "  - <!-- doc-sync rest -->",
    "> <!-- doc-sync end -->",
    "```rust",
    "```",
    "````",
    "  ```",
    "    ```",
    "~~~",
    "~~~~ text",
    "| a | b |",
    "|---|---|",
    "# Heading {#id}",
    "[^1]: foot",
    "<div>",
    "</div>",
    "<details>",
    "</details>",
    "<pre>",
    "</pre>",
    "<script>",
    "<!-- an author's note",
    "-->",
    "<![CDATA[",
    "<?x",
    "    indented",
    "***",
];

/// What blocks look like.
const BODIES: &[&str] = &[
    "*`src/lamp.rs`*\n\n```rust\nfn f() {}\n```\n",
    "````markdown\n```\n<!-- doc-sync end -->\n```\n````\n",
    "<details>\n<summary>More</summary>\n\n```rust,diff\n+a\n \n-b\n```\n\n</details>\n",
    "| a | b |\n|---|---|\n| c | d |\n",
    "![A picture](images/a.svg)\n",
    "one line",
];

fn pages() -> impl Strategy<Value = String> {
    let line = (prop::sample::select(LINES), prop::sample::select(&["\n", "\n", "\r\n", "\r"][..]));
    let endings = prop::sample::select(&["", "\n", "\r\n"][..]);
    let one_ending = prop_oneof![Just(None), Just(Some("\n")), Just(Some("\r\n"))];
    (prop::collection::vec(line, 0..14), endings, one_ending, any::<bool>()).prop_map(
        |(lines, last, ending, has_mark)| {
            let mut page = String::from(if has_mark { "\u{feff}" } else { "" });
            for (at, (line, own)) in lines.iter().enumerate() {
                page.push_str(if at == 0 { "" } else { ending.unwrap_or(own) });
                page.push_str(line);
            }
            page + last
        },
    )
}

/// What stands outside of the blocks; the ends that were written are taken away again.
fn outside(text: &str, regions: &[Region], had_end: &[bool]) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for (region, had_end) in regions.iter().zip(had_end) {
        pieces.push(text[at..region.body.start].to_string());
        at = region.body.end;
        if !had_end && region.has_end {
            at += END.len();
            let ending = ["\r\n", "\n", "\r"].into_iter().find(|end| text[at..].starts_with(end));
            at += ending.map_or(0, str::len);
        }
    }
    pieces.push(text[at..].to_string());
    pieces
}

/// Without the line ending that a comment at the very end of a page is given.
fn without_last_ending(mut pieces: Vec<String>) -> Vec<String> {
    for piece in &mut pieces {
        *piece = piece.trim_end_matches(['\r', '\n']).to_string();
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_page_can_be_read(page in "\\PC*", more in pages()) {
        let page = page + &more;
        let _ = Page::read("x.md".into(), "x.md".into(), page.clone());
        let _ = Outline::read(&page);
    }

    #[test]
    fn prose_stays_byte_for_byte_and_a_second_sync_changes_nothing(
        page in pages(),
        bodies in prop::collection::vec(prop::option::weighted(0.9, prop::sample::select(BODIES)), 14),
    ) {
        let (regions, _) = regions::find(&page);
        // A page whose HTML is left open is not written at all.
        let Ok(once) = sync::rewrite(&page, &regions, &bodies) else { return Ok(()) };
        let (again, _) = regions::find(&once);
        prop_assert_eq!(again.len(), regions.len());
        let had_end: Vec<bool> = regions.iter().map(|region| region.has_end).collect();
        let (before, after) = (outside(&page, &regions, &had_end), outside(&once, &again, &had_end));
        if page.trim_end_matches(' ').ends_with("-->") {
            prop_assert_eq!(without_last_ending(before), without_last_ending(after));
        } else {
            prop_assert_eq!(before, after);
        }
        let twice = sync::rewrite(&once, &again, &bodies);
        prop_assert_eq!(twice.as_deref(), Ok(once.as_str()));
    }
}

fn one_block(page: &str, body: &str) -> String {
    let (regions, _) = regions::find(page);
    assert_eq!(regions.len(), 1, "{page}");
    sync::rewrite(page, &regions, &[Some(body)]).expect("its block is written")
}

#[test]
fn a_page_with_crlf_keeps_it_in_its_blocks() {
    assert_eq!(
        one_block("A\r\n<!-- doc-sync rest -->\r\nB", "x\ny\n"),
        "A\r\n<!-- doc-sync rest -->\r\n\r\nx\r\ny\r\n\r\n<!-- doc-sync end -->\r\nB"
    );
}

#[test]
fn a_comment_at_the_end_of_a_page_without_a_newline_gets_its_block() {
    assert_eq!(
        one_block("A\n\n<!-- doc-sync rest -->", "x"),
        "A\n\n<!-- doc-sync rest -->\n\nx\n\n<!-- doc-sync end -->"
    );
}

#[test]
fn a_comment_inside_of_code_is_none() {
    let page = "```text\n<!-- doc-sync rest -->\n```\n\n~~~~\n```\n<!-- doc-sync rest -->\n~~~~\n\n    <!-- doc-sync rest -->\n";
    assert_eq!(regions::find(page), (Vec::new(), Vec::new()));
}

#[test]
fn a_block_in_html_that_is_never_closed_is_not_written() {
    let page = "<pre>\n<!-- doc-sync rest -->\n";
    let (regions, _) = regions::find(page);
    assert_eq!(sync::rewrite(page, &regions, &[Some("```\na</pre>\n```")]), Err(2));
}

#[test]
fn a_block_whose_end_was_deleted_is_not_written_twice() {
    let page = "<!-- doc-sync rest -->\n\n```rust\nfn old() {}\n```\n\nProse.\n";
    let (regions, faults) = regions::find(page);
    assert_eq!(faults.len(), 1);
    assert_eq!(sync::rewrite(page, &regions, &[Some("new")]).as_deref(), Ok(page));
}
