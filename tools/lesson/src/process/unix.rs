//! Process groups and signals, and on Linux a walk over `/proc`.

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
