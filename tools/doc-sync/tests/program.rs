//! The program as a person calls it.

#[allow(dead_code, reason = "this file calls the program, and not the library")]
mod shelf;

use std::path::Path;
use std::process::{Command, Output};

use shelf::Shelf;

fn doc_sync(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_doc-sync"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn check_and_sync_work_from_any_folder_and_exit_with_1_on_faults() {
    let shelf = Shelf::new();
    let deep = shelf.root().join("steps/00-lamp/src");
    let (code, out, err) = said(&doc_sync(&deep, &["check"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("nothing is wrong\n"), "{out}");

    shelf.append("00-lamp.md", "\n<!-- doc-sync file scene.toml -->\n");
    let (code, out, _) = said(&doc_sync(&deep, &["check"]));
    assert_eq!(code, Some(1));
    assert!(out.starts_with("book/src/00-lamp.md:82: this block is not made yet"), "{out}");

    let (code, out, _) = said(&doc_sync(&deep, &["sync"]));
    assert_eq!((code, out.as_str()), (Some(0), "wrote book/src/00-lamp.md\n"));
    let (code, out, _) = said(&doc_sync(&deep, &["sync"]));
    assert_eq!((code, out.as_str()), (Some(0), "every block is as its origin gives it\n"));
}

#[test]
fn sync_exits_with_1_where_a_block_cannot_be_made_and_makes_the_others() {
    let shelf = Shelf::new();
    shelf.append(
        "01-log.md",
        "\n<!-- doc-sync item 00 lamp.rs Lump -->\n<!-- doc-sync item 00 lamp.rs Lamp -->\n",
    );
    let (code, out, _) = said(&doc_sync(shelf.root(), &["sync"]));
    assert_eq!(code, Some(1));
    assert_eq!(
        out,
        "book/src/01-log.md:65: src/lamp.rs has no item `Lump`; did you mean `Lamp`?\n\
         wrote book/src/01-log.md\n"
    );
}

#[test]
fn bad_use_exits_with_2_and_says_what_to_do() {
    let shelf = Shelf::new();
    let (code, _, err) = said(&doc_sync(shelf.root(), &["check", "--book", "buch"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("cannot be read; --book names the folder that holds it"), "{err}");
    let (code, _, err) = said(&doc_sync(shelf.root(), &["chek"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("unrecognized subcommand 'chek'"), "{err}");
    let (code, _, err) = said(&doc_sync(Path::new("/"), &["check"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("is not in a clone of this project; go into one"), "{err}");
}

#[test]
fn another_edition_is_named_by_its_folder() {
    let shelf = Shelf::new();
    shelf.write("editions/de/book.toml", "[book]\nsrc = \"text\"\n");
    shelf.write("editions/de/text/a.md", "<!-- doc-sync item 00 lamp.rs WATTS -->\n");
    let (code, out, _) = said(&doc_sync(shelf.root(), &["sync", "--book", "editions/de"]));
    assert_eq!((code, out.as_str()), (Some(0), "wrote editions/de/text/a.md\n"));
}

#[test]
fn every_command_has_its_help() {
    let shelf = Shelf::new();
    for command in ["sync", "check", "build", "serve", "carry", "stats"] {
        let (code, out, _) = said(&doc_sync(shelf.root(), &[command, "--help"]));
        assert_eq!(code, Some(0), "{command}");
        assert!(out.contains(&format!("Usage: doc-sync {command}")), "{out}");
    }
    let (code, out, _) = said(&doc_sync(shelf.root(), &["check", "--explain"]));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("comment   "), "{out}");
}

#[test]
fn a_reader_that_went_away_is_no_fault() {
    let shelf = Shelf::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_doc-sync"));
    let output = command.arg("check").current_dir(shelf.root()).stdout(writer).output().unwrap();
    assert_eq!(said(&output), (Some(0), String::new(), String::new()));
}
