//! The exercises of the chapters. (To be written.)

use anyhow::{Result, bail};

use crate::book::Book;

pub fn exercise(_name: &str, _book: &Book) -> Result<String> {
    bail!("not yet")
}

pub fn solution(_name: &str, _book: &Book) -> Result<String> {
    bail!("not yet")
}
