//! A coding agent: it reads what the user types, line by line, and hands each line to the loop.

mod agent;
mod edit;
mod message;
mod model;
mod prompt;
mod shell;
mod tools;

use std::io::BufRead;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use lesson::screen;
use tokio::sync::mpsc;

use agent::Agent;
use model::Model;
use prompt::Prompt;
use tools::Tools;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // Started by you, the program is the stage and plays its scene with itself as the agent; this
    // line then never returns. Started by the stage, it is the agent and goes on.
    lesson::begin(env!("CARGO_MANIFEST_DIR")).await;

    match converse().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen::fails(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the loop once for each line of the user, until the input ends.
async fn converse() -> Result<()> {
    let folder = std::env::current_dir()?;
    let prompt = Prompt::gather(&folder, std::env::home_dir().as_deref(), SystemTime::now()).await;
    prompt.notes.iter().for_each(|note| screen::notes(note));
    let mut agent = Agent::new(Model::from_env()?, Tools::new(folder), prompt);
    let mut lines = lines_of_the_user();
    while let Some(line) = lines.recv().await {
        if !line.trim().is_empty() {
            agent.run(&line).await?;
        }
    }
    Ok(())
}

/// One thread owns standard input, and everyone else receives from it: a read that blocks cannot
/// be called off, so the loop must never be the one that waits in it.
fn lines_of_the_user() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_string();
            // Nobody receives only when the program is about to end, and this thread with it.
            let _ = sender.send(line);
        }
    });
    receiver
}
