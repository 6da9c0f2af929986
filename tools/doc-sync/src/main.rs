//! Keeps the book true to the steps (`sync`, `check`, `build`, `serve`), and the sixteen steps
//! together: `carry` takes a change made in one step through all later ones, `stats` counts what
//! each step adds and holds it against the limits.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::ArgMatches;

use doc_sync::book::{Book, Runs};
use doc_sync::sources::Sources;
use doc_sync::{build, carry, check, cli, repo, serve, stats, sync};

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    match run(&matches) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether all is well.
fn run(matches: &ArgMatches) -> Result<bool> {
    let root = repo::root()?;
    match matches.subcommand() {
        Some(("sync", args)) => {
            let matrix = args.get_flag("matrix");
            let runs = if matrix { Runs::AllRenewed } else { Runs::Renewed };
            let report = sync::sync(&Book::load(&root, folder(args), runs)?)?;
            say(&report);
            Ok(report.faults.is_empty())
        }
        Some(("check", args)) => check_book(&root, args),
        Some(("build", args)) => {
            let made = build::build(&root, folder(args))?;
            say(&made);
            Ok(made.faults.is_empty())
        }
        Some(("serve", args)) => {
            let port = args.get_one::<u16>("port").copied().unwrap_or_default();
            serve::serve(&root, folder(args), port)?;
            Ok(true)
        }
        Some(("carry", args)) => {
            let step = args.get_one::<String>("step").map(String::as_str).unwrap_or_default();
            let since = args.get_one::<String>("since").map(String::as_str).unwrap_or("HEAD");
            let report = carry::carry(&root, step, since, args.get_flag("dry-run"))?;
            say(&report);
            Ok(report.is_clean())
        }
        Some(("stats", args)) => count(&root, folder(args)),
        _ => Ok(true), // clap has printed the help.
    }
}

/// The steps' figures, with what their chapters show where there is a book.
fn count(root: &Path, folder: &Path) -> Result<bool> {
    let table = match root.join(folder).join("book.toml").is_file() {
        true => {
            let book = Book::load(root, folder, Runs::Stored)?;
            let mut table = stats::count(&book.steps, &book.sources)?;
            table.add_shares(&check::shares(&book)?);
            table
        }
        false => stats::count(&repo::steps(root)?, &Sources::default())?,
    };
    say(&table);
    Ok(table.faults().is_empty())
}

/// Prints to standard output. Where nobody reads any more (`| head`) there is nobody to tell.
fn say(text: &impl Display) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.to_string().as_bytes()).and_then(|()| out.flush());
}

fn folder(args: &ArgMatches) -> &Path {
    args.get_one::<PathBuf>("book").map_or(Path::new("book"), PathBuf::as_path)
}

fn check_book(root: &Path, args: &ArgMatches) -> Result<bool> {
    if args.get_flag("explain") {
        say(&check::explain());
        return Ok(true);
    }
    let runs = if args.get_flag("fresh") { Runs::Fresh } else { Runs::Stored };
    let report = check::check(&Book::load(root, folder(args), runs)?)?;
    say(&report);
    Ok(report.faults.is_empty())
}
