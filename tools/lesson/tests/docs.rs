//! The documents name files and folders that are there.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

const DOCUMENTS: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "mock-server/README.md",
    "tools/lesson/CONTRACT.md",
];

/// What a path in a document begins with, seen from the root.
const FOLDERS: [&str; 7] =
    ["steps/", "tools/", "mock-server/", "benches/", "images/", "book/", ".ci/"];

/// Words in backticks, and targets of links, that are paths of ours.
fn paths_in(text: &str) -> Vec<&str> {
    let words = text.split(['`', '(', ')', ' ', '\n', '"']);
    let is_path = |word: &&str| FOLDERS.iter().any(|folder| word.starts_with(folder));
    // `steps/NN-name` stands for any of them.
    words.filter(is_path).filter(|word| !word.contains("NN") && !word.contains('*')).collect()
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for path in paths_in(&text) {
            named += 1;
            let path = path.trim_end_matches([',', '.', ';', ':']);
            if !root.join(path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(named > 20, "only {named} paths were found: the search itself is broken");
}
