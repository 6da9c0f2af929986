//! `build`: the book as pages. The book is checked first; its faults are shown, and the pages are
//! made all the same, since a page with a fault in it is what its author wants to see.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::book::{Book, Runs};
use crate::{check, press};

/// A book as it was made.
#[derive(Debug, Default)]
pub struct Made {
    /// The folder with the pages; none where they could not be made.
    pub pages: Option<PathBuf>,
    /// Each as a person reads it.
    pub faults: Vec<String>,
}

/// Makes the pages of the book in `folder`, a path from the repository's root.
pub fn build(root: &Path, folder: &Path) -> Result<Made> {
    press::ready(root)?;
    let faults = faults(root, folder);
    Ok(pages(root, folder, faults))
}

/// What `check` finds; that it cannot read the book is a fault too.
pub fn faults(root: &Path, folder: &Path) -> Vec<String> {
    match Book::load(root, folder, Runs::Stored).and_then(|book| check::check(&book)) {
        Ok(report) => report.faults.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("{error:#}")],
    }
}

/// Has the pages made. That they cannot be is one more fault.
pub fn pages(root: &Path, folder: &Path, mut faults: Vec<String>) -> Made {
    match press::make(root, &root.join(folder)) {
        Ok(pages) => Made { pages: Some(pages), faults },
        Err(error) => {
            faults.push(format!("{error:#}"));
            Made { pages: None, faults }
        }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        let count = match self.faults.len() {
            0 => "nothing is wrong with it".to_string(),
            1 => "one fault, above".to_string(),
            many => format!("{many} faults, above"),
        };
        match &self.pages {
            Some(pages) => writeln!(f, "the book is in {} ({count})", pages.display()),
            None => writeln!(f, "the pages could not be made"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pages: Option<&str>, faults: &[&str]) -> String {
        let faults = faults.iter().map(|fault| fault.to_string()).collect();
        Made { pages: pages.map(PathBuf::from), faults }.to_string()
    }

    #[test]
    fn the_folder_is_said_after_the_faults_and_their_number() {
        assert_eq!(said(Some("out"), &[]), "the book is in out (nothing is wrong with it)\n");
        assert_eq!(
            said(Some("out"), &["a.md:1: x", "b.md:2: y"]),
            "a.md:1: x\nb.md:2: y\nthe book is in out (2 faults, above)\n"
        );
    }

    #[test]
    fn a_book_without_pages_is_not_said_to_be_anywhere() {
        assert_eq!(said(None, &["no SUMMARY.md"]), "no SUMMARY.md\nthe pages could not be made\n");
    }
}
