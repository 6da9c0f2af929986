//! Windows has neither groups nor signals that safe code can reach: a tree of processes is ended
//! by `taskkill`, and Ctrl+C cannot be sent to another program.

use tokio::process::Command;
use tokio::sync::mpsc;

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

pub async fn listen(sender: mpsc::UnboundedSender<()>) {
    while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {}
}

pub fn adopt_orphans() {}

pub fn end_descendants(_mark: Option<&str>) {}
