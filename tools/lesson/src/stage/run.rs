//! One run: the model's events, the program's output and the clock, taken as they come.
//!
//! All happens in one loop, one thing at a time, so what the screen shows is the order in which
//! things happened. Before a reply is let go, what the program has written is taken from its pipe:
//! text written before a request must not count as the answer to it.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::Result;
use mock_server::scene::StageAction;
use mock_server::{Event, Next, Scene, ScriptedModel, Values};
use tokio::sync::{mpsc, oneshot};

use super::Play;
use super::ending::{Ending, Interrupted};
use super::lines::{Hand, QUESTION, Script};
use super::output::{Entry, Piece, Transcript};
use super::outside::InterruptAt;
use super::patience::{LOOK, Patience};
use super::program::{Program, Start};
use super::report;
use super::show::Show;
use super::verify::text::{Layout, position};
use crate::process;

/// How long a program may take to end when its input has ended.
const LAST_WORK: Duration = Duration::from_secs(10);

/// How long a program may take to end after Ctrl+C.
const GRACE: Duration = Duration::from_secs(2);

/// How long an answer may take from the wire to the screen before the next line is typed.
const SHOWN: Duration = Duration::from_millis(500);

/// Nobody types before a program that still writes has come to rest: what it writes after an answer
/// (tokens, a bar) would otherwise stand above the next line in one run and below it in another.
const READ: Duration = Duration::from_millis(50);

/// A pipe that has been quiet for so long is empty: what was written is there at once.
const QUIET: Duration = Duration::from_millis(2);

pub struct Run<'a> {
    pub play: &'a Play,
    pub start: Start<'a>,
    pub model: &'a ScriptedModel,
    pub show: Show,
    pub transcript: Transcript,
    pub script: Script<'a>,
    pub(super) program: Option<Program>,
    pub(super) args: Vec<String>,
    /// Requests whose reply has not gone out: number, and whether they are the main part's.
    pub(super) open: HashMap<usize, bool>,
    /// The main part's count of each request's number.
    counted: HashMap<usize, usize>,
    /// Requests up to this one belong to a program that was ended since.
    pub(super) stale: usize,
    /// The output's length when a question was last answered.
    answered: usize,
    pub(super) ending: Option<Ending>,
    began: Instant,
    patience: Patience,
    pub(super) input_ended: Option<Instant>,
    pub(super) interrupt_at: Option<InterruptAt>,
    pub end_requests: mpsc::UnboundedReceiver<()>,
}

enum Happened {
    Event(Event),
    Piece(Piece),
    Exited(ExitStatus),
    OutOfTime,
    NothingYet,
    Interrupted,
}

impl<'a> Run<'a> {
    pub fn new(play: &'a Play, start: Start<'a>, model: &'a ScriptedModel, show: Show) -> Self {
        Self {
            play,
            start,
            model,
            show,
            transcript: Transcript::default(),
            script: Script::new(&play.scene.parts),
            program: None,
            args: play.scene.args.clone(),
            open: HashMap::new(),
            counted: HashMap::new(),
            stale: 0,
            answered: 0,
            ending: None,
            began: Instant::now(),
            patience: Patience::new(),
            input_ended: None,
            interrupt_at: None,
            end_requests: process::end_requests(),
        }
    }

