//! The commands of `doc-sync` and their switches.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

/// The port that mdBook serves on; the next free one is taken where it is in use.
const PORT: &str = "3000";

pub fn command() -> Command {
    Command::new("doc-sync")
        .about("Keeps the book true and the steps together")
        .after_help("Exit codes: 0 all is well · 1 something is not · 2 bad use")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([sync(), check(), build(), serve(), carry(), stats()])
}

fn book() -> Arg {
    Arg::new("book")
        .long("book")
        .value_name("FOLDER")
        .value_parser(value_parser!(PathBuf))
        .default_value("book")
        .help("The edition: a folder that holds book.toml, from the repository's root")
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn sync() -> Command {
    Command::new("sync")
        .about("Write every generated block of the book anew")
        .long_about(
            "Writes every generated block of the book anew: code, diffs, runs, tables, pictures.\n\n\
             A block stands between `<!-- doc-sync ORIGIN -->` and `<!-- doc-sync end -->`; of a\n\
             new one, write the first line. No byte outside the blocks is changed. A block that\n\
             cannot be made stays as it is, and is named.\n\n\
             Exit codes: 0 all blocks are made · 1 some could not be · 2 bad use",
        )
        .arg(flag("matrix", "Play every scene on every step again, too, which takes minutes"))
        .arg(book())
}

fn check() -> Command {
    Command::new("check")
        .about("Say everything that is wrong with the book, and how to mend it")
        .long_about(
            "Says everything that is wrong with the book, as `file:line: what, and how to mend it`.\n\
             Nothing is written and, without --fresh, nothing is run.\n\n\
             Exit codes: 0 nothing is wrong · 1 something is · 2 bad use",
        )
        .arg(flag("fresh", "Run every transcript and exercise again, and compare"))
        .arg(flag("explain", "List what is looked at, and do no more"))
        .arg(book())
}

fn build() -> Command {
    Command::new("build")
        .about("Make the book's pages")
        .long_about(
            "Makes the book's pages with mdBook's own code; no installed mdbook is needed.\n\
             Faults are shown, and the pages are made all the same.\n\n\
             Exit codes: 0 made, nothing is wrong · 1 made, with faults · 2 bad use",
        )
        .arg(book())
}

fn serve() -> Command {
    Command::new("serve")
        .about("Show the book in a browser while you write")
        .long_about(
            "Serves the book on 127.0.0.1, and makes it anew when a chapter or a step changes.\n\
             Faults are shown here and at the top of the page. Ctrl+C ends it.",
        )
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .value_parser(value_parser!(u16))
                .default_value(PORT)
                .help("Begin at this port; the next free one is taken"),
        )
        .arg(book())
}

fn carry() -> Command {
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
        .arg(flag("dry-run", "Say what would be done, write nothing"))
}

fn stats() -> Command {
    Command::new("stats")
        .about("Count each step's code, and hold it against the limits")
        .long_about(
            "Counts code lines (no blanks, comments, `use` and `mod`, tests, data tables).\n\n\
             added, removed: against the step before. rewritten: removed lines that do\n\
             not stand elsewhere in the step, as a share of the step before. shown: how much\n\
             of what the step adds stands in its chapter.\n\n\
             Exit codes: 0 within the limits · 1 a limit is passed · 2 bad use",
        )
        .arg(book())
}
