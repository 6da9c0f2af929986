//! The scripted model as a program of its own.
//!
//!     mock-server SCENE.toml --port 8080        serve a scene
//!     mock-server check SCENE.toml…             read scenes and say what is wrong with them

use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::task::Poll;

use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use mock_server::{Options, Scene, ScriptedModel, Values};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let matches = command().get_matches();
    let ended = match matches.subcommand() {
        Some(("check", check)) => Ok(check_scenes(check)),
        _ => serve(&matches).await.map(|()| ExitCode::SUCCESS),
    };
    ended.unwrap_or_else(|wrong| {
        eprintln!("{wrong:#}");
        ExitCode::FAILURE
    })
}

fn command() -> Command {
    let scene = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    Command::new("mock-server")
        .about("A scripted model: speaks the wire format of a real one, says what a scene says")
        .after_help(
            "The journal of requests is at /_journal. Ctrl+C stops the server.\n\n\
             Exit codes: 0 all is well · 1 something is not · 2 bad use",
        )
        .args_conflicts_with_subcommands(true)
        .arg_required_else_help(true)
        .arg(scene("SCENE").help("The scene file").required(true))
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .value_parser(value_parser!(u16))
                .default_value("8080")
                .help("The port on 127.0.0.1; 0 takes any that is free"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .help("The seed of the scene's random values; another at each start without it"),
        )
        .subcommand(
            Command::new("check")
                .about("Read scenes, and say with file and line what is wrong with them")
                .arg(scene("SCENES").num_args(1..).required(true).help("Scene files")),
        )
}

fn check_scenes(matches: &ArgMatches) -> ExitCode {
    let mut ended = ExitCode::SUCCESS;
    for path in matches.get_many::<PathBuf>("SCENES").into_iter().flatten() {
        match Scene::read(path) {
            Ok(scene) => println!("{}: fine: {}", path.display(), scene.title),
            Err(wrong) => {
                eprintln!("{wrong:#}");
                ended = ExitCode::FAILURE;
            }
        }
    }
    ended
}

async fn serve(matches: &ArgMatches) -> Result<()> {
    let path = matches.get_one::<PathBuf>("SCENE").context("no scene is named")?;
    let port = matches.get_one::<u16>("port").copied().unwrap_or(8080);
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or_else(|| fastrand::u64(..100_000));
    let scene = Scene::read(path)?;
    let values = Values::draw(&scene, seed);
    let title = scene.title.clone();
    let options = Options { port, values, pace: None, events: None, rooms: Vec::new() };
    let model = ScriptedModel::start(scene, options).await?;
    // Asked for once, Ctrl+C is ours, and not only when it is waited for: who reads that it stops the
    // server may press it at once.
    let mut pressed = pin!(tokio::signal::ctrl_c());
    let at_once = poll_fn(|context| Poll::Ready(pressed.as_mut().poll(context))).await;
    let url = model.url();
    println!("{title} · seed {seed}");
    println!("listening on {url} · journal at {url}/_journal · Ctrl+C stops");
    println!();
    println!("  ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=any ANTHROPIC_MODEL=scripted");
    match at_once {
        Poll::Ready(pressed) => pressed,
        Poll::Pending => pressed.await,
    }
    .context("cannot wait for Ctrl+C")?;
    tokio::select! {
        () = model.stop() => println!("stopped"),
        _ = tokio::signal::ctrl_c() => println!("stopped at once"),
    }
    Ok(())
}
