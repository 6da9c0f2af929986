//! `runs.lock`: for each stored run, the hash of what it depended on when it was made.
//!
//! One line a run, sorted, so that two branches which made different runs anew merge.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

const HEAD: &str = "# What each run depends on, as a hash. `doc-sync sync` writes this file.\n";

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Lock {
    /// Hash by the run's name.
    pub hashes: BTreeMap<String, u64>,
}

impl Lock {
    /// Reads the file; nothing is locked where there is none.
    pub fn read(path: &Path) -> Result<Lock> {
        if !path.exists() {
            return Ok(Lock::default());
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        Lock::parse(&text).with_context(|| {
            format!("{} is damaged: remove it, and `doc-sync sync` makes all anew", path.display())
        })
    }

    fn parse(text: &str) -> Result<Lock> {
        let mut lock = Lock::default();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = line.split_once("  ").and_then(|(hash, name)| {
                Some((name.to_string(), u64::from_str_radix(hash, 16).ok()?))
            });
            let Some((name, hash)) = read else {
                bail!("line {} is no hash and a name: {line:?}", index + 1)
            };
            lock.hashes.insert(name, hash);
        }
        Ok(lock)
    }

    pub fn text(&self) -> String {
        let lines = self.hashes.iter().map(|(name, hash)| format!("{hash:016x}  {name}\n"));
        HEAD.to_string() + &lines.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut lock = Lock::default();
        lock.hashes.insert("step02".into(), 0x1f);
        lock.hashes.insert("step01 scene 02".into(), u64::MAX);
        let text = lock.text();
        assert_eq!(
            text,
            format!("{HEAD}ffffffffffffffff  step01 scene 02\n000000000000001f  step02\n")
        );
        assert_eq!(Lock::parse(&text.replace('\n', "\r\n")).unwrap(), lock);
    }

    #[test]
    fn a_conflict_left_in_it_is_told_with_its_line() {
        let error = Lock::parse("# head\n<<<<<<< HEAD\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2 is no hash and a name: \"<<<<<<< HEAD\"");
    }
}
