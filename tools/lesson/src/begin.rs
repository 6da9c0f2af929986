//! Stage or agent: what a step does with its switches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mock_server::Scene;

use crate::screen::{self, Ink, Paint};
use crate::stage::{self, Interrupted, Outcome, Play};
use crate::switches::Switches;
use crate::workshop::repo::Repo;
use crate::{diff, live, manifest, place};

const VERIFIED: i32 = 0;
const NOT_VERIFIED: i32 = 1;
const BAD_USE: i32 = 2;
const INTERRUPTED: i32 = 130;

/// Does what the command line says. The result is the exit code.
pub async fn run(step_dir: &Path, args: impl IntoIterator<Item = OsString>) -> i32 {
    let step = Step::new(step_dir);
    let switches = match Switches::read(&step.package(), args) {
        Ok(switches) => switches,
        Err(mut error) => {
            // "Use '-- --bogus'" would hand it to an agent that does not know it either.
            error.remove(clap::error::ContextKind::Suggested);
            // The help and the version are "errors" as well, to standard output and with code 0.
            let _ = error.print();
            return error.exit_code();
        }
    };
    match obey(&step, switches).await {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            screen::write("\ninterrupted: everything that was started has ended\n");
            INTERRUPTED
        }
        Err(error) => {
            screen::error(&format!("{error:#}"));
            if error.is::<BadUse>() { BAD_USE } else { NOT_VERIFIED }
        }
    }
}

async fn obey(step: &Step, switches: Switches) -> Result<i32> {
    if !step.dir.is_dir() {
        let dir = step.dir.display();
        bail!(
            "{dir} is not there: this program was built from it; build it where the clone is now"
        );
    }
    if switches.diff && !step.is_ours() {
        return Err(BadUse(format!(
            "{} stands alone, so there is no step before it to compare with: `git diff` in it, or \
             `cargo run -p lesson -- diff NN` in the clone",
            step.package()
        ))
        .into());
    }
    if switches.diff {
        diff::run(&step.dir, switches.from.as_deref(), switches.stat)?;
        return Ok(VERIFIED);
    }
    if switches.live {
        return live::run(step, &switches).await;
    }
    play_scene(step, switches).await
}

async fn play_scene(step: &Step, switches: Switches) -> Result<i32> {
    let scene_dir = match &switches.scene {
        None => step.dir.clone(),
        Some(name) => step.other(name)?,
    };
    let file = scene_dir.join("scene.toml");
    let scene = Scene::read(&file)
        .map_err(|error| anyhow::anyhow!("{}", place::shortened(&format!("{error:#}"), &file)))?;
    if let Some(trace) = &switches.trace {
        stage::writable(trace).map_err(|error| BadUse(format!("{error:#}")))?;
    }
    let play = Play {
        program: vec![std::env::current_exe().context("finding this program itself")?.into()],
        scene,
        scene_dir,
        ours: true,
        seed: switches.seed,
        pace: switches.pace,
        keep: switches.keep,
        yes: switches.yes,
        trace: switches.trace.clone(),
        show: true,
        alone: true,
        tell_waits: false,
    };
    show_play(step, &switches, play).await
}

async fn show_play(step: &Step, switches: &Switches, play: Play) -> Result<i32> {
    let paint = screen::paint();
    let mut run = step.command();
    let (scene_of, next) = (Step::new(&play.scene_dir), play.scene.next.clone());
    let proves = play.scene.proves.clone();
    let is_exercise = !step.is_beside(&play.scene_dir);
    if let Some(name) = &switches.scene {
        run.push_str(&format!(" -- --scene {name}"));
        let whose = match step.is_beside(&play.scene_dir) {
            true => "of another step".to_string(),
            false => format!("in {}", place::short(&play.scene_dir)),
        };
        let whose = format!("{} plays the scene {whose}", step.package());
        screen::write(&format!("{}\n", paint.ink(Ink::Dim, &whose)));
    }
    let outcome = stage::play(play).await?;
    screen::write(&outcome.verified(&paint));
    if let Some(rule) = proves.filter(|rule| fails_by(&outcome, rule))
        && (is_exercise || scene_of.folder() > step.folder())
    {
        let (lacks, adds) = (step.package(), scene_of.package());
        let line = match is_exercise {
            true => format!("as it should be until the exercise is solved (rule `{rule}`)"),
            false => format!("as it should be: {lacks} lacks what {adds} adds (rule `{rule}`)"),
        };
        screen::write(&format!("\n{}\n", paint.wrapped("", "  ", &line)));
    }
    let lines = match outcome.holds() {
        true if step.is_ours() => what_next(step),
        true => in_the_clone(step).unwrap_or_default(),
        false => how_to_look(&run, outcome.seed),
    };
    let mut after = commands(&paint, &lines);
    // They speak of our step's own lines.
    if outcome.holds() && switches.scene.is_none() && step.is_ours() {
        next.iter().for_each(|line| after += &format!("{}\n", paint.wrapped("  ", "    ", line)));
    }
    if !after.is_empty() {
        screen::write(&format!("\n{}\n{after}", paint.ink(Ink::Bold, "next")));
    }
    if !outcome.remains.is_empty() {
        screen::write(&format!("\n{}\n", outcome.remains.join("\n")));
    }
    Ok(if outcome.holds() { VERIFIED } else { NOT_VERIFIED })
}

