//! What is looked at, in words.

/// A rule's name and what it demands.
const RULES: [(&str, &str); 12] = [
    (
        "comment",
        "A doc-sync comment can be read, stands on a line of its own at the margin, and has its end.",
    ),
    (
        "block",
        "What an origin names is there: the step, the file, the item, the text it is cut at, the run.",
    ),
    ("drift", "A block is what its origin gives. `sync` writes it anew."),
    ("run", "Each stored run is shown by a block. `sync` removes the others."),
    ("twice", "No origin stands twice in the book, unless the later one says `again`."),
    (
        "fence",
        "A block of code outside of a generated block is marked `illustration`, or is `sh`: what a reader types.",
    ),
    ("front", "A chapter's front matter can be read, and gives its step and its minutes."),
    (
        "chapter",
        "Each step has a chapter of its name, each chapter a step, and SUMMARY.md names each page.",
    ),
    (
        "coverage",
        "Each line that a step adds stands in a block of its chapter, tests aside. What front matter leaves out stands in `rest`.",
    ),
    ("link", "A link or an image leads to a page, a heading or a file of the book."),
    (
        "command",
        "A `cargo` command names a package, a subcommand, switches and a scene that there are.",
    ),
    ("phrase", "No stock phrase stands in the prose."),
];

/// All rules, one to a paragraph.
pub fn explain() -> String {
    let mut text = String::new();
    for (name, demand) in RULES {
        text.push_str(&format!("{name:10}{demand}\n"));
    }
    text
}
