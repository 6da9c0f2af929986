//! Tables that are generated from the steps and the chapters. (To be written.)

use anyhow::{Result, bail};

use crate::book::Book;
use crate::origin::Table;

pub fn table(_table: Table, _book: &Book) -> Result<String> {
    bail!("not yet")
}
