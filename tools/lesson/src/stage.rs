//! The stage plays a scene with a program and says what held.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use mock_server::Scene;

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
    /// Typing effect of the screen, and the wait between streamed events. `None`: as the scene says.
    pub pace: Option<Duration>,
    /// Leave the temporary folder, and name it.
    pub keep: bool,
    /// Answer every question with yes.
    pub yes: bool,
    /// Where to write every request and reply as JSON.
    pub trace: Option<PathBuf>,
    /// Print the screen while it runs.
    pub show: bool,
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
}

/// Plays the scene to its end.
pub async fn play(play: Play) -> Result<Outcome> {
    let _ = play;
    anyhow::bail!("not yet")
}
