//! Child processes: the one place for what differs between platforms.
//!
//! Everything a child starts must end with it. On Unix a child leads a process group, which is
//! ended as a whole. `setsid` escapes a group, so on Linux the stage also adopts orphans
//! (it is a "child subreaper") and ends its descendants by a walk over `/proc`. Elsewhere the
//! group is all there is; on Windows it is the tree that `taskkill` finds.

use std::ffi::OsStr;
use std::process::Stdio;

use anyhow::Result;
use tokio::process::Command;
use tokio::sync::mpsc;

/// Programs that ask, page or edit would wait for ever: nobody is there to answer them.
const NOBODY_IS_THERE: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("TERM", "dumb"),
];

/// What the stage tells its own child; a program that the agent starts must not take it for itself.
const STAGE_ONLY: &[&str] = &["LESSON_AGENT", "LESSON_COLOR", "LESSON_WIDTH", "LESSON_CLOCK_FILE"];

/// A command line for `sh` (on Windows: that of Git), in a process group of its own, with standard
/// input closed and with password prompts, pagers and editors disabled by its environment.
///
/// Errors where there is no `sh`, saying what to install.
pub fn shell(line: &str) -> Result<Command> {
    let mut command = Command::new(find_sh()?);
    command.arg("-c").arg(line).stdin(Stdio::null()).kill_on_drop(true);
    command.envs(NOBODY_IS_THERE.iter().copied());
    for name in STAGE_ONLY {
        command.env_remove(name);
    }
    lead_a_group(&mut command);
    Ok(command)
}

/// The command's process will lead a process group of its own.
pub fn lead_a_group(command: &mut Command) {
    platform::lead_a_group(command);
}

/// Ends a whole process group: the child with this id and what it started.
pub fn end_group(id: u32) {
    platform::end_group(id);
}

/// Ctrl+C for a process group. Where it cannot be sent (Windows), the group is ended.
pub fn interrupt_group(id: u32) {
    platform::interrupt_group(id);
}

/// Hears every Ctrl+C, and the system's requests to end, from now on.
pub fn end_requests() -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(platform::listen(sender));
    receiver
}

/// From now on orphans among the descendants of this process become its children (Linux).
pub fn adopt_orphans() {
    platform::adopt_orphans();
}

/// Ends every descendant of this process, adopted ones included, until none is left (Linux).
/// With a mark, only those whose environment holds it (`NAME=value`), and what they started:
/// the program of a run is started with a mark, so that several runs share a process unharmed.
pub fn end_descendants(mark: Option<&str>) {
    platform::end_descendants(mark);
}

/// The most memory this process has had at once, in KiB (Linux).
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(unix)]
fn find_sh() -> Result<std::path::PathBuf> {
    on_path("sh")
        .or_else(|| Some("/bin/sh".into()).filter(|sh: &std::path::PathBuf| sh.exists()))
        .ok_or_else(|| {
            anyhow::anyhow!(
                "there is no `sh` on this machine: install a POSIX shell, or add it to PATH"
            )
        })
}

#[cfg(not(unix))]
fn find_sh() -> Result<std::path::PathBuf> {
    let beside_git =
        ["ProgramFiles", "ProgramFiles(x86)", "LocalAppData"].iter().filter_map(|name| {
            let base = std::path::PathBuf::from(std::env::var_os(name)?);
            let below = if *name == "LocalAppData" { base.join("Programs") } else { base };
            Some(below.join("Git").join("bin").join("sh.exe")).filter(|sh| sh.is_file())
        });
    on_path("sh.exe").or_else(|| beside_git.into_iter().next()).ok_or_else(|| {
        anyhow::anyhow!("there is no `sh` on this machine: install Git for Windows (https://git-scm.com), which brings one")
    })
}

fn on_path(program: impl AsRef<OsStr>) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program.as_ref()))
        .find(|file| file.is_absolute() && file.is_file())
}

#[cfg(unix)]
mod platform {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::process::Command;
    use tokio::sync::mpsc;

    pub fn lead_a_group(command: &mut Command) {
        command.process_group(0);
    }

    fn pid(id: u32) -> Option<Pid> {
        // 0 would name our own group, 1 everything: neither is ever a child of ours.
        i32::try_from(id).ok().filter(|id| *id > 1).and_then(Pid::from_raw)
    }

