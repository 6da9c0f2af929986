//! Child processes: the one place for what differs between platforms.
//!
//! Everything a child starts must end with it. On Unix a child leads a process group, which is
//! ended as a whole. `setsid` escapes a group, so on Linux the stage also adopts orphans
//! (it is a "child subreaper") and ends its descendants by a walk over `/proc`. Elsewhere the
//! group is all there is; on Windows it is the tree that `taskkill` finds.
//!
//! Where there is a program `setsid` (on every Linux; not on macOS), a child leads a session of its
//! own as well, so that neither it nor what it starts can draw on the terminal or read from it.

#[cfg(unix)]
#[path = "process/unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "process/windows.rs"]
mod platform;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::path::Path;
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

/// Set for a program on the stage; it marks the processes of the run.
pub(crate) const ON_STAGE: &str = "LESSON_RUN";

/// What the stage tells its own child; a program that the agent starts must not take it for itself.
const STAGE_ONLY: &[&str] = &["LESSON_AGENT", "LESSON_COLOR", "LESSON_WIDTH", "LESSON_CLOCK_FILE"];

/// A command line for `sh` (on Windows: that of Git), apart from us (see `apart`), with standard
/// input closed and with password prompts, pagers and editors disabled by its environment.
///
/// Errors where there is no `sh`, saying what to install.
pub fn shell(line: &str) -> Result<Command> {
    let mut command = match std::env::var_os(ON_STAGE) {
        // The stage has started us apart, so there is no terminal to keep from the tools. A leader
        // of a group is one from its first moment on, while `setsid` stays in our group until it
        // runs, and a Ctrl+C that is meant for us would end it.
        Some(_) => {
            let mut command = Command::new(find_sh()?);
            lead_a_group(&mut command);
            command
        }
        None => apart(find_sh()?),
    };
    command.arg("-c").arg(line).stdin(Stdio::null()).kill_on_drop(true);
    command.envs(NOBODY_IS_THERE.iter().copied());
    for name in STAGE_ONLY {
        command.env_remove(name);
    }
    Ok(command)
}

/// A command whose process leads a process group of its own, and where the machine has `setsid` a
/// session without a terminal.
pub fn apart(program: impl AsRef<OsStr>) -> Command {
    platform::apart(program.as_ref())
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
    platform::listen(sender);
    receiver
}

/// Opens a file without waiting for anybody: a named pipe would wait for its other end.
pub fn open_at_once(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    platform::open_at_once(path, options)
}

/// Waits for the system's request to end, which is not Ctrl+C: that one a terminal sends to every
/// program that it runs.
pub async fn termination() {
    platform::termination().await;
}

/// Throws away what was typed on our terminal and not read yet. On Windows it stays: safe code does
/// not reach it there.
pub fn forget_typed_ahead() {
    platform::forget_typed_ahead();
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

/// How many processes of a run (with its mark; without one, all below this process) live, and the processor time they have used so far,
/// in ticks of the system. `None` where that cannot be told.
pub fn activity(mark: Option<&str>) -> Option<(usize, u64)> {
    platform::activity(mark)
}

/// Takes the file for this process alone, for as long as the result is kept; `None` where another
/// process has it. The system gives it back when a process ends, however it ends.
pub fn lock(path: &Path) -> std::io::Result<Option<std::fs::File>> {
    platform::lock(path)
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

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_shell_line_has_no_terminal() {
        // A session of its own begins without one.
        let words = output_of("echo $$; cut -d' ' -f6 /proc/$$/stat").await;
        let mut words = words.split_whitespace();
        assert_eq!(words.next(), words.next());
    }

    #[tokio::test]
    async fn what_cannot_be_run_fails_by_its_own_name() {
        for program in ["no-such-program", "/no/such/program", "/"] {
            assert!(apart(program).spawn().is_err(), "{program}");
        }
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
