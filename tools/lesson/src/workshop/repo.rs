//! The repository: its steps, and cargo in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mock_server::Scene;
use tokio::process::Command;

use crate::stage::{Interrupted, Play};
use crate::{place, process};

pub struct Repo {
    pub root: PathBuf,
    pub steps: Vec<Step>,
}

/// A folder of `steps/`, such as `02-edit`.
#[derive(Debug, Clone)]
pub struct Step {
    pub dir: PathBuf,
    pub folder: String,
}

impl Repo {
    /// The repository around the current folder, or else the one that this program was built in.
    pub fn find() -> Result<Repo> {
        let here = std::env::current_dir().unwrap_or_default();
        let built = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().chain(built.ancestors()).find(|dir| is_root(dir));
        let root = root.with_context(|| {
            format!("{} is in no clone of the course: go to one", here.display())
        })?;
        Repo::at(root)
    }

    pub fn at(root: &Path) -> Result<Repo> {
        let all = root.join("steps");
        let mut steps = Vec::new();
        for entry in
            std::fs::read_dir(&all).with_context(|| format!("reading {}", all.display()))?
        {
            let dir = entry?.path();
            let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let numbered = folder
                .split_once('-')
                .is_some_and(|(digits, _)| digits.len() == 2 && digits.parse::<u32>().is_ok());
            if numbered && dir.join("Cargo.toml").is_file() {
                steps.push(Step { dir, folder });
            }
        }
        steps.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(Repo { root: root.to_path_buf(), steps })
    }

    /// The step that a person names `2`, `02`, `step02` or `02-edit`.
    pub fn step(&self, name: &str) -> Result<&Step> {
        let digits = name.strip_prefix("step").unwrap_or(name);
        let number = digits.split('-').next().unwrap_or(digits).parse::<u32>().ok();
        let found = self.steps.iter().find(|step| number.is_some() && step.number() == number);
        found.with_context(|| {
            let known: Vec<&str> = self.steps.iter().map(|step| step.folder.as_str()).collect();
            format!("there is no step {name}: there are {}", known.join(", "))
        })
    }

    /// Where cargo puts what it builds.
    pub async fn target(&self) -> Result<PathBuf> {
        let words = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
        let out = cargo(&self.root).args(words).output().await.context("running cargo")?;
        let text = serde_json::from_slice::<serde_json::Value>(&out.stdout);
        let target = text.ok().and_then(|all| all["target_directory"].as_str().map(PathBuf::from));
        target.with_context(|| {
            format!("cargo metadata said nothing usable: {}", String::from_utf8_lossy(&out.stderr))
        })
    }

    /// Builds the programs of all steps; cargo's progress goes to standard error. `lesson` itself
    /// is left out, since Windows cannot replace a program that runs.
    pub async fn build_steps(&self) -> Result<()> {
        let words = ["build", "--workspace", "--exclude", "lesson", "--bins"];
        let mut command = cargo(&self.root);
        command.args(words);
        if !built(command).await? {
            bail!("the steps do not build: see above");
        }
        Ok(())
    }
}

fn is_root(dir: &Path) -> bool {
    dir.join("steps").is_dir() && dir.join("tools").join("lesson").join("Cargo.toml").is_file()
}

impl Step {
    fn number(&self) -> Option<u32> {
        self.folder.split('-').next()?.parse().ok()
    }

    /// `02`, as a person types it.
    pub fn digits(&self) -> &str {
        self.folder.split('-').next().unwrap_or_default()
    }

    /// `step02`
    pub fn package(&self) -> String {
        format!("step{}", self.digits())
    }

    pub fn scene(&self) -> Result<Scene> {
        let file = self.dir.join("scene.toml");
        Scene::read(&file)
            .map_err(|error| anyhow::anyhow!("{}", place::shortened(&format!("{error:#}"), &file)))
    }

    /// The step's program, built without release.
    pub fn program(&self, target: &Path) -> OsString {
        let file = format!("{}{}", self.package(), std::env::consts::EXE_SUFFIX);
        target.join("debug").join(file).into()
    }

    /// This step's scene, to be played with our own program, silently and without typing effect.
    pub fn play(&self, program: OsString) -> Result<Play> {
        Ok(Play {
            program: vec![program],
            scene: self.scene()?,
            scene_dir: self.dir.clone(),
            ours: true,
            seed: None,
            pace: Some(Duration::ZERO),
            keep: false,
            yes: false,
            trace: None,
            show: false,
            // One play after the other, and nothing else meanwhile.
            alone: true,
            tell_waits: false,
        })
    }
}

/// The cargo that started us, or that of the PATH, in a folder.
pub fn cargo(dir: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).kill_on_drop(true);
    // What `cargo run` told us about ourselves: build scripts that look at it would run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a cargo that builds, with its progress on standard error; whether it did. It is ended where
/// we are to end.
pub async fn built(mut command: Command) -> Result<bool> {
    let mut child = command.stdout(Stdio::null()).spawn().context("running cargo")?;
    let mut end_requests = process::end_requests();
    tokio::select! {
        status = child.wait() => Ok(status.context("running cargo")?.success()),
        Some(()) = end_requests.recv() => {
            end_all(child.id());
            Err(Interrupted.into())
        }
    }
}

/// What a command wrote and whether it succeeded; `None` where it took longer than `limit`, and
/// was ended with all it had started. Errors with `Interrupted` where we are to end.
pub async fn finish(mut command: Command, limit: Duration) -> Result<Option<Finished>> {
    process::lead_a_group(&mut command);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {:?}", command.as_std().get_program()))?;
    let id = child.id();
    let mut end_requests = process::end_requests();
    let out = tokio::select! {
        out = child.wait_with_output() => Some(out?),
        () = tokio::time::sleep(limit) => None,
        // It leads a group of its own, so the terminal's Ctrl+C does not reach it.
        _ = end_requests.recv() => {
            end_all(id);
            return Err(Interrupted.into());
        }
    };
    let Some(out) = out else {
        end_all(id);
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    let (ok, code) = (out.status.success(), out.status.code());
    Ok(Some(Finished { ok, code, stdout, stderr }))
}

fn end_all(id: Option<u32>) {
    if let Some(id) = id {
        process::end_group(id);
    }
}

pub struct Finished {
    pub ok: bool,
    /// `None` where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}