    pub fn end_group(id: u32) {
        let Some(leader) = pid(id) else { return };
        // Found before the leader dies: afterwards they are nobody's descendants any more.
        let below = descendants(id, None);
        // An error means that it has ended already, which is what was wanted.
        let _ = kill_process_group(leader, Signal::KILL);
        let _ = kill_process(leader, Signal::KILL);
        for id in below {
            kill(id);
        }
    }

    pub fn interrupt_group(id: u32) {
        if let Some(leader) = pid(id) {
            let _ = kill_process_group(leader, Signal::INT);
        }
    }

    fn kill(id: u32) {
        if let Some(pid) = pid(id) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    pub async fn listen(sender: mpsc::UnboundedSender<()>) {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        // Not to be had: then the signal ends us as it ends every program.
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                () = sender.closed() => return,
            }
            let _ = sender.send(());
        }
    }

    #[cfg(target_os = "linux")]
    pub fn adopt_orphans() {
        // Some(_) switches it on, whatever the id. Without it, only process groups are ended.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }

    #[cfg(not(target_os = "linux"))]
    pub fn adopt_orphans() {}

    pub fn end_descendants(mark: Option<&str>) {
        let mut ended = Vec::new();
        // A process can start another between the look and the kill, so look again; the limit
        // keeps a fork bomb, or one that we may not kill, from holding us for ever.
        for _ in 0..200 {
            let living = descendants(std::process::id(), mark);
            ended.extend(living.iter().copied());
            living.iter().for_each(|id| kill(*id));
            ended.retain(|id| !reaped(*id));
            if living.is_empty() && ended.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Takes the exit of an adopted child, which would otherwise stay a zombie until we end.
    /// True as well where it is not ours to take.
    fn reaped(id: u32) -> bool {
        let Some(pid) = pid(id) else { return true };
        let taken = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        !matches!(taken, Ok(None))
    }

    #[cfg(target_os = "linux")]
    fn descendants(of: u32, mark: Option<&str>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut to_visit = vec![(of, mark.is_none())];
        while let Some((id, marked)) = to_visit.pop() {
            for child in children(id) {
                let marked = marked || mark.is_some_and(|mark| environment_holds(child, mark));
                to_visit.push((child, marked));
                if marked && !found.contains(&child) {
                    found.push(child);
                }
            }
        }
        found
    }

    #[cfg(not(target_os = "linux"))]
    fn descendants(_of: u32, _mark: Option<&str>) -> Vec<u32> {
        Vec::new()
    }

    #[cfg(target_os = "linux")]
    fn environment_holds(id: u32, mark: &str) -> bool {
        std::fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|env| env.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes()))
    }

    #[cfg(target_os = "linux")]
    fn children(of: u32) -> Vec<u32> {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
        tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|ids| {
                ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
            })
            .collect()
    }
}

#[cfg(not(unix))]
mod platform {
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
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn output_of(line: &str) -> String {
        let out = shell(line).expect("sh is there").output().await.expect("sh runs");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    #[tokio::test]
    async fn a_shell_line_has_no_input_and_no_prompts() {
        assert_eq!(output_of("cat; echo $GIT_TERMINAL_PROMPT $PAGER").await, "0 cat\n");
    }

    #[tokio::test]
    async fn a_shell_line_leads_its_own_group() {
        let words =
            output_of("echo $$; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat")
                .await;
        let mut words = words.split_whitespace();
        assert_eq!(words.next(), words.next());
    }

    #[tokio::test]
    async fn ending_a_group_ends_the_children_too() {
        let mut command = shell("sleep 600 & sleep 600").expect("sh is there");
        let mut child = command.stdout(Stdio::piped()).spawn().expect("sh runs");
        end_group(child.id().expect("it still runs"));
        let mut rest = Vec::new();
        // The pipe ends only when the last process that holds it has ended.
        let mut pipe = child.stdout.take().expect("it is piped");
        pipe.read_to_end(&mut rest).await.expect("the pipe ends");
        assert!(!child.wait().await.expect("it ends").success());
    }

    #[test]
    fn no_group_is_ended_for_the_ids_0_and_1() {
        end_group(0);
        end_group(1);
        interrupt_group(0);
    }
}
