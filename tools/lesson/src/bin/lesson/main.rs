//! `lesson`: what those who build this course need. It judges programs by a step's scene, holds the
//! steps against one another, and breaks them on purpose to see that somebody notices.

mod check;
mod matrix;
mod mutate;
mod picture;
mod start;
mod svg;
mod terminal;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use lesson::process;
use lesson::stage::Interrupted;
use lesson::workshop::repo::Repo;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // An error means that a provider is installed already, which is what was wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let matches = switches().try_get_matches().unwrap_or_else(|mut error| {
        // "Use '-- --bogus'" would only hand it on.
        error.remove(clap::error::ContextKind::Suggested);
        error.exit()
    });
    match run_or_end(&matches).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("interrupted: everything that was started has ended");
            ExitCode::from(130)
        }
        Err(error) => {
            lesson::screen::error(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// How long a run may take to end in good order when it is asked to.
const GRACE: Duration = Duration::from_secs(4);

/// Whether everything was as it should be. On Ctrl+C and on the system's request to end, what was
/// started ends too, wherever the work stands.
async fn run_or_end(matches: &ArgMatches) -> Result<bool> {
    process::adopt_orphans();
    let mut end_requests = process::end_requests();
    let work = run(matches);
    tokio::pin!(work);
    let done = tokio::select! {
        done = &mut work => done,
        _ = end_requests.recv() => tokio::select! {
            done = &mut work => done,
            () = tokio::time::sleep(GRACE) => Err(Interrupted.into()),
            _ = end_requests.recv() => Err(Interrupted.into()),
        },
    };
    if done.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
        process::end_descendants(None);
    }
    done
}

/// Whether everything was as it should be.
async fn run(matches: &ArgMatches) -> Result<bool> {
    let repo = Repo::find()?;
    match matches.subcommand() {
        Some(("check", given)) => check::run(&repo, given).await,
        Some(("matrix", given)) => matrix::run(&repo, given.get_flag("json")).await,
        Some(("mutate", given)) => {
            mutate::run(&repo, &many(given, "steps"), given.get_flag("list")).await
        }
        Some(("picture", given)) => picture::run(&repo, one(given, "step"), seed(given)).await,
        Some(("diff", given)) => diff(&repo, given),
        Some(("start", given)) => {
            let folder = given.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
            start::run(&repo, one(given, "step"), &folder, &repo.target().await?)
        }
        _ => Ok(true), // clap has printed the help.
    }
}

fn diff(repo: &Repo, given: &ArgMatches) -> Result<bool> {
    let from = given.get_one::<String>("from").map(String::as_str);
    lesson::diff::run(&repo.step(one(given, "step"))?.dir, from, given.get_flag("stat"))?;
    Ok(true)
}

/// Prints to standard output. Where nobody reads any more (`| head`) there is nobody to tell.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn one<'a>(given: &'a ArgMatches, name: &str) -> &'a str {
    given.get_one::<String>(name).map_or("", String::as_str)
}

fn many(given: &ArgMatches, name: &str) -> Vec<String> {
    given.get_many::<String>(name).unwrap_or_default().cloned().collect()
}

fn seed(given: &ArgMatches) -> Option<u64> {
    given.get_one::<u64>("seed").copied()
}

const EXIT_CODES: &str =
    "Exit codes: 0 all is well · 1 something is not · 2 bad use · 130 interrupted";

fn switches() -> Command {
    Command::new("lesson")
        .about("The workshop of the course: judges programs and steps by their scenes.")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(check_switches())
        .subcommand(
            Command::new("start")
                .about("Makes a crate of your own, to grow a step in")
                .long_about(
                    "Makes a crate of your own, to grow a step in.\n\n\
                     It holds the code of the step before and the story of the step. So its first\n\
                     `cargo run` fails, by the rule that the story names: that is where you begin.",
                )
                .after_help(format!("Example: lesson start 03 ../my-agent\n\n{EXIT_CODES}"))
                .arg(step_argument())
                .arg(
                    Arg::new("folder")
                        .value_name("FOLDER")
                        .help("A folder that is new or empty")
                        .required(true)
                        .value_parser(value_parser!(PathBuf)),
                ),
        )
        .subcommand(
            Command::new("matrix")
                .about("Plays every scene on every step")
                .long_about(
                    "Plays every scene on every step.\n\n\
                     The scene of a step must hold on that step and on every later one. On the\n\
                     step before it must fail, by the rule that it names in `proves`.",
                )
                .after_help(EXIT_CODES)
                .arg(flag("json", "Print the table as JSON")),
        )
        .subcommand(mutate_switches())
        .subcommand(
            Command::new("picture")
                .about("Runs a step and writes its screen as an SVG to standard output")
                .after_help(EXIT_CODES)
                .arg(step_argument())
                .arg(seed_switch().default_value("4711")),
        )
        .subcommand(
            Command::new("diff")
                .about("Shows what a step adds to the one before")
                .after_help(EXIT_CODES)
                .arg(step_argument())
                .arg(Arg::new("from").long("from").value_name("NN").help("Compare with this step"))
                .arg(flag("stat", "Only a line for each file, and the sums")),
        )
}

fn check_switches() -> Command {
    Command::new("check")
        .about("Judges a program, in any language, by a step's scene")
        .long_about(
            "Judges a program, in any language, by a step's scene.\n\n\
             The program reads the user's lines from standard input, writes to standard\n\
             output, and talks to the model that ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY and\n\
             ANTHROPIC_MODEL name. It runs in a temporary copy of the scene's workspace, so\n\
             arguments that name a file of the current folder are made absolute. Rules\n\
             about the wording of the steps' own screen are left out.",
        )
        .after_help(format!("Example: lesson check 00 -- python3 my_agent.py\n\n{EXIT_CODES}"))
        .arg(step_argument())
        .arg(seed_switch())
        .arg(
            Arg::new("trace")
                .long("trace")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write every request and reply as JSON"),
        )
        .arg(flag("keep", "Leave the temporary folder, and name it"))
        .arg(flag("yes", "Answer every question of the program with yes"))
        .arg(
            Arg::new("program")
                .value_name("PROGRAM ARGS")
                .help("The program and its arguments, after --")
                .required(true)
                .last(true)
                .num_args(1..)
                .value_parser(value_parser!(OsString)),
        )
}

fn mutate_switches() -> Command {
    Command::new("mutate")
        .about("Breaks each claim of a step on purpose, and sees that it is noticed")
        .long_about(
            "Breaks each claim of a step on purpose, and sees that it is noticed.\n\n\
             Each mutation of steps/*/mutations.toml is applied to a copy of the repository\n\
             in target/mutate, one after the other. The scene or the test that it names must\n\
             then fail. One run at a time: two would share the copy.",
        )
        .after_help(EXIT_CODES)
        .arg(
            Arg::new("steps")
                .value_name("NN")
                .help("Only these steps [default: all]")
                .num_args(0..),
        )
        .arg(flag("list", "List the mutations, and try none"))
}

fn step_argument() -> Arg {
    Arg::new("step").value_name("NN").help("The step, such as 02").required(true)
}

fn seed_switch() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("N")
        .help("Draw the scene's random values from this seed")
        .value_parser(value_parser!(u64))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}
