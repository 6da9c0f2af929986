//! The same agent with a real model.
//!
//! No stage here: the agent talks to the terminal itself, in the learner's own environment, since
//! a real model may be behind a proxy. What stays is the copy of the workspace, unless the learner
//! wants the current folder, and that everything the agent started ends with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::begin::{BadUse, Step};
use crate::manifest;
use crate::process;
use crate::screen::{self, Ink};
use crate::stage::{self, Rooms};
use crate::switches::Switches;

const OFFICIAL: &str = "https://api.anthropic.com";

/// The first step whose agent asks before it does something.
const FIRST_THAT_ASKS: &str = "06";

/// Runs the agent; the result is its exit code.
pub async fn run(step: &Step, switches: &Switches) -> Result<i32> {
    let lookup = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let url = server(&lookup)?;
    if !asks(step) && !switches.no_brakes {
        return Err(BadUse(no_brakes(step, switches.here)).into());
    }
    let rooms = if switches.here { None } else { Some(Rooms::copy(&step.dir)?) };
    let folder = match &rooms {
        Some(rooms) => rooms.workspace(),
        None => std::env::current_dir().context("finding the current folder")?,
    };
    let model = lookup("ANTHROPIC_MODEL").unwrap_or_default();
    say_where(&format!("{} · {model} · {url}", step.package()), &folder, rooms.is_some());
    let code = run_agent(&folder, &url, &switches.agent_args).await;
    if let Some(rooms) = rooms.filter(|_| switches.keep) {
        screen::write(&format!("\n{}\n", stage::kept(&rooms.keep())));
    }
    code
}

/// The server's address, where all is named that must be.
fn server(lookup: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let mut missing = Vec::new();
    if lookup("ANTHROPIC_API_KEY").is_none() {
        missing.push("ANTHROPIC_API_KEY   the key of the server you use");
    }
    if lookup("ANTHROPIC_MODEL").is_none() {
        missing.push("ANTHROPIC_MODEL     the model's name there, for example claude-sonnet-4-5");
    }
    if missing.is_empty() {
        let url = lookup("ANTHROPIC_BASE_URL").unwrap_or_else(|| OFFICIAL.to_string());
        return if is_address(&url) { Ok(url) } else { Err(BadUse(bad_address(&url)).into()) };
    }
    let missing = missing.join("\n  ");
    Err(BadUse(format!(
        "--live needs a model, and the environment names none. Set\n  {missing}\n\
         (ANTHROPIC_BASE_URL: any server with the Messages API; if unset, {OFFICIAL})"
    ))
    .into())
}

/// `http://HOST` or `https://HOST`, perhaps with a port and a path.
fn is_address(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, port.parse::<u16>().is_ok()),
        _ => (host, true),
    };
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"?#\"'".contains(c);
    ["http", "https"].contains(&scheme) && !name.is_empty() && port && url.chars().all(is_plain)
}

fn bad_address(url: &str) -> String {
    format!(
        "ANTHROPIC_BASE_URL is no address of a server: {url}\nA good one looks like {OFFICIAL} or \
         http://127.0.0.1:8080"
    )
}

/// A learner's own crate begins with the code of the step before the one whose story it plays.
fn asks(step: &Step) -> bool {
    match step.is_ours() {
        true => step.number().as_str() >= FIRST_THAT_ASKS,
        false => manifest::story(&step.dir).is_some_and(|story| story.as_str() > FIRST_THAT_ASKS),
    }
}

fn no_brakes(step: &Step, here: bool) -> String {
    let where_to = if here { "in this folder" } else { "on this machine" };
    format!(
        "{} does whatever the model says: it asks nobody before it runs a command or writes a \
         file {where_to} (questions come with step {FIRST_THAT_ASKS}). If you want that, add --no-brakes",
        step.package()
    )
}

fn say_where(who: &str, folder: &Path, is_copy: bool) {
    let paint = screen::paint();
    let what = match is_copy {
        true => "a copy: it is removed at the end; --keep keeps it",
        false => "your own files",
    };
    let head = paint.wrapped("", "  ", &format!("live · {who}"));
    // A path is to be copied: it is not broken.
    let head = format!("{head}\nworks in {}\n  ({what})", folder.display());
    let head = paint.ink(Ink::Dim, &head);
    screen::write(&format!("{head}\ntype a line, end with Ctrl+D\n\n"));
}

async fn run_agent(folder: &PathBuf, url: &str, args: &[OsString]) -> Result<i32> {
    process::adopt_orphans();
    // The terminal sends Ctrl+C to the agent as well. What it means is the agent's to say; we only
    // must not end before it, since the folder is ours to remove.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let mut command = Command::new(std::env::current_exe().context("finding this program itself")?);
    command.args(args).current_dir(folder).kill_on_drop(true);
    command.env("LESSON_AGENT", "1").env("ANTHROPIC_BASE_URL", url);
    let mut agent = command.spawn().context("starting the agent")?;
    let status = tokio::select! {
        status = agent.wait() => status,
        // Sent to us alone: the agent must end with us.
        () = process::termination() => {
            if let Some(id) = agent.id() {
                process::end_group(id);
            }
            agent.wait().await
        }
    };
    let status = status.context("waiting for the agent")?;
    process::end_descendants(None);
    // Ended by a signal, most likely Ctrl+C, it has no code.
    Ok(status.code().unwrap_or(130))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_variable_is_named_at_once() {
        let error = server(&|_| None).expect_err("nothing is set");
        assert!(error.is::<BadUse>());
        let error = error.to_string();
        assert!(
            error.contains("ANTHROPIC_API_KEY") && error.contains("ANTHROPIC_MODEL"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_good_one() {
        for good in ["http://127.0.0.1:8080", "https://host/api/", "http://[::1]:80", OFFICIAL] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["localhost:8080", "ftp://host", "http://", "http://a b", "http://h:port"] {
            let lookup = |_: &str| Some(bad.to_string());
            let error = server(&lookup).expect_err(bad);
            assert!(error.is::<BadUse>() && error.to_string().contains(OFFICIAL), "{error}");
        }
    }

    #[test]
    fn the_official_address_is_used_where_none_is_named() {
        let lookup = |name: &str| (name != "ANTHROPIC_BASE_URL").then(|| "x".to_string());
        assert_eq!(server(&lookup).expect("all named"), OFFICIAL);
        assert_eq!(
            server(&|_| Some("http://127.0.0.1:1".into())).expect("named"),
            "http://127.0.0.1:1"
        );
    }
}