    pub(super) fn scene(&self) -> &'a Scene {
        &self.play.scene
    }

    pub(super) fn values(&self) -> Values {
        self.model.values(&self.start.key)
    }

    /// Plays to the end. Whatever happens, the program and what it started have ended afterwards.
    pub async fn play_to_the_end(
        &mut self,
        mut events: mpsc::UnboundedReceiver<Event>,
    ) -> Result<Ending> {
        let played = self.play_on(&mut events).await;
        if let Some(mut program) = self.program.take() {
            program.end(self.start.offspring).await;
            self.take_the_rest(&mut program).await;
        }
        self.start.offspring.end();
        played
    }

    async fn play_on(&mut self, events: &mut mpsc::UnboundedReceiver<Event>) -> Result<Ending> {
        self.program = Some(self.start.start(&self.args)?);
        let first = self.script.follow(0, &self.args, 0);
        self.hand(first).await;
        loop {
            let happened = self.next(events).await;
            if !matches!(happened, Happened::NothingYet) {
                self.patience.renew();
            }
            match happened {
                Happened::NothingYet => self.end_if_quiet(),
                Happened::Event(event) => self.on_event(event).await?,
                Happened::Piece(piece) => self.on_piece(piece).await,
                Happened::Exited(status) => {
                    let mut program = self.program.take();
                    if let Some(program) = &mut program {
                        // Held pipes would keep us from seeing the end of the output.
                        self.start.offspring.end();
                        self.take_the_rest(program).await;
                    }
                    self.note_deliveries(events);
                    return Ok(self.ending.take().unwrap_or(Ending::Exited(status)));
                }
                Happened::OutOfTime => return Ok(self.out_of_time()),
                Happened::Interrupted => {
                    self.stop_for_interrupt().await;
                    return Err(Interrupted.into());
                }
            }
            self.interrupt_if_due().await;
            self.answer_if_asked().await;
            match self.ending {
                None | Some(Ending::Unanswered(_)) => {}
                _ => return Ok(self.ending.take().unwrap_or(Ending::Killed)),
            }
        }
    }

    async fn next(&mut self, events: &mut mpsc::UnboundedReceiver<Event>) -> Happened {
        let deadline = self.deadline();
        // Checked before the call: without a program the run has ended.
        let Some(program) = &mut self.program else { return Happened::OutOfTime };
        let (pieces, ended) = program.listen();
        tokio::select! {
            biased;
            Some(()) = self.end_requests.recv() => Happened::Interrupted,
            Some(event) = events.recv() => Happened::Event(event),
            // `None` (the output has ended) leaves the other branches to go on.
            Some(piece) = pieces.recv() => Happened::Piece(piece),
            Ok(status) = ended.wait() => Happened::Exited(status),
            () = tokio::time::sleep_until(deadline.into()) => Happened::OutOfTime,
            () = tokio::time::sleep(LOOK) => Happened::NothingYet,
        }
    }

    fn deadline(&self) -> Instant {
        let typed = self.show.typed_for;
        let whole = self.began + self.scene().time_limit + typed;
        self.input_ended.map_or(whole, |ended| whole.min(ended + LAST_WORK))
    }

    /// A program that waits for a reply, or backs off after an error, does nothing with reason.
    fn end_if_quiet(&mut self) {
        let journal = self.model.journal();
        if self.play.tell_waits && self.patience.is_to_tell() {
            eprintln!("… waiting: {}", report::what_did_not_come(&journal));
        }
        let backs_off = journal.last().is_some_and(|last| last.status >= 400);
        if !self.open.is_empty() || self.input_ended.is_some() || backs_off {
            self.patience.excuse();
        } else if let Some(quiet) = self.patience.is_over(self.start.offspring.activity()) {
            self.ending.get_or_insert(Ending::Quiet(quiet));
        }
    }

    fn out_of_time(&self) -> Ending {
        match &self.ending {
            Some(ending) => ending.clone(),
            None if self.input_ended.is_some() => Ending::StaysOn,
            None => Ending::TooLong(self.scene().time_limit),
        }
    }

    async fn on_piece(&mut self, piece: Piece) {
        let goes_on = self.transcript.add(&piece);
        if !goes_on {
            self.ending = Some(Ending::Endless);
            return;
        }
        self.show.text(&piece.text).await;
        let due = self.script.written(&self.transcript.text, &self.args);
        self.hand(due).await;
    }

    async fn on_event(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Came { number, part, stage, go, .. } => {
                self.drain(QUIET).await;
                if part == "main" {
                    let count = self.counted.len() + 1;
                    self.counted.insert(number, count);
                    self.transcript.request_came(count);
                }
                self.open.insert(number, part == "main");
                for action in &stage {
                    self.act(action, number).await?;
                    if matches!(self.ending, Some(Ending::Hindered(_))) {
                        return Ok(());
                    }
                }
                if stage.contains(&StageAction::Interrupt) {
                    let_go_later(go);
                    return Ok(());
                }
                // A server that no longer waits has dropped the connection: nothing to do.
                let _ = go.send(());
            }
            Event::Delivered { number, part, next } => {
                self.drain_what_is_there().await;
                let is_main = self.open.remove(&number).unwrap_or(part == "main");
                if let Some(count) = self.counted.get(&number) {
                    self.transcript.log.push(Entry::Reply(*count));
                }
                if number > self.stale {
                    self.on_delivered(number, &part, is_main, next).await;
                }
            }
            // They are judged at the end, with all others.
            Event::Fault(_) => {}
        }
        Ok(())
    }

    /// A program may end so soon after its last reply that the model has not told us of it yet.
    fn note_deliveries(&mut self, events: &mut mpsc::UnboundedReceiver<Event>) {
        while let Ok(event) = events.try_recv() {
            if let Event::Delivered { number, .. } = event
                && let Some(count) = self.counted.get(&number)
            {
                self.transcript.log.push(Entry::Reply(*count));
            }
        }
    }

    async fn on_delivered(&mut self, number: usize, part: &str, is_main: bool, next: Next) {
        if let Some(line) = self.line_of(number) {
            self.script.delivered(part, line);
        }
        if !is_main {
            return;
        }
        if matches!(next, Next::User(_)) {
            self.wait_until_shown(number).await;
        }
        let written = self.transcript.text.len();
        let due = match next {
            Next::Request => None,
            Next::User(line) => self.script.turn_ended(line, &self.args, written),
            Next::End => self.script.turn_ended(usize::MAX, &self.args, written),
        };
        self.hand(due).await;
    }

    /// The line of the script that answered a request.
    pub(super) fn line_of(&self, number: usize) -> Option<usize> {
        let journal = self.model.journal();
        let exchange = journal.iter().find(|exchange| exchange.number == number)?;
        exchange.place.as_ref().map(|(_, line)| *line)
    }

    pub(super) async fn hand(&mut self, due: Option<Hand>) {
        let values = self.values();
        match due {
            Some(Hand::Over(line)) => {
                let line = values.fill(&line);
                let shown = self.show.paint.user(&line);
                self.show.text(&shown).await;
                if let Some(program) = &mut self.program {
                    program.hand_over(&line).await;
                }
            }
            Some(Hand::Close) => self.close_input(),
            None => {}
        }
    }

    fn close_input(&mut self) {
        if let Some(program) = &mut self.program {
            program.close_input();
        }
        self.input_ended.get_or_insert_with(Instant::now);
    }

    async fn answer_if_asked(&mut self) {
        let written = self.transcript.text.len();
        if self.answered == written || !self.transcript.text.ends_with(QUESTION) {
            return;
        }
        let answer = match self.script.answer() {
            _ if self.play.yes => Some("y".to_string()),
            Some(answer) => Some(self.values().fill(&answer)),
            // The answers come with the reply, and the program may have been quicker than us.
            None if !self.open.is_empty() => return,
            None => None,
        };
        self.answered = written;
        let Some(answer) = answer else {
            let question = self.transcript.last_words().unwrap_or_default();
            self.ending.get_or_insert(Ending::Unanswered(question));
            self.close_input();
            return;
        };
        self.show.text(&format!("{answer}\n")).await;
        if let Some(program) = &mut self.program {
            program.hand_over(&answer).await;
        }
    }

    /// A person reads the answer before typing the next line. Programs that show it in another way
    /// are given a moment.
    async fn wait_until_shown(&mut self, number: usize) {
        let journal = self.model.journal();
        let reply = journal.iter().find(|exchange| exchange.number == number);
        let blocks = reply.and_then(|exchange| exchange.reply["content"].as_array());
        let Some(text) = blocks.and_then(|blocks| blocks.last()?["text"].as_str()) else { return };
        let until = Instant::now() + SHOWN;
        while position(&self.transcript.answer, text.trim(), Layout::Wrapped, 0).is_none() {
            let Some(program) = &mut self.program else { return };
            match tokio::time::timeout_at(until.into(), program.pieces.recv()).await {
                Ok(Some(piece)) => self.on_piece(piece).await,
                _ => return,
            }
        }
        self.drain(READ).await;
    }

    /// Takes what the program writes when something was done to it. It need not write anything.
    pub(super) async fn take_what_comes(&mut self) {
        let mut patience = SHOWN;
        while let Some(program) = &mut self.program {
            let Ok(Some(piece)) = tokio::time::timeout(patience, program.pieces.recv()).await
            else {
                return;
            };
            self.on_piece(piece).await;
            patience = 10 * QUIET;
        }
    }

    /// Takes what the program writes until it has been quiet for so long.
    async fn drain(&mut self, quiet: Duration) {
        let until = Instant::now() + 20 * quiet;
        while Instant::now() < until {
            let Some(program) = &mut self.program else { return };
            match tokio::time::timeout(quiet, program.pieces.recv()).await {
                Ok(Some(piece)) => self.on_piece(piece).await,
                _ => return,
            }
        }
    }

    /// Takes, without waiting, what has been read from the pipe already.
    async fn drain_what_is_there(&mut self) {
        while let Some(Ok(piece)) = self.program.as_mut().map(|p| p.pieces.try_recv()) {
            self.on_piece(piece).await;
        }
    }

    /// Takes what an ended program has left in its pipe. Somebody who escaped may still hold it.
    pub(super) async fn take_the_rest(&mut self, program: &mut Program) {
        let rest = async {
            while let Some(piece) = program.pieces.recv().await {
                if !self.transcript.add(&piece) {
                    self.ending = Some(Ending::Endless);
                    return;
                }
                self.show.text(&piece.text).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), rest).await;
    }

    /// Ctrl+C for the program too; two seconds to leave things in order, then it is ended.
    async fn stop_for_interrupt(&mut self) {
        if let Some(program) = &mut self.program {
            program.interrupt();
            tokio::select! {
                _ = program.ended() => {}
                () = tokio::time::sleep(GRACE) => {}
                Some(()) = self.end_requests.recv() => {}
            }
        }
    }
}

/// An interrupted program must not get the reply that it no longer waits for, or which of the two
/// comes first would be chance. One that cares nothing for Ctrl+C gets it when the grace is over.
fn let_go_later(go: oneshot::Sender<()>) {
    tokio::spawn(async move {
        tokio::time::sleep(GRACE).await;
        let _ = go.send(());
    });
}
