//! The switches that every step has.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, Command, value_parser};

/// What a learner wants of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Switches {
    pub diff: bool,
    pub stat: bool,
    pub from: Option<String>,
    pub live: bool,
    pub here: bool,
    pub no_brakes: bool,
    pub scene: Option<String>,
    pub pace: Option<Duration>,
    pub trace: Option<PathBuf>,
    pub keep: bool,
    pub yes: bool,
    pub seed: Option<u64>,
    /// Handed to the agent with `--live`.
    pub agent_args: Vec<OsString>,
}

impl Switches {
    /// Reads the command line. The error holds what to print, which may be the help.
    pub fn read(step: &str, args: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let found = command(step).try_get_matches_from(args)?;
        Ok(Self {
            diff: found.get_flag("diff"),
            stat: found.get_flag("stat"),
            from: found.get_one("from").cloned(),
            live: found.get_flag("live"),
            here: found.get_flag("here"),
            no_brakes: found.get_flag("no-brakes"),
            scene: found.get_one("scene").cloned(),
            pace: found.get_one("pace").map(|pace| Duration::from_millis(*pace)),
            trace: found.get_one("trace").cloned(),
            keep: found.get_flag("keep"),
            yes: found.get_flag("yes"),
            seed: found.get_one("seed").copied(),
            agent_args: found.get_many("agent").unwrap_or_default().cloned().collect(),
        })
    }
}

fn command(step: &str) -> Command {
    Command::new("step")
        .display_name(step.to_string())
        .bin_name(format!("cargo run -p {step} --"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(format!(
            "Plays the scene of {step}: a coding agent at work, with a scripted model.\n\
             No key, no network; it works on a copy, and your files are untouched."
        ))
        .after_help(examples(step))
        .args(of_the_code())
        .args(of_the_run())
        .args(of_live())
}

fn examples(step: &str) -> String {
    let run = format!("cargo run -p {step}");
    let other = if step == "step00" { "01" } else { "00" };
    format!(
        "Examples:\n  \
         {run}                          play the scene\n  \
         {run} -- --diff                what this step adds\n  \
         {run} -- --scene {other} --seed 7   another step's scene\n  \
         {run} -- --keep --pace 0       at once; keep the folder\n  \
         {run} -- --live --no-brakes    a real model\n\n\
         Exit codes: 0 all verified · 1 something was not · 2 bad use · 130 interrupted"
    )
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn of_the_code() -> [Arg; 3] {
    [
        flag("diff", "Show what this step adds to the one before")
            .conflicts_with_all(["live", "scene"]),
        flag("stat", "With --diff: only the lines added and removed").requires("diff"),
        Arg::new("from")
            .long("from")
            .value_name("NN")
            .requires("diff")
            .help("With --diff: compare with this step instead"),
    ]
    .map(|arg| arg.help_heading("The code"))
}

fn of_the_run() -> [Arg; 6] {
    [
        Arg::new("scene")
            .long("scene")
            .value_name("NN")
            .conflicts_with("live")
            .help("Play the scene of this step, or of a folder, instead"),
        Arg::new("pace")
            .long("pace")
            .value_name("MS")
            .value_parser(value_parser!(u64))
            .help("Typing effect: wait between words; 0: none; Enter skips it"),
        Arg::new("seed")
            .long("seed")
            .value_name("N")
            .value_parser(value_parser!(u64))
            .help("Draw the values of the run that showed this seed"),
        Arg::new("trace")
            .long("trace")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Write every request and reply as JSON"),
        flag("keep", "Leave the temporary folder, and name it"),
        flag("yes", "Answer every question with yes (none before step 06)"),
    ]
    .map(|arg| arg.help_heading("The run"))
}

fn of_live() -> [Arg; 4] {
    [
        flag("live", "Work with a real model instead of a scene")
            .conflicts_with_all(["seed", "trace", "pace"]),
        flag("here", "With --live: work in this folder, not in a copy").requires("live"),
        flag("no-brakes", "With --live, before step 06: yes, nothing asks before it acts")
            .requires("live"),
        Arg::new("agent")
            .value_name("ARGS")
            .last(true)
            .num_args(0..)
            .requires("live")
            .value_parser(value_parser!(OsString))
            .help("With --live: arguments for the agent"),
    ]
    .map(|arg| {
        arg.help_heading(
            "A real model (set ANTHROPIC_API_KEY, ANTHROPIC_MODEL, ANTHROPIC_BASE_URL)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Switches, String> {
        let args = std::iter::once("step02").chain(line.split_whitespace()).map(OsString::from);
        Switches::read("step02", args).map_err(|error| error.to_string())
    }

    #[test]
    fn no_switch_plays_the_scene() {
        assert_eq!(read(""), Ok(Switches::default()));
    }

    #[test]
    fn every_switch_is_understood() {
        let all =
            read("--scene 00 --pace 5 --trace t.json --keep --yes --seed 7").expect("good use");
        let wanted = Switches {
            scene: Some("00".to_string()),
            pace: Some(Duration::from_millis(5)),
            trace: Some("t.json".into()),
            keep: true,
            yes: true,
            seed: Some(7),
            ..Switches::default()
        };
        assert_eq!(all, wanted);
        let live = read("--live --here --no-brakes -- -p hello").expect("good use");
        assert_eq!(live.agent_args, ["-p", "hello"].map(OsString::from));
        assert!(live.live && live.here && live.no_brakes);
        let diff = read("--diff --stat --from 00").expect("good use");
        assert!(diff.diff && diff.stat && diff.from.as_deref() == Some("00"));
    }

    #[test]
    fn switches_that_mean_nothing_together_are_refused() {
        for line in
            ["--stat", "--from 01", "--here", "--no-brakes", "--live --scene 00", "--pace x"]
        {
            let error = read(line).expect_err(line);
            assert!(error.starts_with("error: "), "{line}: {error}");
        }
    }

    #[test]
    fn the_help_fits_eighty_columns() {
        let help = read("--help").expect_err("the help");
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new());
    }

    #[test]
    fn the_help_names_every_switch_with_examples() {
        insta::assert_snapshot!("help", read("--help").expect_err("the help"));
    }
}
