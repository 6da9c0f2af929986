//! What the scene does from outside, when a request has come and before its reply goes out.

use std::time::Duration;

use anyhow::Result;
use mock_server::scene::{LineKind, StageAction};

use super::actions;
use super::ending::Ending;
use super::run::Run;
use super::verify::text::{Layout, position};

/// A Ctrl+C that waits for a text on the screen.
pub struct InterruptAt {
    text: String,
    /// Only what is written after this many bytes counts.
    from: usize,
    request: usize,
}

/// Between what stands on the screen and Ctrl+C.
const REACTION: Duration = Duration::from_millis(150);

impl Run<'_> {
    pub(super) async fn act(&mut self, action: &StageAction, request: usize) -> Result<()> {
        if let StageAction::InterruptAt(text) = action {
            let from = self.transcript.text.len();
            let text = self.values().fill(text);
            self.interrupt_at = Some(InterruptAt { text, from, request });
            return Ok(());
        }
        let told = match self.change_files(action) {
            Ok(told) => told,
            Err(error) => {
                self.ending = Some(Ending::Hindered(format!("{error:#}")));
                return Ok(());
            }
        };
        let told = self.show.paint.outside(&told);
        self.show.text(&told).await;
        match action {
            StageAction::Kill => self.kill(request).await,
            StageAction::Restart(args) => self.restart(args, request).await?,
            StageAction::Interrupt => self.interrupt(request).await,
            _ => {}
        }
        Ok(())
    }

    /// Does what an action does to files, and says what the action is.
    fn change_files(&self, action: &StageAction) -> Result<String> {
        let (rooms, values) = (self.start.rooms, self.values());
        Ok(match action {
            StageAction::Write { path, text } => {
                actions::write(rooms, &values.fill(path), text, &values)?;
                format!("someone else writes {}", values.fill(path))
            }
            StageAction::Remove { path } => {
                actions::remove(rooms, &values.fill(path))?;
                format!("someone else removes {}", values.fill(path))
            }
            StageAction::Cut { path, bytes } => match actions::cut(rooms, path, *bytes)? {
                true => format!("the last {bytes} bytes of {path} are lost"),
                false => format!("there is no {path} that could lose its last bytes"),
            },
            StageAction::Clock(by) => {
                actions::advance_clock(&rooms.clock(), *by)?;
                format!("the clock moves on by {} s", by.as_secs())
            }
            StageAction::Interrupt | StageAction::InterruptAt(_) => "Ctrl+C".to_string(),
            StageAction::Kill => "the program is killed".to_string(),
            StageAction::Restart(args) => {
                format!("the program is started again: {}", args.join(" "))
            }
        })
    }

    async fn kill(&mut self, request: usize) {
        if let Some(mut program) = self.program.take() {
            program.end(self.start.offspring).await;
            self.take_the_rest(&mut program).await;
        }
        self.stale = request;
        self.open.clear();
        // A restart takes this back.
        self.ending = Some(Ending::Killed);
    }

    async fn restart(&mut self, args: &[String], request: usize) -> Result<()> {
        self.kill(request).await;
        let values = self.values();
        self.args = args.iter().map(|arg| values.fill(arg)).collect();
        self.program = Some(self.start.start(&self.args)?);
        self.ending = None;
        self.input_ended = None;
        self.go_on_after(request).await;
        Ok(())
    }

    /// Ctrl+C, if the screen has come to the text that a scene waits for.
    pub(super) async fn interrupt_if_due(&mut self) {
        let Some(at) = &self.interrupt_at else { return };
        if position(&self.transcript.text, &at.text, Layout::Wrapped, at.from).is_some() {
            let request = at.request;
            self.interrupt_at = None;
            let is_open = !self.transcript.text.ends_with('\n');
            let told = self.show.paint.outside("Ctrl+C");
            let told = if is_open { format!("\n{told}") } else { told };
            self.show.text(&told).await;
            self.interrupt(request).await;
        }
    }

    async fn interrupt(&mut self, request: usize) {
        // A person needs this long to react. Without it, Ctrl+C could come while the tool that was
        // announced is only being started, and is in the program's own group.
        tokio::time::sleep(REACTION).await;
        if let Some(program) = &self.program {
            program.interrupt();
        }
        self.open.remove(&request);
        self.go_on_after(request).await;
    }

    /// The turn that this request belonged to is over: when the program has said what it has to say
    /// to that, hands over what follows its reply.
    async fn go_on_after(&mut self, request: usize) {
        let Some(line) = self.line_of(request) else { return };
        self.take_what_comes().await;
        let main = &self.scene().parts[0].lines;
        let rest = main.iter().skip(line + 1);
        let skipped = rest.take_while(|line| !matches!(line.kind, LineKind::User(_))).count();
        let from = (line + 1 + skipped).min(main.len());
        let due = self.script.follow(from, &self.args, self.transcript.text.len());
        self.hand(due).await;
    }
}
