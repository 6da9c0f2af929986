//! `run_shell`: a command line, run with a limit on its time and on what we keep of its output.
//!
//! Output and errors share one pipe, so that they come in the order they were written. A thread
//! empties that pipe to its end, even when the tool has long answered: a server left in the
//! background would otherwise die of its next line. Of the output we keep the beginning and the
//! end, which is where a build says what it does and what went wrong.
//!
//! The command has no input, and its environment says that nobody is there: no password prompt, no
//! pager, no editor. `lesson::process` does that, and gives it a process group of its own, so that
//! what it has started can be ended with it. A process that leaves its group *and* loses its parent
//! lives on.
//!
//! Left out on purpose: the command may do whatever you may do. Who may run what comes with
//! permissions.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lesson::process;
use tokio::sync::oneshot;

/// Bytes kept of the beginning of the output, and of its end.
const HEAD: usize = 10_000;
const TAIL: usize = 20_000;

/// Time for a command, in milliseconds: where the model says nothing, and at most.
pub const USUAL_TIME: u64 = 120_000;
pub const LONGEST_TIME: u64 = 600_000;

/// How long we wait for the rest of the output when the command itself has ended. Only something
/// that it left in the background can still hold the pipe then; on a busy machine our own thread
/// may be late, too.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command line in a folder. The result starts with the exit code; a command that runs out
/// of time is an error, and what it started ends with it.
pub async fn run_shell(folder: &Path, line: &str, limit: Duration) -> Result<String> {
    let (reader, writer) = std::io::pipe().context("no pipe for the command's output")?;
    let mut command = process::shell(line)?;
    command.current_dir(folder).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("the command could not be started")?;
    // It holds our ends of the pipe, which would keep the pipe from ever ending.
    drop(command);

    let output = Arc::new(Mutex::new(Output::default()));
    let (ended, mut pipe_ended) = oneshot::channel();
    let filled = output.clone();
    std::thread::spawn(move || drain(reader, &filled, ended));

    let status = tokio::time::timeout(limit, child.wait()).await;
    if status.is_err() {
        if let Some(id) = child.id() {
            process::end_group(id);
        }
        child.wait().await.context("the command could not be ended")?;
    }
    let pipe_is_open = tokio::time::timeout(GRACE, &mut pipe_ended).await.is_err();
    let text = output.lock().unwrap_or_else(PoisonError::into_inner).text();

    let rest = match (&status, pipe_is_open) {
        (_, true) => ", but something it started still runs",
        (Err(_), false) => ", and its process group ended",
        (Ok(_), false) => "",
    };
    match status {
        Ok(status) => Ok(format!("{}{rest}\n{text}", how_it_ended(status?))),
        Err(_) => bail!("stopped after {limit:?}{rest}\n{text}"),
    }
}

fn how_it_ended(status: std::process::ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => format!("ended from outside ({status})"),
    }
}

/// Reads a pipe to its end, which comes when the last process that can write to it has ended.
fn drain(mut pipe: PipeReader, output: &Mutex<Output>, ended: oneshot::Sender<()>) {
    let mut piece = [0; 16_384];
    // The end is a read of 0 bytes.
    while let Ok(length @ 1..) = pipe.read(&mut piece) {
        output.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..length]);
    }
    // Nobody listens any more where the tool has answered already.
    let _ = ended.send(());
}

/// The beginning and the end of an output; what lies between is counted and forgotten.
#[derive(Default)]
struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Output {
    fn push(&mut self, piece: &[u8]) {
        let (first, rest) = piece.split_at(piece.len().min(HEAD - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let too_many = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..too_many);
        self.left_out += too_many as u64;
    }

    /// Valid UTF-8 whatever came; a character that our cut went through is left out.
    fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.left_out == 0 {
            bytes.extend(&self.tail);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        bytes.truncate(whole_characters(&bytes));
        let is_torn = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let torn = self.tail.iter().take(3).take_while(is_torn).count();
        let tail: Vec<u8> = self.tail.iter().skip(torn).copied().collect();
        format!(
            "{}\n[{} bytes are left out here; narrow the command down to see them]\n{}",
            String::from_utf8_lossy(&bytes),
            self.left_out,
            String::from_utf8_lossy(&tail)
        )
    }
}

/// How many of the bytes remain when a character that is cut in two at their end is taken away.
pub fn whole_characters(bytes: &[u8]) -> usize {
    bytes.len() - bytes.utf8_chunks().last().map_or(0, |last| last.invalid().len())
}

#[cfg(test)]
#[path = "../tests/shell.rs"]
mod tests;
