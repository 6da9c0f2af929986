//! One Markdown file of the book.

use std::path::PathBuf;

use crate::front::Front;
use crate::regions::{self, Region};

#[derive(Debug)]
pub struct Page {
    pub path: PathBuf,
    /// From the pages' folder: `03-prompt.md`.
    pub name: String,
    pub text: String,
    pub front: Front,
    pub regions: Vec<Region>,
    /// Lines, from 1, at which a comment cannot be read, and why.
    pub faults: Vec<(usize, String)>,
}

impl Page {
    pub fn read(path: PathBuf, name: String, text: String) -> Self {
        let (front, mut faults) = Front::read(&text);
        let (regions, more) = regions::find(&text);
        faults.extend(more);
        Self { path, name, text, front, regions, faults }
    }

    /// The number in the name of a chapter: 3 for `03-prompt.md`.
    pub fn number(&self) -> Option<usize> {
        let (digits, _) = self.name.split_once('-')?;
        if digits.len() == 2 { digits.parse().ok() } else { None }
    }
}
