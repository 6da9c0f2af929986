//! Process groups and signals, and on Linux a walk over `/proc`.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

pub fn lead_a_group(command: &mut Command) {
    command.process_group(0);
}

pub fn apart(program: &OsStr) -> Command {
    // What cannot be run fails by its own name, and not inside `setsid`.
    if let Some(setsid) = super::on_path("setsid").filter(|_| can_be_run(program)) {
        let mut command = Command::new(setsid);
        command.arg(program);
        return command;
    }
    let mut command = Command::new(program);
    lead_a_group(&mut command);
    command
}

fn can_be_run(program: &OsStr) -> bool {
    let file = match Path::new(program) {
        file if file.is_absolute() => Some(file.to_path_buf()),
        // Where a relative path leads is known only when the command is started.
        file if file.components().count() > 1 => None,
        name => super::on_path(name),
    };
    let is_program = |found: std::fs::Metadata| found.is_file() && found.mode() & 0o111 != 0;
    file.and_then(|file| file.metadata().ok()).is_some_and(is_program)
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
        // A process that has just been started may not have made its group yet.
        if kill_process_group(leader, Signal::INT).is_err() {
            let _ = kill_process(leader, Signal::INT);
        }
    }
}

fn kill(id: u32) {
    if let Some(pid) = pid(id) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

pub fn open_at_once(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    // Nor may a terminal that is opened become ours.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

pub fn forget_typed_ahead() {
    // An error means that there is no terminal, and so nothing was typed.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// The signals are ours from here on, and not only when the task first runs: in between, one would
/// end us and leave what we had started.
pub fn listen(sender: mpsc::UnboundedSender<()>) {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    // Not to be had: then the signal ends us as it ends every program.
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        return;
    };
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                () = sender.closed() => return,
            }
            let _ = sender.send(());
        }
    });
}

pub fn lock(path: &Path) -> std::io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub async fn termination() {
    let kinds = [SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Children that this process had before it adopted any: a shell that became us (`exec`) may have
/// left some, and they are not ours to end.
#[cfg(target_os = "linux")]
static BEFORE: std::sync::OnceLock<Vec<u32>> = std::sync::OnceLock::new();

#[cfg(target_os = "linux")]
pub fn adopt_orphans() {
    BEFORE.get_or_init(|| children(std::process::id()));
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
    let spared = BEFORE.get().filter(|_| mark.is_none()).map_or(&[][..], Vec::as_slice);
    while let Some((id, marked)) = to_visit.pop() {
        for child in children(id).into_iter().filter(|child| !spared.contains(child)) {
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

/// How many descendants with this mark (or of all) there are, and the processor time that they have used, in
/// ticks.
#[cfg(target_os = "linux")]
pub fn activity(mark: Option<&str>) -> Option<(usize, u64)> {
    let living = descendants(std::process::id(), mark);
    let ticks = living.iter().filter_map(|id| ticks(*id)).sum();
    Some((living.len(), ticks))
}

#[cfg(not(target_os = "linux"))]
pub fn activity(_mark: Option<&str>) -> Option<(usize, u64)> {
    None
}

/// Time in the process itself and in the kernel for it: fields 14 and 15 of `stat`.
#[cfg(target_os = "linux")]
fn ticks(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the name in parentheses, which may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
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
