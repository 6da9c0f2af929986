//! The folders of one run: a fresh copy of `workspace/` and `home/`, filled with the run's values.
//!
//! They lie in one temporary folder, which goes when the run ends unless it is to be kept.
//! A `target` folder is not copied: somebody may have built the workspace where it lies.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use mock_server::Values;
use tempfile::TempDir;

use super::regular::{LIMIT, Unfit, copy_regular, read_regular};

pub struct Rooms {
    folder: TempDir,
    base: PathBuf,
}

impl Rooms {
    /// Copies the scene's folders.
    pub fn copy(scene_dir: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("lantern-")
            .tempdir()
            .context("making a temporary folder for the run")?;
        // macOS names its temporary folder by a symbolic link, programs see what it points to.
        let base = fs::canonicalize(folder.path()).unwrap_or_else(|_| folder.path().to_path_buf());
        let rooms = Self { folder, base };
        for (name, room) in [("workspace", rooms.workspace()), ("home", rooms.home())] {
            fs::create_dir(&room).with_context(|| format!("making {}", room.display()))?;
            let from = scene_dir.join(name);
            if from.is_dir() {
                copy_folder(&from, &room)?;
            }
        }
        Ok(rooms)
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn workspace(&self) -> PathBuf {
        self.base.join("workspace")
    }

    pub fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    /// Where the program reads how far its clock has moved on.
    pub fn clock(&self) -> PathBuf {
        self.base.join("clock")
    }

    /// A path as a scene writes it: below the workspace, or with `~/` below the home. Paths that
    /// lead elsewhere are refused.
    pub fn find(&self, path: &str) -> Result<PathBuf> {
        let (room, below) = match path.strip_prefix("~/") {
            Some(below) => (self.home(), below),
            None => (self.workspace(), path),
        };
        let stays = Path::new(below)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !stays {
            bail!(
                "`{path}` leads out of the run's folders: name a path below workspace/, or `~/…`"
            );
        }
        Ok(room.join(below))
    }

    /// A path as `find` finds it, of something that is to be changed. The program may have made a
    /// link on the way that leads elsewhere, where nothing may be changed.
    pub fn find_to_change(&self, path: &str) -> Result<PathBuf> {
        let file = self.find(path)?;
        self.stays(&file).with_context(|| format!("{path} cannot be changed"))?;
        Ok(file)
    }

    fn stays(&self, file: &Path) -> Result<()> {
        let inside =
            |place: &Path| place.canonicalize().ok().map(|real| real.starts_with(&self.base));
        // Of folders that are still to be made, the one that they will be in counts.
        let above = file.ancestors().skip(1).find_map(inside);
        let is_link = file.is_symlink();
        if above != Some(true) || (is_link && inside(file) != Some(true)) {
            bail!("a link leads from there out of the run's folders");
        }
        Ok(())
    }

    /// Fills the run's values into the files that the scene lists.
    pub fn fill(&self, files: &[String], values: &Values) -> Result<()> {
        for file in files {
            let path = self.find(file)?;
            let text = fs::read_to_string(&path)
                .with_context(|| format!("filling the run's values into {file}"))?;
            fs::write(&path, values.fill_file(&text)).with_context(|| format!("writing {file}"))?;
        }
        Ok(())
    }

    /// The bytes of some files as they are now; `None` where there is nothing.
    pub fn remember<'a>(
        &self,
        files: impl Iterator<Item = &'a str>,
    ) -> Result<HashMap<String, Option<Vec<u8>>>> {
        let now = |file: &str| match read_regular(&self.find(file)?, LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Unfit::Missing) => Ok(None),
            Err(unfit) => bail!("{file} is to stay unchanged, and {unfit}"),
        };
        files.map(|file| Ok((file.to_string(), now(file)?))).collect()
    }

    /// The one file to change that a path with `*` in its names means, if there is one.
    pub fn find_one(&self, pattern: &str) -> Result<Option<PathBuf>> {
        let whole = self.find(pattern)?;
        let below = whole.strip_prefix(&self.base).unwrap_or(&whole);
        let mut found = vec![self.base.clone()];
        for part in below.components() {
            let part = part.as_os_str().to_string_lossy().into_owned();
            found = found.iter().flat_map(|folder| matching(folder, &part)).collect();
        }
        match found.as_slice() {
            [one] => {
                self.stays(one).with_context(|| format!("{pattern} cannot be changed"))?;
                Ok(Some(one.clone()))
            }
            [] => Ok(None),
            more => bail!("`{pattern}` names {} files, and should name one", more.len()),
        }
    }

    /// Leaves the folder where it is.
    pub fn keep(mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.base
    }
}