fn fails_by(outcome: &Outcome, rule: &str) -> bool {
    outcome.rules.iter().any(|judged| judged.name == rule && judged.verdict.is_err())
}

/// Commands, and what each is for.
type Commands = Vec<(String, &'static str)>;

fn what_next(step: &Step) -> Commands {
    let mut lines = Vec::new();
    if let Some(before) = step.before() {
        let diff = format!("cargo run -p {} -- --diff", step.package());
        lines.push((diff, "what this step adds"));
        let same = format!("cargo run -p {} -- --scene {}", before.package(), step.number());
        lines.push((same, "the same story without it"));
    }
    if let Some(next) = step.next() {
        lines.push((format!("cargo run -p {}", next.package()), "the next step"));
    }
    lines
}

/// What a learner may do with a crate of their own that plays its story to the end.
fn in_the_clone(step: &Step) -> Option<Commands> {
    let (story, program) = (manifest::story(&step.dir)?, std::env::current_exe().ok()?);
    let repo = Repo::find().ok()?;
    let done = repo.step(&story).ok()?;
    let check = format!("cargo run -p lesson -- check {} -- {}", done.digits(), program.display());
    let mut lines = vec![(check, "in the clone: judges it as it would any other program")];
    if let Some(next) = repo.steps.iter().find(|other| other.folder > done.folder) {
        let start = format!("cargo run -p lesson -- start {} FOLDER", next.digits());
        lines.push((start, "in the clone: a new crate, for the next step"));
    }
    Some(lines)
}

/// The same run again, to be looked at where something failed.
fn how_to_look(run: &str, seed: u64) -> Commands {
    let run = if run.contains(" -- ") { run.to_string() } else { format!("{run} --") };
    vec![
        (format!("{run} --seed {seed} --keep"), "the same run; look at its folder"),
        (format!("{run} --seed {seed} --trace trace.json"), "every request and reply"),
    ]
}

/// One line each, or two where they do not fit.
fn commands(paint: &Paint, lines: &Commands) -> String {
    let widest = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let narrow = lines.iter().any(|(_, says)| widest + says.len() + 5 > paint.width);
    let mut shown = String::new();
    for (command, says) in lines {
        let gap = match narrow {
            true => "\n    ".to_string(),
            false => " ".repeat(widest - command.len() + 3),
        };
        shown.push_str(&format!("  {command}{gap}{}\n", paint.ink(Ink::Dim, says)));
    }
    shown
}

/// Bad use that clap cannot see.
#[derive(Debug)]
pub struct BadUse(pub String);

impl std::fmt::Display for BadUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUse {}

/// A step, by its folder `steps/NN-name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub dir: PathBuf,
}

