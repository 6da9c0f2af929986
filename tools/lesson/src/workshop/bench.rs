//! The bench: a copy of the repository in `target/mutate`, where a step may be broken, built and
//! played, while nothing happens to the repository itself.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;

use super::repo::{Repo, Step, cargo, finish};
use super::{copy, mutations::Mutation};
use crate::process;

/// The first build in the copy makes every crate.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);

/// The copy, and where it is built.
pub struct Bench {
    /// The repository that the copy is of.
    original: PathBuf,
    pub repo: Repo,
    pub target: PathBuf,
    /// Where cargo builds for the repository itself.
    shared: PathBuf,
    /// Packages of the repository that it builds in a way of their own.
    special: Vec<String>,
    /// Held, so that no other run breaks the same copy.
    _lock: std::fs::File,
}

impl Bench {
    /// Makes the copy, or makes the one that is there the same as the repository again.
    pub async fn make(repo: &Repo) -> Result<Bench> {
        let shared = repo.target().await?;
        let place = shared.join("mutate");
        let root = place.join("copy");
        std::fs::create_dir_all(&root).with_context(|| format!("making {}", root.display()))?;
        let lock = process::lock(&place.join("lock"))
            .with_context(|| format!("locking {}", place.display()))?
            .context(
                "another `lesson mutate`, or `doc-sync`, is at work on this clone: let it end first",
            )?;
        copy::sync(&repo.root, &root).await?;
        let original = repo.root.clone();
        let special = special(&std::fs::read_to_string(original.join("Cargo.toml"))?)
            .context("reading the repository's Cargo.toml")?;
        let (repo, target) = (Repo::at(&root)?, place.join("build"));
        Ok(Bench { original, repo, target, shared, special, _lock: lock })
    }

    /// Makes the copy the same as the repository again.
    pub async fn restore(&self) -> Result<()> {
        copy::sync(&self.original, &self.repo.root).await
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut command = cargo(&self.repo.root);
        // To cargo a package of the copy is the same as the original, but for how it is built. Built
        // alike they would share one place in the shared folder, and cargo would look at the copy's
        // files to see whether the original has changed: an edit would go unnoticed.
        for name in &self.special {
            command.arg("--config").arg(format!("profile.dev.package.{name}.debug=1"));
        }
        command.args(words).env("CARGO_TARGET_DIR", &self.target).env("CARGO_TERM_COLOR", "never");
        // The crates that everything stands on are built already; only what is made of the copy
        // must not lie where a person's own programs do. A cargo before 1.91 builds them again.
        command.env("CARGO_BUILD_BUILD_DIR", &self.shared);
        // Nobody debugs a mutation, and linking is faster without. It also keeps the steps of the copy
        // apart from the original ones.
        command.env("CARGO_PROFILE_DEV_DEBUG", "false");
        command
    }

    /// Runs `cargo WORDS PACKAGE` in the copy, and gives what it wrote to standard output. A change
    /// that does not compile is noticed by nobody but the compiler: an error.
    pub async fn build(&self, step: &Step, words: &[&str]) -> Result<String> {
        let package = step.package();
        let words: Vec<&str> =
            ["-q"].iter().chain(words).copied().chain([package.as_str()]).collect();
        let built = finish(self.cargo(&words), BUILD_LIMIT).await?;
        let built = built.context("the build does not end")?;
        if !built.ok {
            bail!("it does not compile:\n{}", first_error(&built.stderr));
        }
        Ok(built.stdout)
    }

    /// Writes the mutation into the copy of the step.
    pub fn apply(&self, step: &Step, mutation: &Mutation) -> Result<Mutated> {
        let file = step.dir.join(&mutation.file);
        let before =
            std::fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
        let after = mutation.apply(&before.replace("\r\n", "\n"))?;
        std::fs::write(&file, after).with_context(|| format!("writing {}", file.display()))?;
        Ok(Mutated { file, before })
    }

    /// Applies a patch, made at the repository's root, to the copy. `restore` takes it back.
    pub async fn patch(&self, patch: &std::path::Path) -> Result<()> {
        let mut command = Command::new("git");
        command.args(["apply", "--whitespace=nowarn"]).arg(patch).current_dir(&self.repo.root);
        // The copy lies within the repository. There git would skip, without a word, what does not
        // lie below its root.
        command.env("GIT_CEILING_DIRECTORIES", &self.shared);
        let applied = finish(command, BUILD_LIMIT).await?.context("git apply does not end")?;
        if !applied.ok {
            bail!("{} does not apply: {}", patch.display(), applied.stderr.trim());
        }
        Ok(())
    }
}

/// The packages with a `[profile.dev.package.NAME]` of their own; `*` are those of others.
fn special(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let profile = manifest.get("profile").and_then(|all| all.get("dev")?.get("package"));
    let names = profile.and_then(toml::Value::as_table).into_iter().flat_map(|table| table.keys());
    Ok(names.filter(|name| *name != "*").cloned().collect())
}

/// A file of the copy that holds a mutation.
pub struct Mutated {
    file: PathBuf,
    before: String,
}

impl Mutated {
    /// The file is as before afterwards.
    pub fn take_back(self) -> Result<()> {
        std::fs::write(&self.file, self.before)
            .with_context(|| format!("writing {}", self.file.display()))
    }
}

/// The compiler's first error, which is what a person mends first.
fn first_error(text: &str) -> String {
    let from_error = text.lines().skip_while(|line| !line.starts_with("error"));
    from_error.take_while(|line| !line.is_empty()).take(12).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_built_in_a_way_of_their_own_are_found() {
        let manifest = "[profile.dev.package.\"*\"]\ndebug = false\n\
                        [profile.dev.package.lesson]\ndebug = false\n[profile.dev]\nincremental = false\n";
        assert_eq!(special(manifest).unwrap(), ["lesson"]);
        assert_eq!(special("[workspace]\n").unwrap(), [""; 0]);
    }
}
