//! A copy of the repository that may be broken.
//!
//! It stays in `target/mutate` between runs, and only files that differ are written anew, so that
//! cargo need not build everything again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tokio::process::Command;

/// Makes `copy` the same as the repository: the files that git tracks, and new ones that it does
/// not ignore.
pub async fn sync(root: &Path, copy: &Path) -> Result<()> {
    let files = tracked(root).await?;
    // First, since a file may have become a folder, or a folder a file.
    remove_others(copy, &files.iter().map(|file| copy.join(file)).collect())?;
    for file in &files {
        write_if_other(&root.join(file), &copy.join(file))?;
    }
    Ok(())
}

async fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let out = Command::new("git").args(words).current_dir(root).output().await;
    let out = out.context("running git, which knows the files to copy")?;
    if !out.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&out.stderr).trim());
    }
    let names = String::from_utf8_lossy(&out.stdout);
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // A file that was removed and not yet committed is still in the list.
    Ok(files.filter(|file| root.join(file).is_file()).collect())
}

fn write_if_other(from: &Path, to: &Path) -> Result<()> {
    let wanted = std::fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    }
    std::fs::copy(from, to).with_context(|| format!("writing {}", to.display()))?;
    Ok(())
}

fn remove_others(dir: &Path, wanted: &HashSet<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let entry = entry.with_context(|| format!("reading {}", dir.display()))?;
        let path = entry.path();
        let kind = entry.file_type().with_context(|| format!("looking at {}", path.display()))?;
        if kind.is_dir() {
            remove_others(&path, wanted)?;
            // Succeeds for a folder that is empty now.
            let _ = std::fs::remove_dir(&path);
        } else if !wanted.contains(&path) {
            std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path, words: &[&str]) {
        let done = std::process::Command::new("git").args(words).current_dir(dir).output();
        assert!(done.expect("git is there").status.success(), "git {words:?}");
    }

    #[tokio::test]
    async fn a_copy_has_what_git_would_commit_and_loses_what_is_gone() {
        let (root, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |name: &str, text: &str| {
            let file = root.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        git(root.path(), &["init", "-q"]);
        write(".gitignore", "/target\n");
        write("src/kept.rs", "one");
        write("src/gone.rs", "gone");
        write("target/built", "built");
        git(root.path(), &["add", "."]);
        write("new.rs", "new");
        sync(root.path(), copy.path()).await.unwrap();
        let has = |name: &str| copy.path().join(name).exists();
        assert_eq!(
            ["src/kept.rs", "src/gone.rs", "new.rs", "target"].map(has),
            [true, true, true, false]
        );

        let before = std::fs::metadata(copy.path().join("new.rs")).unwrap().modified().unwrap();
        std::fs::remove_file(root.path().join("src/gone.rs")).unwrap();
        std::fs::write(copy.path().join("src/kept.rs"), "broken").unwrap();
        sync(root.path(), copy.path()).await.unwrap();
        assert!(!has("src/gone.rs"));
        assert_eq!(std::fs::read_to_string(copy.path().join("src/kept.rs")).unwrap(), "one");
        let after = std::fs::metadata(copy.path().join("new.rs")).unwrap().modified().unwrap();
        assert_eq!(before, after, "what has not changed is not written anew");
    }

    #[tokio::test]
    async fn a_file_may_become_a_folder_and_a_folder_a_file() {
        let (root, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        git(root.path(), &["init", "-q"]);
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        std::fs::write(&one, "a file").unwrap();
        std::fs::create_dir_all(two.join("deep")).unwrap();
        std::fs::write(two.join("deep").join("below"), "a folder").unwrap();
        sync(root.path(), copy.path()).await.unwrap();

        std::fs::remove_file(&one).unwrap();
        std::fs::create_dir(&one).unwrap();
        std::fs::write(one.join("below"), "a folder now").unwrap();
        std::fs::remove_dir_all(&two).unwrap();
        std::fs::write(&two, "a file now").unwrap();
        sync(root.path(), copy.path()).await.unwrap();
        let text = |name: &str| std::fs::read_to_string(copy.path().join(name)).unwrap();
        assert_eq!(text("one/below"), "a folder now");
        assert_eq!(text("two"), "a file now");
    }
}
