//! Windows has neither groups nor signals that safe code can reach: a tree of processes is ended
//! by `taskkill`, and Ctrl+C cannot be sent to another program.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::path::Path;

use tokio::process::Command;
use tokio::sync::mpsc;

pub fn apart(program: &OsStr) -> Command {
    Command::new(program)
}

pub fn lead_a_group(_command: &mut Command) {}

pub fn end_group(id: u32) {
    let _ = std::process::Command::new("taskkill")
        .args(["/T", "/F", "/PID", &id.to_string()])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
}

pub fn interrupt_group(id: u32) {
    end_group(id);
}

pub fn open_at_once(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    options.open(path)
}

pub fn forget_typed_ahead() {}

pub fn listen(sender: mpsc::UnboundedSender<()>) {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {}
    });
}

pub fn adopt_orphans() {}

pub fn end_descendants(_mark: Option<&str>) {}

pub fn activity(_mark: Option<&str>) -> Option<(usize, u64)> {
    None
}

pub async fn termination() {
    std::future::pending().await
}

/// Nobody else may open a file that is not shared.
pub fn lock(path: &std::path::Path) -> std::io::Result<Option<std::fs::File>> {
    use std::os::windows::fs::OpenOptionsExt;
    const SHARING_VIOLATION: i32 = 32;
    let mut open = std::fs::OpenOptions::new();
    match open.create(true).append(true).share_mode(0).open(path) {
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        opened => opened.map(Some),
    }
}
