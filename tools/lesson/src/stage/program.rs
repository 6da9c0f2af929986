//! The program on the stage: started in the rooms, listened to, ended with all it started.

use std::ffi::{OsStr, OsString};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use super::environment;
use super::offspring::Offspring;
use super::output::{Piece, Pipe, read_pieces};
use super::rooms::Rooms;
use crate::process;

/// The model's name in a scene: no real one, since none is asked.
pub const MODEL: &str = "scripted-model";

/// How the program is started, each time that it is.
pub struct Start<'a> {
    pub program: &'a [OsString],
    pub rooms: &'a Rooms,
    pub offspring: &'a Offspring,
    pub url: String,
    pub key: String,
    pub colour: bool,
    pub width: usize,
}

pub struct Program {
    child: tokio::process::Child,
    id: u32,
    input: Option<ChildStdin>,
    pub pieces: mpsc::Receiver<Piece>,
}

impl Start<'_> {
    pub fn start(&self, args: &[String]) -> Result<Program> {
        let [name, own_args @ ..] = self.program else {
            anyhow::bail!("no program is named: give one after `--`");
        };
        let mut command = process::apart(name);
        command.args(own_args).args(args).current_dir(self.rooms.workspace());
        command.env_clear().envs(environment::of_the_rooms(self.rooms)).envs(self.contract());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mut child = command.spawn().with_context(|| {
            format!("starting `{}`: is it there, and may it be run?", name.to_string_lossy())
        })?;
        let (sender, pieces) = mpsc::channel(16);
        if let Some(pipe) = child.stdout.take() {
            tokio::spawn(read_pieces(pipe, Pipe::Output, sender.clone()));
        }
        if let Some(pipe) = child.stderr.take() {
            tokio::spawn(read_pieces(pipe, Pipe::Errors, sender));
        }
        let id = child.id().unwrap_or(0);
        let input = child.stdin.take();
        Ok(Program { child, id, input, pieces })
    }

    fn contract(&self) -> Vec<(OsString, OsString)> {
        let clock = self.rooms.clock().into_os_string();
        let (mark, run) = self.offspring.variable();
        let mut pairs: Vec<(OsString, OsString)> = vec![
            ("ANTHROPIC_BASE_URL".into(), (&self.url).into()),
            ("ANTHROPIC_API_KEY".into(), (&self.key).into()),
            ("ANTHROPIC_MODEL".into(), MODEL.into()),
            ("LESSON_AGENT".into(), "1".into()),
            ("LESSON_WIDTH".into(), self.width.to_string().into()),
            ("LESSON_CLOCK_FILE".into(), clock),
            (mark.into(), run.into()),
        ];
        pairs.extend(std::env::vars_os().filter(|(name, _)| is_a_setting(name)));
        if self.colour {
            pairs.push(("LESSON_COLOR".into(), "1".into()));
        }
        pairs
    }
}

/// Settings of the agent itself: a learner sets one for a run, to see what then happens.
fn is_a_setting(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("LOOPWRIGHT_")
}

impl Program {
    /// Types a line. A program that has ended, or does not read, is found out elsewhere.
    pub async fn hand_over(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let line = format!("{line}\n");
            let typing = async { (input.write_all(line.as_bytes()).await, input.flush().await) };
            let _ = tokio::time::timeout(Duration::from_secs(5), typing).await;
        }
    }

    /// End of input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The output and the process, to be waited for at once.
    pub fn listen(&mut self) -> (&mut mpsc::Receiver<Piece>, &mut tokio::process::Child) {
        (&mut self.pieces, &mut self.child)
    }

    pub fn interrupt(&self) {
        process::interrupt_group(self.id);
    }

    pub async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the program and everything that it started.
    pub async fn end(&mut self, offspring: &Offspring) {
        // Once it has been waited for, its id may belong to somebody else.
        if self.child.id().is_some() {
            process::end_group(self.id);
            let _ = self.child.wait().await;
        }
        offspring.end();
    }
}
