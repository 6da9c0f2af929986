//! The environment of a program on the stage: cleared, then exactly what stands here.
//!
//! A learner's proxy, keys, cargo settings and locale of tools must not decide what a run shows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::rooms::Rooms;

/// Passed on as they are.
const KEPT: &[&str] = &["PATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR", "LANG", "NO_COLOR"];

/// What programs on Windows, the linker among them, do not start or work without.
const KEPT_ON_WINDOWS: &[&str] = &[
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "TEMP",
    "TMP",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "ProgramData",
    "LocalAppData",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// For whatever runs in the rooms: the program, and the commands that verify its work.
pub fn of_the_rooms(rooms: &Rooms) -> Vec<(OsString, OsString)> {
    let lookup = |name: &str| std::env::var_os(name);
    let mut pairs = kept(&lookup, cfg!(windows));
    let home = rooms.home().into_os_string();
    for (name, value) in [
        ("HOME", home.clone()),
        ("USERPROFILE", home),
        ("CARGO_TERM_COLOR", "never".into()),
        ("CARGO_NET_OFFLINE", "true".into()),
        ("RUST_BACKTRACE", "0".into()),
        // Two tests at once end in an order of their own each time, and a run must read the same.
        ("RUST_TEST_THREADS", "1".into()),
        ("NO_PROXY", "127.0.0.1".into()),
    ] {
        pairs.push((name.into(), value));
    }
    pairs
}

fn kept(lookup: &dyn Fn(&str) -> Option<OsString>, windows: bool) -> Vec<(OsString, OsString)> {
    let names = KEPT.iter().chain(if windows { KEPT_ON_WINDOWS } else { &[] });
    let mut pairs: Vec<(OsString, OsString)> =
        names.filter_map(|name| Some((OsString::from(name), lookup(name)?))).collect();
    if lookup("RUSTUP_HOME").is_none()
        && let Some(real) = real_rustup_home(lookup)
    {
        pairs.push(("RUSTUP_HOME".into(), real.into_os_string()));
    }
    pairs
}

/// rustup looks for its toolchains under HOME, and the program gets another HOME.
fn real_rustup_home(lookup: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = lookup("HOME").or_else(|| lookup("USERPROFILE"))?;
    Some(Path::new(&home).join(".rustup")).filter(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_not_inherited() {
        let everything = |_: &str| Some(OsString::from("x"));
        let names: Vec<OsString> =
            kept(&everything, false).into_iter().map(|pair| pair.0).collect();
        assert_eq!(names, KEPT.iter().map(OsString::from).collect::<Vec<_>>());
    }

    #[test]
    fn rustup_keeps_the_real_home() {
        let real = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(real.path().join(".rustup")).expect("made");
        let lookup = |name: &str| (name == "HOME").then(|| real.path().as_os_str().to_os_string());
        let pairs = kept(&lookup, false);
        assert_eq!(pairs, vec![("RUSTUP_HOME".into(), real.path().join(".rustup").into())]);
    }
}
