//! The blocks that are made of the steps' files: items, files, diffs, and the rest.

mod cut;
pub mod diff;
pub mod fence;
mod file;
mod frame;
mod item;
mod place;
mod rest;

use crate::book::{Book, Page};
use crate::generate::Block;
use crate::repo::Step;

pub use cut::cut;
pub use diff::diff;
pub use fence::fence;
pub use file::file;
pub use item::item;
pub use rest::rest;

/// What a block is about.
pub struct At<'a> {
    pub book: &'a Book,
    pub page: &'a Page,
    pub step: &'a Step,
}

impl At<'_> {
    /// The step before this one, if there is one.
    fn before(&self) -> Option<&Step> {
        self.book.before(self.step)
    }

    /// Whether the block shows another step than the chapter's own, which its place line says.
    fn is_elsewhere(&self) -> bool {
        self.page.front.step != Some(self.step.number)
    }
}

/// Puts a block into `<details>`. The empty lines let Markdown be Markdown inside.
pub fn fold(block: Block, summary: &str) -> Block {
    let markdown = format!(
        "<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n",
        block.markdown.trim_end()
    );
    Block { markdown, ..block }
}
