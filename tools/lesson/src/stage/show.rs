//! Shows a run while it goes: on a terminal word by word, elsewhere at once.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::screen::{self, Paint, only_colours};

/// The wait after a word where nobody names another.
const USUAL_PACE: Duration = Duration::from_millis(12);

pub struct Show {
    on: bool,
    pub paint: Paint,
    pace: Duration,
    skipped: Arc<AtomicBool>,
    /// Time spent on typing, which is not the program's.
    pub typed_for: Duration,
}

impl Show {
    pub fn new(on: bool, pace: Option<Duration>) -> Self {
        let plain = Paint { colour: false, width: 80 };
        let paint = if on { screen::paint() } else { plain };
        let usual = if std::io::stdout().is_terminal() { USUAL_PACE } else { Duration::ZERO };
        let pace = if on { pace.unwrap_or(usual) } else { Duration::ZERO };
        let skipped = Arc::new(AtomicBool::new(false));
        if !pace.is_zero() && std::io::stdin().is_terminal() {
            skip_on_enter(skipped.clone());
        }
        Self { on, paint, pace, skipped, typed_for: Duration::ZERO }
    }

    /// Shows what the program wrote, or a line of the stage's own.
    pub async fn text(&mut self, text: &str) {
        if !self.on {
            return;
        }
        let text = only_colours(text);
        for word in text.split_inclusive([' ', '\n']) {
            screen::write(word);
            let is_word = !word.trim().is_empty();
            if is_word && !self.pace.is_zero() && !self.skipped.load(Ordering::Relaxed) {
                tokio::time::sleep(self.pace).await;
                self.typed_for += self.pace;
            }
        }
    }
}

/// A thread waits for Enter. It ends with the process: nothing else reads the terminal here.
fn skip_on_enter(skipped: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_ok_and(|count| count > 0) {
            skipped.store(true, Ordering::Relaxed);
        }
    });
}
