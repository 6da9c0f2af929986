//! The book as it stands on disk: its pages, and the steps that they are about.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::changes::{self, Added};
use crate::origin::Origin;
use crate::repo::{self, Files, Step};
use crate::runs;
use crate::sources::Sources;

pub use crate::page::Page;

/// What is done about a stored run whose step has changed since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runs {
    /// It is a fault, and nothing is run: `check`.
    Stored,
    /// It is run again and stored: `sync`. The matrix is not, since it takes minutes.
    Renewed,
    /// The matrix too: `sync --matrix`.
    AllRenewed,
    /// Everything is run again and compared with what is stored: `check --fresh`.
    Fresh,
}

pub struct Book {
    pub root: PathBuf,
    /// The folder that holds `book.toml`, `runs/` and `exercises/`.
    pub folder: PathBuf,
    /// The folder of the pages.
    pub src: PathBuf,
    pub steps: Vec<Step>,
    /// All Markdown files below `src`, by name.
    pub pages: Vec<Page>,
    pub runs: Runs,
    /// The Rust files of the steps, each parsed at most once.
    pub sources: Sources,
    /// What is known of the stored runs.
    pub store: runs::Store,
    added: Mutex<HashMap<usize, Arc<Added>>>,
}

impl Book {
    /// Reads the book in `folder`, a path from the repository's root.
    pub fn load(root: &Path, folder: &Path, runs: Runs) -> Result<Self> {
        let folder = root.join(folder);
        let src = folder.join(source_folder(&folder)?);
        let files: Files = repo::files_on_disk(&src)?;
        let mut pages = Vec::new();
        for (name, bytes) in files.into_iter().filter(|(name, _)| name.ends_with(".md")) {
            let path = src.join(&name);
            let text = String::from_utf8(bytes)
                .with_context(|| format!("{} is not UTF-8; save it as UTF-8", path.display()))?;
            pages.push(Page::read(path, name, text));
        }
        let (root, steps) = (root.to_path_buf(), repo::steps(root)?);
        Ok(Self {
            root,
            folder,
            src,
            steps,
            pages,
            runs,
            sources: Sources::default(),
            store: runs::Store::default(),
            added: Mutex::default(),
        })
    }

    /// The step that an origin is about: the one it names, or its chapter's own.
    pub fn step_of(&self, origin: &Origin, page: &Page) -> Result<usize> {
        origin.step.or(page.front.step).with_context(|| {
            format!("{} is no chapter of a step: name the step behind the verb", page.name)
        })
    }

    pub fn step(&self, number: usize) -> Result<&Step> {
        match self.steps.iter().find(|step| step.number == number) {
            Some(step) => Ok(step),
            None => {
                let names: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
                bail!("there is no step {number:02}: there are {}", names.join(", "))
            }
        }
    }

    /// The step before this one.
    pub fn before(&self, step: &Step) -> Option<&Step> {
        self.steps.iter().rev().find(|other| other.number < step.number)
    }

    /// What a step adds.
    pub fn added(&self, step: &Step) -> Result<Arc<Added>> {
        let known = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(added) = known.get(&step.number) {
            return Ok(Arc::clone(added));
        }
        drop(known);
        let added = Arc::new(changes::added(self, step)?);
        let mut known = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(step.number, Arc::clone(&added));
        Ok(added)
    }

    /// The chapter of a step.
    pub fn chapter(&self, step: usize) -> Option<&Page> {
        self.pages.iter().find(|page| page.front.step == Some(step))
    }

    /// A path as a person sees it: from the repository's root, with `/`.
    pub fn shown(&self, path: &Path) -> String {
        repo::slashed(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

/// The `src` of `book.toml`, which mdBook takes for `src` where it is absent.
fn source_folder(folder: &Path) -> Result<String> {
    let path = folder.join("book.toml");
    let text = fs::read_to_string(&path).with_context(|| {
        format!("{} cannot be read; --book names the folder that holds it", path.display())
    })?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
    let src = manifest.get("book").and_then(|book| book.get("src")).and_then(toml::Value::as_str);
    Ok(src.unwrap_or("src").to_string())
}
