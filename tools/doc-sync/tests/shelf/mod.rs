//! A small repository with two steps and a book, in a temporary folder.

use std::fs;
use std::path::Path;

use doc_sync::book::{Book, Runs};
use doc_sync::check::{self, Report};
use doc_sync::sync;
use tempfile::TempDir;

const LAMP: &str = "\
//! A lamp.

use std::fmt;

/// How bright.
const WATTS: usize = 40;

pub struct Lamp {
    is_on: bool,
}

impl Lamp {
    pub fn new() -> Self {
        Self { is_on: false }
    }

    /// Turns it on.
    pub fn light(&mut self) {
        self.is_on = true;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a() {}
}
";

const MAIN: &str = "mod lamp;\n\nfn main() {\n    let _ = lamp::Lamp::new();\n}\n";

const LOG: &str =
    "//! A log.\n\n/// Says it.\npub fn note(text: &str) {\n    println!(\"{text}\");\n}\n";

pub const CHAPTER_0: &str = "\
<!--
step: 00
minutes: 10
-->
# The lamp

Prose.

<!-- doc-sync item lamp.rs head -->
<!-- doc-sync item lamp.rs WATTS, Lamp, impl Lamp -->
<!-- doc-sync item main.rs main -->
<!-- doc-sync rest -->
";

pub const CHAPTER_1: &str = "\
<!--
step: 01
minutes: 20
-->
# The log

<!-- doc-sync item log.rs head -->
<!-- doc-sync item log.rs note -->
<!-- doc-sync diff lamp.rs Lamp::light \"before it is lit\" -->
<!-- doc-sync rest -->
";

const SUMMARY: &str = "# Summary\n\n- [Lamp](00-lamp.md)\n- [Log](01-log.md)\n";

pub struct Shelf(TempDir);

impl Shelf {
    /// Two steps, a chapter each, all blocks made.
    pub fn new() -> Self {
        let shelf = Self(TempDir::new().expect("a temporary folder"));
        shelf.write("Cargo.toml", "[workspace]\n");
        shelf.step("00-lamp", LAMP, MAIN);
        let noted = LAMP.replace(
            "        self.is_on = true;",
            "        crate::log::note(\"on\");\n        self.is_on = true;",
        );
        shelf.step("01-log", &noted, &MAIN.replace("mod lamp;", "mod lamp;\nmod log;"));
        shelf.write("steps/01-log/src/log.rs", LOG);
        shelf.write("steps/00-lamp/scene.toml", "title = \"a\"\n\n[verify]\nanswer = \"x\"\n");
        shelf.write(
            "tools/lesson/src/switches.rs",
            "fn f() { flag(\"diff\", \"\"); Arg::new(\"s\").long(\"scene\"); }\n",
        );
        shelf.write("tools/lesson/Cargo.toml", "[package]\nname = \"lesson\"\n");
        shelf.write(
            "tools/lesson/src/main.rs",
            "fn main() { Command::new(\"lesson\"); Command::new(\"check\"); Command::new(\"matrix\"); }\n",
        );
        shelf.write("book/book.toml", "[book]\ntitle = \"Lamps\"\n");
        shelf.page("SUMMARY.md", SUMMARY);
        shelf.page("00-lamp.md", CHAPTER_0);
        shelf.page("01-log.md", CHAPTER_1);
        assert_eq!(
            shelf.sync().to_string(),
            "wrote book/src/00-lamp.md\nwrote book/src/01-log.md\n"
        );
        shelf
    }

    fn step(&self, name: &str, lamp: &str, main: &str) {
        let manifest = format!("[package]\nname = \"step{}\"\n", &name[..2]);
        self.write(&format!("steps/{name}/Cargo.toml"), &manifest);
        self.write(&format!("steps/{name}/src/lamp.rs"), lamp);
        self.write(&format!("steps/{name}/src/main.rs"), main);
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file in the shelf")).expect("its folder");
        fs::write(path, text).expect("a file that can be written");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("a file that is there")
    }

    pub fn page(&self, name: &str, text: &str) {
        self.write(&format!("book/src/{name}"), text);
    }

    /// Replaces a text that stands once in a file.
    pub fn change(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
        self.write(path, &text.replace(from, to));
    }

    /// Puts lines at the end of a page.
    pub fn append(&self, page: &str, text: &str) {
        let path = format!("book/src/{page}");
        self.write(&path, &format!("{}{text}", self.read(&path)));
    }

    pub fn book(&self, runs: Runs) -> Book {
        Book::load(self.root(), Path::new("book"), runs).expect("a book that can be read")
    }

    pub fn sync(&self) -> sync::Report {
        sync::sync(&self.book(Runs::Renewed)).expect("pages that can be written")
    }

    pub fn check(&self) -> Report {
        check::check(&self.book(Runs::Stored)).expect("steps that can be read")
    }

    /// Rule and text of each fault.
    pub fn faults(&self) -> Vec<String> {
        let faults = self.check().faults;
        faults.iter().map(|fault| format!("[{}] {fault}", fault.rule)).collect()
    }
}
