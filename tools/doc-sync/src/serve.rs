//! `serve`: the book in a browser, made anew when a chapter or a step changes. (To be written.)

use std::path::Path;

use anyhow::{Result, bail};

/// Serves the book in `folder` of the repository at `root` until it is interrupted.
pub fn serve(_root: &Path, _folder: &Path, _port: u16, _open: bool) -> Result<bool> {
    bail!("not yet")
}
