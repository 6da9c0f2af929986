//! What a run depends on, as a number: where it is the same, the stored run is still true.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::repo;

/// FNV-1a with 64 bits. It is the same on every system and with every compiler, which the standard
/// library does not promise of its own hashes. Nobody attacks it here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hash(pub u64);

impl Hash {
    pub fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a piece. Where it ends counts: `ab`, `c` differs from `a`, `bc`.
    pub fn add(&mut self, piece: &[u8]) {
        for byte in piece.iter().chain(&(piece.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Hashes of files and folders, each made once.
#[derive(Default)]
pub struct Hashes {
    known: HashMap<PathBuf, u64>,
}

impl Hashes {
    /// The hash of a file, or of all files below a folder but for `target` and `bin`. What is not
    /// there is a state, too. Line ends do not count: git may have changed them.
    pub fn of(&mut self, path: &Path) -> Result<u64> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let mut hash = Hash::new();
        if path.is_dir() {
            let files = repo::files_on_disk(path)?;
            for (name, bytes) in files.iter().filter(|(name, _)| !name.starts_with("bin/")) {
                hash.add(name.as_bytes());
                hash.add(&without_returns(bytes));
            }
        } else if path.exists() {
            let bytes = std::fs::read(path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            hash.add(&without_returns(&bytes));
        }
        self.known.insert(path.to_path_buf(), hash.0);
        Ok(hash.0)
    }
}

fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let followed = bytes.iter().skip(1).map(Some).chain([None]);
    let kept = bytes.iter().zip(followed).filter(|pair| *pair != (&b'\r', Some(&b'\n')));
    kept.map(|(byte, _)| *byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_same_everywhere() {
        let mut hash = Hash::new();
        hash.add(b"lamp");
        assert_eq!(hash.0, 0x8035_f38b_85aa_845f);
        let mut split = Hash::new();
        split.add(b"la");
        split.add(b"mp");
        assert_ne!(split, hash);
    }

    #[test]
    fn a_folder_changes_with_its_files_and_not_with_their_line_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        let now = || Hashes::default().of(folder.path()).unwrap();
        let empty = now();
        std::fs::write(&file, "one\ntwo\n").unwrap();
        let first = now();
        assert_ne!(first, empty);
        std::fs::write(&file, "one\r\ntwo\r\n").unwrap();
        assert_eq!(now(), first);
        std::fs::write(&file, "one\ntwo!\n").unwrap();
        assert_ne!(now(), first);
        std::fs::write(&file, "one\ntwo\n").unwrap();
        for left_out in ["target", "bin"] {
            std::fs::create_dir(folder.path().join(left_out)).unwrap();
            std::fs::write(folder.path().join(left_out).join("x"), "x").unwrap();
        }
        assert_eq!(now(), first);
    }
}
