//! Makes the pages of a book: `press BOOK-FOLDER`. Its one line on standard output is the folder
//! that the pages were written to.
//!
//! It does what `mdbook build` does and nothing else. It is a program of its own because of what
//! mdBook's driver is built with: `doc-sync` shares its crates with the steps, and this shares none.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use mdbook_driver::MDBook;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let folder = std::env::args_os().nth(1).context("name the book's folder: press book")?;
    let folder = Path::new(&folder);
    // Without it mdBook would make a book with settings of its own, somewhere else.
    ensure!(
        folder.join("book.toml").is_file(),
        "there is no book.toml in {}: name the folder of a book",
        folder.display()
    );
    let book = MDBook::load(folder)
        .with_context(|| format!("mdBook cannot read the book in {}", folder.display()))?;
    book.build().context("mdBook cannot make the pages")?;
    println!("{}", book.build_dir_for("html").display());
    Ok(())
}
