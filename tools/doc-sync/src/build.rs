//! `build`: the book as pages, by mdBook's driver. (To be written.)

use anyhow::{Result, bail};

use crate::book::Book;

/// Builds the book. Whether it is free of faults.
pub fn build(_book: &Book, _open: bool) -> Result<bool> {
    bail!("not yet")
}
