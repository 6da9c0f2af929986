//! A command that is run in the workspace when the story has ended.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::mpsc;

use super::environment;
use super::offspring::Offspring;
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
    offspring: &Offspring,
    limit: Duration,
) -> Result<Ran, String> {
    let line = words.join(" ");
    let mut child = start(words, rooms, offspring)?;
    let id = child.id();
    let mut output = String::new();
    let ended = tokio::time::timeout(limit, listen(&mut child, offspring, &mut output)).await;
    if let (Some(id), false) = (id, matches!(ended, Ok(Ok(_)))) {
        process::end_group(id);
    }
    offspring.end();
    match ended {
        Err(_) => {
            let limit = (limit.as_secs_f32() * 10.0).round() / 10.0;
            Err(format!("`{line}` did not end within {limit} s"))
        }
        Ok(Err(error)) => Err(format!("`{line}` {error}")),
        // Ended by a signal, a process has no exit code.
        Ok(Ok(status)) => Ok(Ran { exit: status.code().unwrap_or(-1), output }),
    }
}

fn start(words: &[String], rooms: &Rooms, offspring: &Offspring) -> Result<Child, String> {
    let [name, args @ ..] = words else {
        return Err("the scene names no command".to_string());
    };
    let mut command = process::apart(name);
    command.args(args).current_dir(rooms.workspace());
    command.env_clear().envs(environment::of_the_rooms(rooms)).envs([offspring.variable()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().map_err(|error| format!("`{}` cannot be run: {error}", words.join(" ")))
}

/// Gathers what the command writes until it has ended.
async fn listen(
    child: &mut Child,
    offspring: &Offspring,
    output: &mut String,
) -> Result<ExitStatus, String> {
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
    offspring.end();
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
        // As a play does: else what is left in the background is not found any more.
        process::adopt_orphans();
        let rooms = Rooms::copy(tempfile::tempdir().expect("a temporary folder").path());
        let rooms = rooms.expect("copied");
        let offspring = Offspring::new(&rooms, false);
        let words = ["sh", "-c", line].map(str::to_string);
        run(&words, &rooms, &offspring, limit).await
    }

    #[tokio::test]
    async fn a_child_in_the_background_does_not_hold_the_verdict() {
        let ran = ran("sleep 601 & echo $!", Duration::from_secs(60)).await.expect("it runs");
        assert_eq!(ran.exit, 0);
        let id: u32 = ran.output.trim().parse().expect("it wrote the child's id");
        let lives = std::path::Path::new("/proc").join(id.to_string()).exists();
        assert!(!lives, "{id} lives on");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_command_has_no_terminal() {
        // A session of its own begins without one.
        let line = "test $$ = $(cut -d' ' -f6 /proc/$$/stat)";
        let ran = ran(line, Duration::from_secs(60)).await.expect("it runs");
        assert_eq!(ran.exit, 0);
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
