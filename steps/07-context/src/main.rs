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
mod prompt;
mod session;
mod shell;
mod tools;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc as blocking;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use lesson::screen;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

use crate::context::Context as Window;
use agent::Agent;
use model::{Model, Usage};
use prompt::Prompt;
use session::Session;
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

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Arguments {
    /// `-p "…"`: one question, one answer, and the end.
    question: Option<String>,
    /// `--resume [NAME]`: go on with an earlier session, the newest where none is named.
    resume: Option<Option<String>>,
}

fn read_arguments(arguments: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut read = Arguments::default();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-p" => read.question = Some(arguments.next().context("-p needs a question")?),
            "--resume" => read.resume = Some(arguments.next_if(|next| !next.starts_with('-'))),
            _ => bail!("{argument} is unknown; there are -p \"QUESTION\" and --resume [SESSION]"),
        }
    }
    Ok(read)
}

/// Runs the loop once for each line of the user, until the input ends.
async fn converse() -> Result<()> {
    let arguments = read_arguments(std::env::args().skip(1))?;
    let folder = std::env::current_dir()?;
    let home = std::env::home_dir().context("no home folder is known: set HOME")?;
    let prompt = Prompt::gather(&folder, Some(&home), SystemTime::now()).await;
    prompt.notes.iter().for_each(|note| screen::notes(note));
    let session = match &arguments.resume {
        None => Session::start(&home, &folder),
        Some(name) => resume(&home, &folder, name.as_deref())?,
    };
    let mut agent = Agent::new(
        Model::from_env()?,
        Tools::new(folder.clone()),
        prompt,
        session,
        Window::load(&home)?,
    );
    if let Some(question) = arguments.question {
        return agent.run(&question).await;
    }
    let mut input = Input::open(&home);
    while let Some(line) = input.next("you ▸ ").await {
        match line.trim() {
            "" => {}
            "/exit" => break,
            "/clear" => {
                agent.session = Session::start(&home, &folder);
                agent.context.forget();
                screen::notes("a new conversation; the old one can be resumed");
            }
            "/status" => screen::notes(&status(&agent, &home)),
            "/help" => screen::notes(HELP),
            line if is_command(line) => screen::notes(&format!("there is no {line}\n{HELP}")),
            line => match agent.run(line).await {
                // Somebody is there to read it, and to try again.
                Err(error) if input.is_terminal => screen::fails(&format!("{error:#}")),
                ended => ended?,
            },
        }
    }
    agent.plot();
    Ok(())
}

const HELP: &str = "/help    this list
/clear   forget the conversation and begin a new one
/status  model, tokens, cost and session file
/exit    the end; so does Ctrl+D
anything else goes to the model";

/// A word after a slash. A path has more slashes, and goes to the model.
fn is_command(line: &str) -> bool {
    line.strip_prefix('/').is_some_and(|word| word.chars().all(|letter| letter.is_alphanumeric()))
}

fn resume(home: &Path, folder: &Path, name: Option<&str>) -> Result<Session> {
    let (session, faults) = Session::resume(home, folder, name)?;
    let file = session.path().and_then(|path| path.file_stem()).unwrap_or_default();
    let (file, messages) = (file.to_string_lossy(), session.messages.len());
    screen::notes(&format!("session {file} goes on, with {messages} messages"));
    faults.iter().for_each(|fault| screen::notes(fault));
    Ok(session)
}

fn status(agent: &Agent, home: &Path) -> String {
    let session = &agent.session;
    let mut all = Usage::default();
    session.usage.values().for_each(|usage| all.add(usage));
    let (read, written) = (screen::count(all.all_input()), screen::count(all.output_tokens));
    let cached = screen::count(all.cache_read_input_tokens);
    let file = match session.path().and_then(|path| path.strip_prefix(home).ok()) {
        Some(path) => Path::new("~").join(path).display().to_string(),
        None => "none yet".to_string(),
    };
    format!(
        "model    {}\ntokens   {read} read ({cached} of them from the cache), {written} written\n\
         cost     {}\nsession  {file}",
        agent.model.name,
        session::dollars(session.cost()),
    )
}

/// The lines of the user. One thread owns standard input, and reads a line when one is asked for: a
/// read that blocks cannot be called off, so the loop must never be the one that waits in it.
struct Input {
    is_terminal: bool,
    asks: blocking::Sender<String>,
    lines: mpsc::UnboundedReceiver<Option<String>>,
    /// A line was asked for and has not come yet.
    is_reading: bool,
}

impl Input {
    fn open(home: &Path) -> Self {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let (asks, asked) = blocking::channel();
        let (sender, lines) = mpsc::unbounded_channel();
        let history = home.join(".loopwright").join("history");
        // Nobody asks or receives only when the program is about to end, and the thread with it.
        std::thread::spawn(move || {
            if is_terminal {
                read_terminal(&asked, &sender, &history)
            } else {
                read_pipe(&asked, &sender)
            }
        });
        Self { is_terminal, asks, lines, is_reading: false }
    }

    /// The next line; nothing when the input has ended.
    async fn next(&mut self, prompt: &str) -> Option<String> {
        if !self.is_reading {
            self.asks.send(prompt.to_string()).ok()?;
            self.is_reading = true;
        }
        let line = self.lines.recv().await.flatten();
        self.is_reading = false;
        line
    }
}

type Asked = blocking::Receiver<String>;
type Lines = mpsc::UnboundedSender<Option<String>>;

fn read_pipe(asked: &Asked, lines: &Lines) {
    let mut input = std::io::stdin().lock();
    while asked.recv().is_ok() {
        let mut line = Vec::new();
        let length = input.read_until(b'\n', &mut line).unwrap_or(0);
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_string();
        let _ = lines.send((length > 0).then_some(text));
    }
}

fn read_terminal(asked: &Asked, lines: &Lines, history: &PathBuf) {
    let Ok(mut editor) = DefaultEditor::new() else { return read_pipe(asked, lines) };
    // It is not there the first time.
    let _ = editor.load_history(history);
    while let Ok(prompt) = asked.recv() {
        let line = match editor.readline(&format!("\n{prompt}")) {
            Ok(line) => Some(line),
            // Ctrl+C throws the line away.
            Err(ReadlineError::Interrupted) => Some(String::new()),
            Err(_) => None,
        };
        if let Some(line) = line.as_ref().filter(|line| !line.trim().is_empty()) {
            let _ = editor.add_history_entry(line);
            let _ = history.parent().map(std::fs::create_dir_all);
            // A history that cannot be kept is no reason to stop.
            let _ = editor.append_history(history);
        }
        let _ = lines.send(line);
    }
}
