//! A command that is run in the workspace when the story has ended.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::mpsc;

use super::environment;
use super::output::{LIMIT, read_pieces};
use super::rooms::Rooms;
use crate::process;

/// What a command left behind.
pub struct Ran {
    pub exit: i32,
    pub output: String,
}

/// Runs the words (no shell between) in the workspace, in the program's environment.
pub async fn run(
    words: &[String],
    rooms: &Rooms,
    mark: &str,
    limit: Duration,
) -> Result<Ran, String> {
    let [name, args @ ..] = words else {
        return Err("the scene names no command".to_string());
    };
    let line = words.join(" ");
    let mut command = Command::new(name);
    command.args(args).current_dir(rooms.workspace());
    command.env_clear().envs(environment::of_the_rooms(rooms));
    if let Some((name, value)) = mark.split_once('=') {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    process::lead_a_group(&mut command);
    let mut child = command.spawn().map_err(|error| format!("`{line}` cannot be run: {error}"))?;
    let id = child.id().unwrap_or(0);
    let (sender, mut pieces) = mpsc::channel(16);
    if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
        tokio::spawn(read_pieces(out, sender.clone()));
        tokio::spawn(read_pieces(err, sender));
    }
    let mut output = String::new();
    let finish = async {
        while let Some(piece) = pieces.recv().await {
            output.push_str(&piece.text);
            if output.len() > LIMIT {
                return Err(format!("`{line}` writes without end"));
            }
        }
        child.wait().await.map_err(|error| format!("`{line}`: {error}"))
    };
    let finished = tokio::time::timeout(limit, finish).await;
    if !matches!(finished, Ok(Ok(_))) {
        process::end_group(id);
    }
    process::end_descendants(Some(mark));
    match finished {
        Err(_) => Err(format!("`{line}` did not end within {} s", limit.as_secs())),
        Ok(Err(error)) => Err(error),
        // Ended by a signal, a process has no exit code.
        Ok(Ok(status)) => Ok(Ran { exit: status.code().unwrap_or(-1), output }),
    }
}
