//! `build`: the book as pages. The book is checked first; its faults are shown, and the pages are
//! made all the same, since a page with a fault in it is what its author wants to see.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::book::{Book, Runs};
use crate::{check, press, repo};

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
        Ok(pages) => Made { pages: Some(shortened(root, pages)), faults },
        Err(error) => {
            faults.push(format!("{error:#}"));
            Made { pages: None, faults }
        }
    }
}