impl Step {
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    fn folder(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn number(&self) -> String {
        let folder = self.folder();
        folder.split_once('-').map_or(folder.as_str(), |(number, _)| number).to_string()
    }

    /// A folder of the course, and not a learner's own crate.
    pub fn is_ours(&self) -> bool {
        place::is_step_number(&self.number())
    }

    /// `step07`; a learner's own crate has the name of its folder.
    pub fn package(&self) -> String {
        if self.is_ours() { format!("step{}", self.number()) } else { self.folder() }
    }

    /// How it is run.
    fn command(&self) -> String {
        if self.is_ours() { format!("cargo run -p {}", self.package()) } else { "cargo run".into() }
    }

    /// All steps with a scene, in order.
    fn all(&self) -> Vec<Step> {
        let Some(entries) = self.dir.parent().and_then(|steps| steps.read_dir().ok()) else {
            return Vec::new();
        };
        let all = entries.flatten().map(|entry| Step { dir: entry.path() });
        let is_step = |step: &Step| step.is_ours() && step.dir.join("scene.toml").is_file();
        let mut steps: Vec<Step> = all.filter(is_step).collect();
        steps.sort_by_key(Step::folder);
        steps
    }

    fn before(&self) -> Option<Step> {
        if !self.is_ours() {
            return None;
        }
        self.all().into_iter().rfind(|step| step.folder() < self.folder())
    }

    fn next(&self) -> Option<Step> {
        if !self.is_ours() {
            return None;
        }
        self.all().into_iter().find(|step| step.folder() > self.folder())
    }

    /// Whether a folder is one of the steps, and not one that a person named by its path.
    fn is_beside(&self, folder: &Path) -> bool {
        folder.parent() == self.dir.parent()
    }

    /// The folder of the step with this number (`7` and `07`) or name, or any folder by its path.
    fn other(&self, name: &str) -> Result<PathBuf> {
        let steps = self.all();
        let is_meant = |step: &&Step| {
            let number = step.number();
            name == number || format!("{name:0>2}") == number || name == step.folder()
        };
        if let Some(step) = steps.iter().find(is_meant) {
            return Ok(step.dir.clone());
        }
        let folder = Path::new(name);
        if folder.join("scene.toml").is_file() {
            return std::path::absolute(folder).context("the scene's folder cannot be read");
        }
        if folder.is_dir() || folder.components().count() > 1 {
            let why = if folder.is_dir() { "holds no scene.toml" } else { "is not there" };
            return Err(BadUse(format!(
                "the folder {name} {why}: name one that holds a scene, seen from here, or a step"
            ))
            .into());
        }
        let there: Vec<String> = steps.iter().map(Step::folder).collect();
        let there = if there.is_empty() { "none".to_string() } else { there.join(", ") };
        Err(BadUse(format!("there is no scene {name}: there are {there}")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_steps() -> (tempfile::TempDir, Step) {
        let steps = tempfile::tempdir().expect("a temporary folder");
        for name in ["00-loop", "01-tools", "02-edit"] {
            std::fs::create_dir(steps.path().join(name)).expect("made");
            std::fs::write(steps.path().join(name).join("scene.toml"), "").expect("written");
        }
        let step = Step::new(&steps.path().join("01-tools"));
        (steps, step)
    }

    #[test]
    fn a_step_knows_its_number_and_its_neighbours() {
        let (steps, step) = three_steps();
        assert_eq!(step.package(), "step01");
        assert_eq!(step.next().map(|next| next.package()), Some("step02".to_string()));
        for name in ["2", "02", "02-edit"] {
            assert_eq!(step.other(name).expect("there"), steps.path().join("02-edit"));
        }
    }

    #[test]
    fn any_folder_that_holds_a_scene_can_be_named_by_its_path() {
        let (steps, step) = three_steps();
        let exercise = steps.path().join("book").join("02-edits");
        std::fs::create_dir_all(&exercise).expect("made");
        let name = exercise.display().to_string();
        let error = step.other(&name).expect_err("it has no scene");
        assert!(error.is::<BadUse>());
        assert_eq!(
            error.to_string(),
            format!(
                "the folder {name} holds no scene.toml: name one that holds a scene, seen from here, or a step"
            )
        );
        std::fs::write(exercise.join("scene.toml"), "").expect("written");
        assert_eq!(step.other(&name).expect("there"), exercise);
        assert!(!step.is_beside(&exercise) && step.is_beside(&steps.path().join("02-edit")));
        let gone = format!("{name}-gone");
        let error = step.other(&gone).expect_err("it is not there").to_string();
        assert!(error.starts_with(&format!("the folder {gone} is not there: ")), "{error}");
    }

    #[test]
    fn an_unknown_scene_is_bad_use_and_lists_what_there_is() {
        let (_steps, step) = three_steps();
        let error = step.other("07").expect_err("not there");
        assert!(error.is::<BadUse>());
        let wanted = "there is no scene 07: there are 00-loop, 01-tools, 02-edit";
        assert_eq!(error.to_string(), wanted);
    }
}
