//! A coding agent: it reads what the user types, line by line, and hands each line to the loop.
//!
//! A line that begins with `/` is for the program itself. On a terminal lines can be edited, and
//! earlier ones come back with the arrow keys; from a pipe they are taken as they are.

mod agent;
mod compaction;
mod context;
mod edit;
mod message;
mod model;
mod permissions;
mod prompt;
mod session;
mod shell;
mod sse;
mod streaming;
mod tools;
mod words;

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc as blocking;
use std::time::SystemTime;

use anyhow::{Context, Result};
use lesson::{process, screen};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

use agent::{Agent, Interrupts};
use model::Model;
use prompt::Prompt;
use session::Session;
use tools::Tools;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // Started by you, the program is the stage and plays its scene with itself as the agent; this
    // line then never returns. Started by the stage, it is the agent and goes on.
    lesson::begin(env!("CARGO_MANIFEST_DIR")).await;

    let ended = converse().await;
    screen::plot();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen::fails(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the loop once for each line of the user, until the input ends.
async fn converse() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (question, resume) = read_options(&arguments).unwrap_or_else(|word| {
        screen::fails(&format!("{word} makes no sense here\nthere are {OPTIONS}"));
        std::process::exit(2)
    });
    let folder = std::env::current_dir()?;
    let home = std::env::home_dir().context("no home folder is known: set HOME")?;
    let prompt = Prompt::gather(&folder, Some(&home), SystemTime::now()).await;
    let (session, notes) = match resume {
        None => (Session::start(&home, &folder), Vec::new()),
        Some(name) => Session::resume(&home, &folder, name)?,
    };
    prompt.notes.iter().chain(&notes).for_each(|note| screen::notes(note));
    let mut agent = Agent::new(Model::from_env()?, Tools::load(&folder, &home)?, prompt, session)?;
    let mut input = Input::open(&home, agent.interrupts.clone());
    if let Some(question) = question {
        return agent.run(question, &mut input).await;
    }
    while let Some(line) = input.next("you ▸ ").await {
        match line.trim() {
            "" => {}
            "/exit" => break,
            "/help" => screen::notes(HELP),
            "/status" => screen::notes(&agent.status()),
            "/clear" => {
                agent.begin_anew(Session::start(&home, &folder));
                screen::notes("a new conversation begins; --resume finds the old one");
            }
            // A path has more slashes.
            word if word.starts_with('/') && !word[1..].contains(['/', ' ']) => {
                screen::notes(&format!("there is no {word}\n{HELP}"));
            }
            line => match agent.run(line, &mut input).await {
                // Somebody is there to read it, and to try again.
                Err(error) if input.is_terminal => screen::fails(&format!("{error:#}")),
                ended => ended?,
            },
        }
    }
    Ok(())
}

/// The question, and the session that is to go on: its name, or `None` for the newest. The error is
/// the first word that means nothing here.
fn read_options(words: &[String]) -> Result<(Option<&str>, Option<Option<&str>>), &str> {
    let (mut question, mut resume) = (None, None);
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-p" => question = Some(words.next().filter(|it| !it.trim().is_empty()).ok_or(word)?),
            "--resume" => resume = Some(words.next_if(|name| !name.starts_with('-'))),
            _ => return Err(word),
        }
    }
    Ok((question, resume))
}

const OPTIONS: &str = "-p QUESTION, asked alone, and --resume [SESSION], the newest or a named one";

const HELP: &str = "\
/help    this list
/status  model, tokens, cost and session file
/clear   begin a new conversation
/exit    the end; so does Ctrl+D
What does not begin with a slash goes to the model.";

/// The lines of the user. One thread owns standard input, and reads a line when one is asked for: a
/// read that blocks cannot be called off, so the loop must never be the one that waits in it.
struct Input {
    is_terminal: bool,
    asks: blocking::Sender<String>,
    lines: mpsc::UnboundedReceiver<Option<String>>,
    /// A line was asked for and has not come yet.
    is_reading: bool,
    interrupts: Interrupts,
}

impl Input {
    fn open(home: &Path, interrupts: Interrupts) -> Self {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let history = home.join(".loopwright_history");
        let (asks, asked) = blocking::channel::<String>();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut editor = DefaultEditor::new().ok().filter(|_| is_terminal);
            // It is not there the first time.
            editor.as_mut().map(|editor| editor.load_history(&history));
            for prompt in asked {
                let line = match &mut editor {
                    Some(editor) => read_terminal(editor, &prompt, &history),
                    None => read_pipe(),
                };
                // Nobody receives only when the program is about to end, and this thread with it.
                let _ = sender.send(line);
            }
        });
        Self { is_terminal, asks, lines, is_reading: false, interrupts }
    }

    /// The next line, or an empty one at Ctrl+C; nothing when the input has ended.
    async fn next(&mut self, prompt: &str) -> Option<String> {
        self.interrupts.mark_unchanged();
        if !std::mem::replace(&mut self.is_reading, true) {
            self.asks.send(prompt.to_string()).ok()?;
        }
        let line = tokio::select! {
            line = self.lines.recv() => line,
            () = agent::interrupted(&self.interrupts) => return Some(String::new()),
        };
        self.is_reading = false;
        line.flatten()
    }
}

fn read_pipe() -> Option<String> {
    let mut line = Vec::new();
    let length = std::io::stdin().lock().read_until(b'\n', &mut line).unwrap_or(0);
    let text = String::from_utf8_lossy(&line);
    (length > 0).then(|| text.trim_end_matches(['\r', '\n']).to_string())
}

fn read_terminal(editor: &mut DefaultEditor, prompt: &str, history: &Path) -> Option<String> {
    // What was typed before a question was seen does not answer it.
    _ = prompt.is_empty().then(process::forget_typed_ahead);
    // The editor begins by clearing the row that it stands in, and that may be a question's last.
    print!("{}", if prompt.is_empty() { "\n" } else { "" });
    match editor.readline(&format!("\n{prompt}")) {
        // An answer is not a line to come back to.
        Ok(line) if prompt.is_empty() => Some(line),
        Ok(line) => {
            // A history that cannot be kept is no reason to stop.
            let _ = editor.add_history_entry(&line);
            let _ = editor.append_history(history);
            Some(line)
        }
        // Ctrl+C throws the line away, and at a question it ends the turn.
        Err(ReadlineError::Interrupted) => {
            agent::CTRL_C.send_replace(());
            Some(String::new())
        }
        Err(_) => None,
    }
}

#[cfg(test)]
#[path = "../tests/main.rs"]
mod tests;
