//! What a step adds to the one before it.

use std::path::Path;

/// Prints the difference.
pub fn run(step_dir: &Path, from: Option<&str>, stat: bool) -> anyhow::Result<()> {
    let _ = (step_dir, from, stat);
    anyhow::bail!("not yet")
}
