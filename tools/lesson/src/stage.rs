//! The stage plays a scene with a program and says what held.
//!
//! It starts the scripted model, copies the scene's folders, runs the program there as a child,
//! hands it the scene's lines, does what the scene does from outside, and then checks the rules.
//! The parts: `rooms` (the folders), `environment`, `program` (the child), `output` (what it
//! writes), `lines` (which line comes when), `run` (the loop over all of it), `patience` (how long), `outside` and `actions`
//! (what the scene does from outside), `verify` and `command` (the rules), `report` (two rules that every scene has).

mod actions;
mod command;
mod ending;
mod environment;
mod lines;
mod offspring;
mod output;
mod outside;
mod patience;
mod program;
mod regular;
mod report;
mod rooms;
mod run;
mod show;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mock_server::scene::{Check, FileCheck};
use mock_server::{Event, Options, Scene, ScriptedModel, Values};
use tokio::sync::mpsc;

use crate::screen::Paint;
pub use ending::Interrupted;
use lines::Script;
use offspring::Offspring;
use program::Start;
pub use report::{head, writable};
pub use rooms::Rooms;
use run::Run;
use show::Show;
use verify::Evidence;

/// A scene to play, with whom, and how.
pub struct Play {
    /// The program and its arguments; the scene's own arguments come after them.
    pub program: Vec<OsString>,
    pub scene: Scene,
    /// The folder with `workspace/` and `home/`.
    pub scene_dir: PathBuf,
    /// One of our steps. Rules about our screen's wording are left out for other programs.
    pub ours: bool,
    /// `None`: drawn.
    pub seed: Option<u64>,
    /// The screen's typing effect: the wait after a word. `None`: a little on a terminal.
    pub pace: Option<Duration>,
    /// Leave the temporary folder, and name it.
    pub keep: bool,
    /// Answer every question with yes.
    pub yes: bool,
    /// Where to write every request and reply as JSON.
    pub trace: Option<PathBuf>,
    /// Print the screen while it runs.
    pub show: bool,
    /// This process plays nothing else at the same time, and has no other children: everything
    /// below it ends with the play. Else only what has inherited the run's mark.
    pub alone: bool,
    /// Say on standard error what is waited for, where that takes long.
    pub tell_waits: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub rules: Vec<Judged>,
    /// Names of the rules that were not looked at.
    pub left_out: Vec<String>,
    pub seed: u64,
    /// Everything the program wrote, without colours.
    pub output: String,
    /// What is left of the run, to be told at the very end: its folder, its trace.
    pub remains: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub name: String,
    pub says: String,
    /// The error says what was expected, what was found instead, and where.
    pub verdict: Result<(), String>,
}

impl Outcome {
    /// Whether every rule holds.
    pub fn holds(&self) -> bool {
        self.rules.iter().all(|rule| rule.verdict.is_ok())
    }

    /// The list of what was verified, as the screen shows it.
    pub fn verified(&self, paint: &Paint) -> String {
        report::verified(paint, self)
    }
}

/// Plays the scene to its end.
///
/// Errors where the scene cannot be played at all (a program that cannot be started, a stage action
/// that fails), and with `Interrupted` on Ctrl+C. Whatever the program does is an outcome.
pub async fn play(play: Play) -> Result<Outcome> {
    crate::process::adopt_orphans();
    if let Some(file) = &play.trace {
        writable(file)?;
    }
    let seed = play.seed.unwrap_or_else(new_seed);
    let values = Values::draw(&play.scene, seed);
    let rooms = Rooms::copy(&play.scene_dir)?;
    rooms.fill(&play.scene.fill, &values)?;

    let (sender, events) = mpsc::unbounded_channel();
    let base = rooms.base().to_string_lossy().into_owned();
    let options = Options { port: 0, values, pace: None, events: Some(sender), rooms: vec![base] };
    let model = ScriptedModel::start(play.scene.clone(), options)
        .await
        .context("starting the scripted model")?;

    let outcome = on_stage(&play, seed, &rooms, &model, events).await;
    let trace = play.trace.as_ref().map(|file| report::write_trace(file, &model.journal()));
    model.stop().await;
    let kept = play.keep.then(|| kept(&rooms.keep()));
    let remains: Vec<String> = trace.into_iter().chain(kept).collect();
    if outcome.is_err() {
        remains.iter().for_each(|line| crate::screen::write(&format!("{line}\n")));
    }
    outcome.map(|outcome| Outcome { remains, ..outcome })
}

/// Where a folder is that is not removed.
pub fn kept(folder: &Path) -> String {
    format!("kept: {}", folder.display())
}

async fn on_stage(
    play: &Play,
    seed: u64,
    rooms: &Rooms,
    model: &ScriptedModel,
    events: mpsc::UnboundedReceiver<Event>,
) -> Result<Outcome> {
    let originals = rooms.remember(unchanged_files(&play.scene))?;
    let mut show = Show::new(play.show, play.pace);
    let head = report::head(&show.paint, &play.scene, &play.scene_dir, seed);
    show.text(&head).await;
    let offspring = Offspring::new(rooms, play.alone);
    let start = Start {
        program: &play.program,
        rooms,
        offspring: &offspring,
        url: model.url(),
        key: format!("lesson-{seed}"),
        colour: show.paint.colour,
        width: show.paint.width,
    };
    let mut run = Run::new(play, start, model, show);
    let ending = run.play_to_the_end(events).await?;

    let values = run.values();
    let Run { transcript, script, mut end_requests, .. } = run;
    let evidence = Evidence {
        rooms,
        transcript: &transcript,
        exchanges: &model.journal(),
        originals: &originals,
        values: &values,
        offspring: &offspring,
    };
    let faults = model.faults();
    let told = tokio::select! {
        biased;
        Some(()) = end_requests.recv() => Err(Interrupted),
        rules = judge_all(play, &evidence, &script, &ending, &faults) => Ok(rules),
    };
    offspring.end();
    let rules = told?;
    let left_out = play.scene.verify.iter().filter(|rule| !is_looked_at(play, &rule.check));
    let left_out = left_out.map(|rule| rule.name.clone()).collect();
    Ok(Outcome { rules, left_out, seed, output: transcript.text, remains: Vec::new() })
}

async fn judge_all(
    play: &Play,
    evidence: &Evidence<'_>,
    script: &Script<'_>,
    ending: &ending::Ending,
    faults: &[mock_server::Fault],
) -> Vec<Judged> {
    let mut rules = Vec::new();
    let until = Instant::now() + play.scene.time_limit;
    for rule in play.scene.verify.iter().filter(|rule| is_looked_at(play, &rule.check)) {
        rules.push(evidence.judge(rule, until).await);
        // Ctrl+C is looked for between two rules that never wait.
        tokio::task::yield_now().await;
    }
    rules.push(report::script(evidence, &play.scene, script, ending, faults));
    rules.push(report::protocol(&play.scene, evidence.exchanges, faults));
    rules
}

/// How another program words its screen is its own affair.
fn is_looked_at(play: &Play, check: &Check) -> bool {
    play.ours || !matches!(check, Check::Screen(_))
}

fn unchanged_files(scene: &Scene) -> impl Iterator<Item = &str> {
    scene.verify.iter().filter_map(|rule| match &rule.check {
        Check::File { path, file: FileCheck::Unchanged } => Some(path.as_str()),
        _ => None,
    })
}

/// Short enough to be typed again.
pub fn new_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds each of its hashers at random.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    1000 + random % 9000
}
