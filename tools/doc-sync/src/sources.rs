//! The Rust files of the steps. Each step is nearly a copy of the one before, so most files are
//! met many times over: a text is parsed once, however many steps have it.

mod items;
mod lookup;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};

use crate::code::{self, Code};
use crate::near;
use crate::repo::{self, Step};

pub use items::{Item, Kind};

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    pub text: String,
    pub items: Vec<Item>,
    pub code: Code,
}

/// All files that were read so far, by their text.
#[derive(Default)]
pub struct Sources {
    parsed: Mutex<HashMap<String, Arc<Source>>>,
    /// Which Rust files a step has, from its folder, by the step's name.
    names: Mutex<HashMap<String, Arc<Vec<String>>>>,
}

impl Sources {
    /// A file of a step, by its path from the step's folder. `None` if there is none.
    pub fn get(&self, step: &Step, file: &str) -> Result<Option<Arc<Source>>> {
        let path = step.folder.join(file);
        if !path.is_file() {
            return Ok(None);
        }
        self.parse(&read(&path)?).with_context(|| format!("steps/{}/{file}", step.name)).map(Some)
    }

    /// The same, where the file has to be there.
    pub fn need(&self, step: &Step, file: &str) -> Result<Arc<Source>> {
        if !file.ends_with(".rs") {
            bail!("{file} is no Rust; show it with `file`");
        }
        if let Some(source) = self.get(step, file)? {
            return Ok(source);
        }
        let names = self.names(step)?;
        let short: Vec<&str> = names.iter().map(|name| short_name(name)).collect();
        bail!("step {:02} has no {file}{}", step.number, near::hint(short_name(file), &short))
    }

    /// The Rust files below a step's `src`, from its folder.
    pub fn names(&self, step: &Step) -> Result<Arc<Vec<String>>> {
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(&step.name) {
            return Ok(Arc::clone(names));
        }
        let mut names = Vec::new();
        for path in repo::files_on_disk(&step.folder.join("src"))?.into_keys() {
            if path.ends_with(".rs") {
                names.push(format!("src/{path}"));
            }
        }
        let names = Arc::new(names);
        known.insert(step.name.clone(), Arc::clone(&names));
        Ok(names)
    }

    fn parse(&self, text: &str) -> Result<Arc<Source>> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = parsed.get(text) {
            return Ok(Arc::clone(source));
        }
        let file = syn::parse_file(text).map_err(|error| {
            let place = error.span().start();
            anyhow!(
                "it is not valid Rust, line {}, column {}: {error}",
                place.line,
                place.column + 1
            )
        })?;
        let (items, code) = (items::of(text, &file), code::of(text, &file));
        let source = Arc::new(Source { text: text.to_string(), items, code });
        parsed.insert(text.to_string(), Arc::clone(&source));
        Ok(source)
    }
}

impl Source {
    pub fn lines(&self) -> Vec<&str> {
        self.text.lines().collect()
    }
}

/// A text file with `\n` at the end of each line, as checkouts may differ in that.
pub fn read(path: &Path) -> Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.replace("\r\n", "\n"))
}

/// Where a file that an origin names lies in the step's folder: Rust files are under `src/`,
/// but for those that say otherwise.
pub fn path_of(file: &str) -> String {
    let elsewhere = ["src/", "tests/", "examples/", "workspace/"];
    match file.ends_with(".rs") && !elsewhere.iter().any(|folder| file.starts_with(folder)) {
        true => format!("src/{file}"),
        false => file.to_string(),
    }
}

fn short_name(path: &str) -> &str {
    path.strip_prefix("src/").unwrap_or(path)
}