/// Entries of a folder whose name fits a pattern with `*`.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains('*') {
        return Some(folder.join(pattern)).filter(|path| path.exists()).into_iter().collect();
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let fits = |name: &str| {
        let pieces: Vec<&str> = pattern.split('*').collect();
        let (first, last) = (pieces[0], pieces[pieces.len() - 1]);
        let Some(mut rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last))
        else {
            return false;
        };
        pieces[1..pieces.len() - 1].iter().all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    };
    let named = entries.flatten().filter(|entry| fits(&entry.file_name().to_string_lossy()));
    named.map(|entry| entry.path()).collect()
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("reading {}", from.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().with_context(|| format!("looking at {}", source.display()))?;
        if kind.is_dir() && entry.file_name() == "target" {
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(&target).with_context(|| format!("making {}", target.display()))?;
            copy_folder(&source, &target)?;
        } else {
            copy_regular(&source, &target)
                .with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_scene_dir() -> TempDir {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(dir.path().join("workspace/src")).expect("made");
        fs::create_dir_all(dir.path().join("workspace/target/debug")).expect("made");
        fs::create_dir_all(dir.path().join("home/.config")).expect("made");
        fs::write(dir.path().join("workspace/src/a.rs"), "port = <<port>>\n<<port * x>>\n")
            .expect("written");
        fs::write(dir.path().join("home/.config/one-1.json"), "{}").expect("written");
        dir
    }

    #[test]
    fn the_rooms_are_copies_without_target_and_go_with_the_run() {
        let dir = a_scene_dir();
        let rooms = Rooms::copy(dir.path()).expect("copied");
        let base = rooms.base().to_path_buf();
        assert!(rooms.find("src/a.rs").expect("inside").is_file());
        assert!(!rooms.workspace().join("target").exists());
        drop(rooms);
        assert!(!base.exists());
    }

    #[test]
    fn values_are_filled_into_the_copy_alone() {
        let dir = a_scene_dir();
        let rooms = Rooms::copy(dir.path()).expect("copied");
        let mut values = Values::default();
        values.set("port", "2".to_string());
        rooms.fill(&["src/a.rs".to_string()], &values).expect("filled");
        let text = fs::read_to_string(rooms.workspace().join("src/a.rs")).expect("read");
        assert_eq!(text, "port = 2\nx\nx\n");
        let original = fs::read_to_string(dir.path().join("workspace/src/a.rs")).expect("read");
        assert!(original.contains("<<port>>"));
    }

    #[test]
    fn a_path_out_of_the_rooms_is_refused() {
        let rooms = Rooms::copy(a_scene_dir().path()).expect("copied");
        assert!(rooms.find("../elsewhere").is_err());
        assert!(rooms.find("~/../elsewhere").is_err());
        assert!(rooms.find("/etc/passwd").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_changed_where_a_link_leads_out() {
        use std::os::unix::fs::symlink;
        let rooms = Rooms::copy(a_scene_dir().path()).expect("copied");
        let elsewhere = tempfile::tempdir().expect("a temporary folder");
        fs::write(elsewhere.path().join("file"), "").expect("written");
        let links = [("folder", ""), ("file", "file"), ("nothing", "nothing")];
        for (name, to) in links {
            symlink(elsewhere.path().join(to), rooms.workspace().join(name)).expect("linked");
        }
        symlink("src", rooms.workspace().join("inside")).expect("linked");
        for path in ["folder/file", "folder/new/file", "file", "nothing"] {
            let error = rooms.find_to_change(path).expect_err(path);
            let wrong = format!(
                "{path} cannot be changed: a link leads from there out of the run's folders"
            );
            assert_eq!(format!("{error:#}"), wrong);
        }
        assert!(rooms.find_one("fil*").is_err());
        for path in ["inside/a.rs", "inside/new/b.rs", "new.rs", "src/a.rs", "~/new"] {
            rooms.find_to_change(path).expect(path);
        }
    }

    #[test]
    fn a_pattern_names_exactly_one_file() {
        let rooms = Rooms::copy(a_scene_dir().path()).expect("copied");
        let found = rooms.find_one("~/.config/*-1.json").expect("one").expect("there");
        assert!(found.ends_with("one-1.json"));
        assert_eq!(rooms.find_one("~/.config/*.toml").expect("none"), None);
        fs::write(rooms.home().join(".config/two-1.json"), "").expect("written");
        let error = rooms.find_one("~/.config/*-1.json").expect_err("two fit").to_string();
        assert!(error.contains("names 2 files"), "{error}");
    }
}
