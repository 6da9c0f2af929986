//! Keeps the sixteen steps together: `carry` takes a change made in one step through all later
//! ones, `stats` counts what each step adds and holds it against the limits.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

fn main() -> ExitCode {
    let matches = command().get_matches();
    match run(&matches) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Command {
    Command::new("doc-sync")
        .about("Keeps the steps together")
        .after_help("Exit codes: 0 all is well · 1 something is not · 2 bad use")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("carry")
                .about("Take a change made in one step through all later ones")
                .long_about(
                    "Takes a change made in one step through all later ones, by three-way merge.\n\n\
                     The change is what differs from the last commit, or from --since. New,\n\
                     renamed and deleted files are carried too. A step's own story (scene.toml,\n\
                     mutations.toml, workspace/) stays where it is. Where a merge has conflicts\n\
                     they are left in the file in the usual markers and listed; mend them, then\n\
                     carry on from that step.\n\n\
                     Exit codes: 0 carried · 1 conflicts · 2 bad use",
                )
                .arg(Arg::new("step").required(true).value_name("NN").help("The step that was changed"))
                .arg(
                    Arg::new("since")
                        .long("since")
                        .value_name("REVISION")
                        .default_value("HEAD")
                        .help("What the step is compared with"),
                )
                .arg(
                    Arg::new("dry-run")
                        .long("dry-run")
                        .action(ArgAction::SetTrue)
                        .help("Say what would be done, write nothing"),
                ),
        )
        .subcommand(
            Command::new("stats")
                .about("Count each step's code, and hold it against the limits")
                .long_about(
                    "Counts code lines (no blanks, comments, `use` and `mod`, tests, data tables).\n\n\
                     added, removed: against the step before. rewritten: removed lines that do\n\
                     not stand elsewhere in the step, as a share of the step before.\n\n\
                     Exit codes: 0 within the limits · 1 a limit is passed · 2 bad use",
                ),
        )
}

fn run(matches: &ArgMatches) -> anyhow::Result<bool> {
    let root = doc_sync::repo::root()?;
    match matches.subcommand() {
        Some(("carry", args)) => {
            let step = args.get_one::<String>("step").map(String::as_str).unwrap_or_default();
            let since = args.get_one::<String>("since").map(String::as_str).unwrap_or("HEAD");
            let report = doc_sync::carry::carry(&root, step, since, args.get_flag("dry-run"))?;
            print!("{report}");
            Ok(report.is_clean())
        }
        _ => {
            let table = doc_sync::stats::count(&root)?;
            print!("{table}");
            Ok(table.faults().is_empty())
        }
    }
}
