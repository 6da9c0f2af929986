//! What every step shares: the stage, the switches and the screen.

mod begin;
mod clock;
pub mod diff;
mod live;
pub mod manifest;
pub mod place;
pub mod process;
pub mod screen;
pub mod stage;
mod switches;
pub mod workshop;

use std::path::Path;

pub use clock::now;

/// The first line of every step's `main`.
///
/// Started by a learner, the program is the stage: it plays its scene with itself as the child,
/// or does what its switches say, and this call never returns. Started by a stage (or with
/// `LESSON_AGENT=1`), it is the agent, and this call returns at once. Either way the TLS provider
/// is installed, so that a step need not name one.
///
/// `step_dir` is `env!("CARGO_MANIFEST_DIR")`.
pub async fn begin(step_dir: &str) {
    // An error means that a provider is installed already, which is what was wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    if std::env::var_os("LESSON_AGENT").is_some() {
        return;
    }
    let code = begin::run(Path::new(step_dir), std::env::args_os()).await;
    std::process::exit(code);
}
