//! A command that is run in the workspace when the story has ended.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::environment;
use super::output::{LIMIT, Piece, Pipe, read_pieces};
use super::rooms::Rooms;
use crate::process;

/// What a command left behind.
pub struct Ran {
    pub exit: i32,
    pub output: String,
}

/// Runs the words (no shell between) in the workspace, in the program's environment. It and what
/// it started have ended afterwards.
pub async fn run(
    words: &[String],
    rooms: &Rooms,
    mark: &str,
    limit: Duration,
) -> Result<Ran, String> {
    let line = words.join(" ");
    let mut child = start(words, rooms, mark)?;
    let id = child.id();
    let mut output = String::new();
    let ended = tokio::time::timeout(limit, listen(&mut child, mark, &mut output)).await;
    if let (Some(id), false) = (id, matches!(ended, Ok(Ok(_)))) {
        process::end_group(id);
    }
    process::end_descendants(Some(mark));
    match ended {
        Err(_) => Err(format!("`{line}` did not end within {} s", limit.as_secs_f32())),
        Ok(Err(error)) => Err(format!("`{line}` {error}")),
        // Ended by a signal, a process has no exit code.
        Ok(Ok(status)) => Ok(Ran { exit: status.code().unwrap_or(-1), output }),
    }
}

fn start(words: &[String], rooms: &Rooms, mark: &str) -> Result<Child, String> {
    let [name, args @ ..] = words else {
        return Err("the scene names no command".to_string());
    };
    let mut command = Command::new(name);
    command.args(args).current_dir(rooms.workspace());
    command.env_clear().envs(environment::of_the_rooms(rooms));
    if let Some((name, value)) = mark.split_once('=') {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    process::lead_a_group(&mut command);
    command.spawn().map_err(|error| format!("`{}` cannot be run: {error}", words.join(" ")))
}

/// Gathers what the command writes until it has ended.
async fn listen(child: &mut Child, mark: &str, output: &mut String) -> Result<ExitStatus, String> {
    let (sender, mut pieces) = mpsc::channel(16);
    if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
        tokio::spawn(read_pieces(out, Pipe::Output, sender.clone()));
        tokio::spawn(read_pieces(err, Pipe::Errors, sender));
    }
    let mut add = |piece: Piece| {
        output.push_str(&piece.text);
        if output.len() > LIMIT { Err("writes without end".to_string()) } else { Ok(()) }
    };
    let status = loop {
        tokio::select! {
            biased;
            Some(piece) = pieces.recv() => add(piece)?,
            status = child.wait() => break status.map_err(|error| format!("is lost: {error}"))?,
        }
    };
    // What it left in the background would hold the pipe.
    process::end_descendants(Some(mark));
    let rest = async {
        while let Some(piece) = pieces.recv().await {
            add(piece)?;
        }
        Ok::<(), String>(())
    };
    tokio::time::timeout(Duration::from_secs(1), rest).await.unwrap_or(Ok(()))?;
    Ok(status)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn ran(line: &str, limit: Duration) -> Result<Ran, String> {
        let rooms = Rooms::copy(tempfile::tempdir().expect("a temporary folder").path());
        let rooms = rooms.expect("copied");
        let mark = format!("LESSON_RUN={}", rooms.base().display());
        let words = ["sh", "-c", line].map(str::to_string);
        run(&words, &rooms, &mark, limit).await
    }

    #[tokio::test]
    async fn a_child_in_the_background_does_not_hold_the_verdict() {
        let ran = ran("sleep 601 & echo done", Duration::from_secs(60)).await.expect("it runs");
        assert_eq!((ran.exit, ran.output.as_str()), (0, "done\n"));
    }

    #[tokio::test]
    async fn a_command_that_never_ends_is_ended() {
        let error = ran("sleep 602", Duration::from_millis(100)).await.err();
        assert_eq!(error.as_deref(), Some("`sh -c sleep 602` did not end within 0.1 s"));
    }

    #[tokio::test]
    async fn a_command_that_writes_for_ever_is_ended() {
        let error = ran("yes", Duration::from_secs(60)).await.err();
        assert_eq!(error.as_deref(), Some("`sh -c yes` writes without end"));
    }
}
