//! Which run it is: its name in `book/runs`, and what it depends on.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::figures;
use super::hash::{Hash, Hashes};
use super::same::FORM;
use crate::book::Book;
use crate::origin::Half;
use crate::repo::{self, Step};

/// Every run draws the same values.
pub const SEED: &str = "7";

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A step with these words behind `--`. Before them may stand `LOOPWRIGHT_…=…`, variables.
    Step { step: usize, words: Vec<String> },
    /// A step's scene with the mutation that makes this claim untrue.
    Without { step: usize, claim: String },
    /// An exercise's scene on its step, as the step is or with the solution.
    Exercise { name: String, solved: bool },
    /// A part of a request or reply of a step's own scene, as JSON.
    Wire { step: usize, half: Half, number: usize, path: String },
    /// Every scene on every step.
    Matrix,
    /// What the requests and replies of a step's own scene hold, and its screen: what pictures are
    /// drawn from.
    Figures { step: usize },
    /// When the requests of a step's own scene came and their replies went, and when the screen
    /// showed what. No two runs have the same times, so these are not compared.
    Times { step: usize },
}

impl What {
    /// Its file in `book/runs`, which is also its name in the lock.
    pub fn file(&self) -> String {
        match self {
            What::Step { step, words } => match slug(&words.join(" ")) {
                name if name.is_empty() => format!("step{step:02}.txt"),
                name => format!("step{step:02}-{name}.txt"),
            },
            What::Without { step, claim } => format!("step{step:02}-without-{}.txt", slug(claim)),
            What::Wire { step, half, number, path } => {
                format!("step{step:02}-{}-{number}-{}.json", half.name(), slug(path))
            }
            What::Exercise { name, solved: false } => format!("exercise-{name}.txt"),
            What::Exercise { name, solved: true } => format!("exercise-{name}-solved.txt"),
            What::Matrix => "matrix.txt".to_string(),
            What::Figures { step } => format!("figures-{step:02}.json"),
            What::Times { step } => format!("times-{step:02}.json"),
        }
    }

    /// The hash of all that the run depends on.
    pub fn hash(&self, book: &Book, hashes: &mut Hashes) -> Result<u64> {
        let mut hash = Hash::new();
        for text in [format!("{FORM} {SEED}"), format!("{self:?}")] {
            hash.add(text.as_bytes());
        }
        // A screen ends with what to try next, and so names the steps before and after.
        book.steps.iter().for_each(|step| hash.add(step.name.as_bytes()));
        for path in self.depends(book)? {
            let within = path.strip_prefix(&book.root).unwrap_or(&path);
            hash.add(repo::slashed(within).as_bytes());
            hash.add(&hashes.of(&path)?.to_le_bytes());
        }
        if matches!(self, What::Figures { .. } | What::Times { .. }) {
            hash.add(&figures::FORM.to_le_bytes());
        }
        if let What::Without { step, claim } = self {
            hash.add(format!("{:?}", super::mutation(book.step(*step)?, claim)?).as_bytes());
        }
        Ok(hash.0)
    }

    /// Files and folders. Of what does not exist the hash says that it does not.
    fn depends(&self, book: &Book) -> Result<Vec<PathBuf>> {
        let mut paths = vec![
            book.root.join("Cargo.lock"),
            book.root.join("mock-server").join("src"),
            book.root.join("tools").join("lesson").join("src"),
        ];
        match self {
            What::Step { step, words } => {
                let step = book.step(*step)?;
                paths.extend(code_of(step));
                paths.extend(scene_in(&scene_folder(book, step, words)?));
                if words.iter().any(|word| word == "--diff") {
                    book.steps.iter().for_each(|other| paths.extend(code_of(other)));
                }
            }
            What::Without { step, .. }
            | What::Figures { step }
            | What::Times { step }
            | What::Wire { step, .. } => {
                let step = book.step(*step)?;
                paths.extend(code_of(step));
                paths.extend(scene_in(&step.folder));
            }
            What::Exercise { name, solved } => {
                let folder = crate::exercises::folder(&book.root, name);
                paths.extend(code_of(book.step(super::step_of_exercise(name)?)?));
                paths.extend(scene_in(&folder));
                if *solved {
                    paths.push(folder.join("solution.patch"));
                }
            }
            What::Matrix => {
                for step in &book.steps {
                    paths.extend(code_of(step));
                    paths.extend(scene_in(&step.folder));
                }
            }
        }
        Ok(paths)
    }
}

fn code_of(step: &Step) -> [PathBuf; 2] {
    ["src", "Cargo.toml"].map(|name| step.folder.join(name))
}

/// `Cargo.toml` has the line that says what the scene's step adds.
fn scene_in(folder: &Path) -> [PathBuf; 4] {
    ["scene.toml", "workspace", "home", "Cargo.toml"].map(|name| folder.join(name))
}

/// The folder of the scene that is played: behind `--scene` stands a step or a folder.
fn scene_folder(book: &Book, step: &Step, words: &[String]) -> Result<PathBuf> {
    let named = words.iter().skip_while(|word| *word != "--scene").nth(1);
    Ok(match named {
        None => step.folder.clone(),
        Some(name) if name.contains('/') => book.root.join(name),
        Some(name) => book.steps[repo::find(&book.steps, name)?].folder.clone(),
    })
}

/// Letters and digits of a text, joined by `-`: a name for a file on every system.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => slug.push(letter),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_end_matches('-').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn each_run_has_a_file_of_its_own() {
        let names = [
            What::Step { step: 2, words: vec![] },
            What::Step { step: 1, words: words("--scene 02") },
            What::Step { step: 7, words: words("LOOPWRIGHT_OFF=snip,compaction") },
            What::Without { step: 2, claim: "Places that overlap are two places".into() },
            What::Exercise { name: "02-two".into(), solved: false },
            What::Exercise { name: "02-two".into(), solved: true },
            What::Figures { step: 0 },
        ]
        .map(|what| what.file());
        assert_eq!(
            names,
            [
                "step02.txt",
                "step01-scene-02.txt",
                "step07-loopwright-off-snip-compaction.txt",
                "step02-without-places-that-overlap-are-two-places.txt",
                "exercise-02-two.txt",
                "exercise-02-two-solved.txt",
                "figures-00.json",
            ]
        );
    }
}
