//! Files that the program may have made anything of: a pipe that nobody writes to, a link to a
//! device that never ends. They are opened without waiting, looked at when they are open (before,
//! they could still be replaced), and read up to a limit.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::process;

/// Bytes that are read of a file, at most. The files of a scene have a few thousand.
pub const LIMIT: u64 = 16 * 1024 * 1024;

/// Why a path is no file that can be read or written. Said after its name or "it".
#[derive(Debug)]
pub enum Unfit {
    Missing,
    Folder,
    Special,
    /// It has more bytes than this.
    TooLong(u64),
    Other(io::Error),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Missing => f.write_str("is not there"),
            Unfit::Folder => f.write_str("is a folder"),
            Unfit::Special => f.write_str("is a pipe or a device"),
            Unfit::TooLong(max) => write!(f, "is longer than {max} bytes"),
            Unfit::Other(error) => write!(f, "cannot be used: {error}"),
        }
    }
}

impl std::error::Error for Unfit {}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A file stands where the path wants a folder.
            ErrorKind::NotFound | ErrorKind::NotADirectory => Unfit::Missing,
            _ => Unfit::Other(error),
        }
    }
}

/// The bytes of a regular file of at most `max` bytes.
pub fn read_regular(path: &Path, max: u64) -> Result<Vec<u8>, Unfit> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(Unfit::TooLong(max)) } else { Ok(bytes) }
}

/// Makes a regular file, or replaces what stands in one.
pub fn write_regular(path: &Path, bytes: &[u8]) -> Result<(), Unfit> {
    let mut file = open_regular(path, OpenOptions::new().write(true).create(true).truncate(false))?;
    file.set_len(0)?;
    Ok(file.write_all(bytes)?)
}

/// Copies a regular file with its permissions.
pub fn copy_regular(from: &Path, to: &Path) -> Result<(), Unfit> {
    let mut source = open_regular(from, OpenOptions::new().read(true))?;
    io::copy(&mut source, &mut File::create(to)?)?;
    Ok(fs::set_permissions(to, source.metadata()?.permissions())?)
}

/// Opens a regular file; anything else is closed at once.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> Result<File, Unfit> {
    let kind = |found: fs::Metadata| match found {
        found if found.is_file() => None,
        found if found.is_dir() => Some(Unfit::Folder),
        _ => Some(Unfit::Special),
    };
    match process::open_at_once(path, options) {
        Ok(file) => match kind(file.metadata()?) {
            None => Ok(file),
            Some(unfit) => Err(unfit),
        },
        // Some of what is no file is refused by the system, in words that say little.
        Err(error) => Err(fs::metadata(path).ok().and_then(kind).unwrap_or(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T>(result: Result<T, Unfit>) -> String {
        result.err().map(|unfit| unfit.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("file");
        write_regular(&file, b"longer").expect("written");
        write_regular(&file, b"four").expect("written");
        assert_eq!(read_regular(&file, 4).expect("read"), b"four");
        assert_eq!(said(read_regular(&file, 3)), "is longer than 3 bytes");
    }

    #[test]
    fn what_is_no_file_is_named() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("file"), "").expect("written");
        for name in ["none", "file/below"] {
            assert_eq!(said(read_regular(&dir.path().join(name), 9)), "is not there");
        }
        assert_eq!(said(read_regular(dir.path(), 9)), "is a folder");
        assert_eq!(said(write_regular(dir.path(), b"x")), "is a folder");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| dir.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status();
        assert!(made.expect("mkfifo is there").success());
        std::os::unix::fs::symlink("/dev/zero", at("zeroes")).expect("linked");
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("bound");
        for name in ["pipe", "zeroes", "socket"] {
            let refused = "is a pipe or a device";
            assert_eq!(said(read_regular(&at(name), 9)), refused, "{name}");
            assert_eq!(said(write_regular(&at(name), b"x")), refused, "{name}");
            assert_eq!(said(copy_regular(&at(name), &at("copy"))), refused, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_copy_has_the_permissions_of_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "x").expect("written");
        fs::set_permissions(&from, fs::Permissions::from_mode(0o750)).expect("set");
        copy_regular(&from, &to).expect("copied");
        let mode = fs::metadata(&to).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
    }
}
