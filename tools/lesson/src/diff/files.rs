//! The files of a step, and which file of one step is which of another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use similar::TextDiff;

/// A file that has no namesake is taken for a moved one when this share of its lines is the same.
const MOVED: f32 = 0.5;

/// One step as `--diff` sees it.
pub struct Step {
    /// The folder's name, such as `02-edit`.
    pub folder: String,
    /// What is compared: path from the step's folder, with `/`, and text.
    pub files: BTreeMap<String, String>,
    /// Everything else: what is not shown.
    pub rest: BTreeMap<String, Vec<u8>>,
}

/// A file's two states. `old` is `None` for a new one, `new` for a removed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair<'a> {
    pub old: Option<(&'a str, &'a str)>,
    pub new: Option<(&'a str, &'a str)>,
}

impl Step {
    pub fn read(dir: &Path) -> Result<Step> {
        let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut step = Step { folder, files: BTreeMap::new(), rest: BTreeMap::new() };
        step.take(dir, "").with_context(|| format!("reading {}", dir.display()))?;
        Ok(step)
    }

    fn take(&mut self, dir: &Path, prefix: &str) -> Result<()> {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                // Build output, where somebody built in a workspace.
                if entry.file_name() != "target" {
                    self.take(&entry.path(), &format!("{name}/"))?;
                }
                continue;
            }
            let bytes = std::fs::read(entry.path()).with_context(|| name.clone())?;
            match String::from_utf8(bytes) {
                Ok(text) if name == "Cargo.toml" || name.starts_with("src/") => {
                    // A checkout may have other line endings on one file than on another.
                    self.files.insert(name, text.replace("\r\n", "\n"));
                }
                Ok(text) => drop(self.rest.insert(name, text.into_bytes())),
                Err(error) => drop(self.rest.insert(name, error.into_bytes())),
            }
        }
        Ok(())
    }

    /// `step02` for the folder `02-edit`.
    pub fn package(&self) -> String {
        format!("step{}", self.folder.split('-').next().unwrap_or_default())
    }

    /// `edit` for the folder `02-edit`.
    pub fn name(&self) -> &str {
        self.folder.split_once('-').map_or("", |(_, name)| name)
    }

    /// What differs from `old` among the files that are not shown: their top-level names.
    pub fn rest_changed(&self, old: &Step) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for path in self.rest.keys().chain(old.rest.keys()) {
            let top = path.split_once('/').map_or(path.clone(), |(top, _)| format!("{top}/"));
            if self.rest.get(path) != old.rest.get(path) && !names.contains(&top) {
                names.push(top);
            }
        }
        names.sort();
        names
    }
}

/// The number at the beginning of a step's folder name.
pub fn number(dir: &Path) -> Option<u32> {
    let name = dir.file_name()?.to_str()?;
    let (digits, _) = name.split_once('-')?;
    if digits.len() != 2 {
        return None;
    }
    digits.parse().ok()
}

/// The pairs that differ, in the order in which they are shown: the new files, the step's own one
/// at their head, then changed and moved ones by path, then removed ones.
pub fn pair<'a>(old: &'a Step, new: &'a Step) -> Vec<Pair<'a>> {
    let mut gone: Vec<_> = only_in(old, new);
    let mut fresh: Vec<_> = only_in(new, old);
    let mut changed = moved(&mut gone, &mut fresh);
    for (path, text) in &new.files {
        if let Some(before) = old.files.get(path).filter(|before| *before != text) {
            changed.push(Pair { old: Some((path, before)), new: Some((path, text)) });
        }
    }
    changed.sort_by_key(|pair| pair.new.map(|(path, _)| path));
    let own = format!("src/{}.rs", new.name());
    fresh.sort_by_key(|(path, _)| (*path != own, *path));

    let mut pairs: Vec<_> =
        fresh.into_iter().map(|file| Pair { old: None, new: Some(file) }).collect();
    pairs.extend(changed);
    pairs.extend(gone.into_iter().map(|file| Pair { old: Some(file), new: None }));
    pairs
}

fn only_in<'a>(one: &'a Step, other: &Step) -> Vec<(&'a str, &'a str)> {
    let alone = one.files.iter().filter(|(path, _)| !other.files.contains_key(*path));
    alone.map(|(path, text)| (path.as_str(), text.as_str())).collect()
}

/// Takes out of both lists what is the same file under another name: the most alike first.
fn moved<'a>(
    gone: &mut Vec<(&'a str, &'a str)>,
    fresh: &mut Vec<(&'a str, &'a str)>,
) -> Vec<Pair<'a>> {
    let mut alike = Vec::new();
    for old in gone.iter() {
        for new in fresh.iter() {
            let ratio = TextDiff::from_lines(old.1, new.1).ratio();
            if ratio >= MOVED {
                alike.push((ratio, *old, *new));
            }
        }
    }
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut pairs = Vec::new();
    for (_, old, new) in alike {
        if gone.contains(&old) && fresh.contains(&new) {
            gone.retain(|file| *file != old);
            fresh.retain(|file| *file != new);
            pairs.push(Pair { old: Some(old), new: Some(new) });
        }
    }
    pairs
}
