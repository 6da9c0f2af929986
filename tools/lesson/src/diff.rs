//! `--diff`: what a step adds to the one before.
//!
//! Both steps' folders are read (`files`), their files are paired, a moved file with its old self,
//! and the pairs are written as a diff for reading, not for `patch` (`render`): the new file first,
//! unchanged functions folded to a line that names them (`items`), and at the end what was added
//! and removed in all. On a terminal it goes to a pager (`pager`).
//!
//! Shown is what a learner types in: `src/` and `Cargo.toml`. The scene, its workspace and the
//! tests are only named.

mod files;
mod items;
mod pager;
mod render;
mod wrap;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub use files::{Pair, Step, pair};
pub use render::{Style, first_step, render, stat};

/// Prints what the step in `step_dir` adds to the one before it, or to the step `from` (`3`, `03`,
/// `step03` or `03-prompt`). `only_stat` leaves the code out.
///
/// Errors where a folder cannot be read or `from` names no step.
pub fn run(step_dir: &Path, from: Option<&str>, only_stat: bool) -> Result<()> {
    let steps = neighbours(step_dir)?;
    let this = steps
        .iter()
        .position(|dir| dir.file_name() == step_dir.file_name())
        .with_context(|| format!("{} is not the folder of a step", step_dir.display()))?;
    let base = match from {
        Some(name) => Some(find(&steps, name)?),
        None => this.checked_sub(1).map(|before| &steps[before]),
    };
    let style = pager::style();
    let new = Step::read(&steps[this])?;
    let text = match base {
        None => first_step(&new, &style),
        Some(base) if *base == steps[this] => {
            bail!("{} is this step itself: name another one after --from", new.package())
        }
        Some(base) => {
            let old = Step::read(base)?;
            let pairs = pair(&old, &new);
            let write = if only_stat { stat } else { render };
            write(&old, &new, &pairs, &style)
        }
    };
    pager::show(&text)
}

/// The folders of all steps, in order: those beside this one that begin with two digits.
fn neighbours(step_dir: &Path) -> Result<Vec<PathBuf>> {
    let all = step_dir.parent().context("a step's folder has no parent folder")?;
    let mut steps = Vec::new();
    for entry in std::fs::read_dir(all).with_context(|| format!("reading {}", all.display()))? {
        let path = entry?.path();
        if files::number(&path).is_some() && path.join("Cargo.toml").is_file() {
            steps.push(path);
        }
    }
    steps.sort();
    Ok(steps)
}

fn find<'a>(steps: &'a [PathBuf], name: &str) -> Result<&'a PathBuf> {
    let digits = name.strip_prefix("step").unwrap_or(name);
    let digits = digits.split('-').next().unwrap_or(digits);
    let number = digits.parse::<u32>().ok();
    let found = steps.iter().find(|dir| number.is_some() && files::number(dir) == number);
    found.with_context(|| {
        let known: Vec<_> = steps.iter().filter_map(|dir| dir.file_name()?.to_str()).collect();
        format!("there is no step {name}: there are {}", known.join(", "))
    })
}
