use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};
use lesson::screen;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use crate::compaction::DUE;
use crate::context::{Context, Report};
use crate::message::{Block, Message, Role};
use crate::model::{Model, Usage};
use crate::prompt::{self, Prompt};
use crate::session::{self, Session};
use crate::streaming::{Assembly, Piece};
use crate::tools::Tools;

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

/// Calls that only read run side by side, so many at once.
const SIDE_BY_SIDE: usize = 10;

/// Tells of each Ctrl+C.
pub type Interrupts = watch::Receiver<()>;

pub struct Agent {
    model: Model,
    pub session: Session,
    tools: Arc<Tools>,
    prompt: Prompt,
    pub context: Context,
    /// For the plot: the calls so far, and whether a compaction came since the last.
    calls: Vec<screen::Call>,
    compacted: bool,
    interrupts: Interrupts,
}

impl Agent {
    pub fn new(
        mut model: Model,
        tools: Tools,
        prompt: Prompt,
        session: Session,
        mut context: Context,
        interrupts: Interrupts,
    ) -> Self {
        model.max_tokens = context.max_output();
        let before = (prompt.system(), tools.offered());
        context.set_prefix(serde_json::to_string(&before).unwrap_or_default().len());
        let (tools, calls) = (Arc::new(tools), Vec::new());
        Self { model, session, tools, prompt, context, calls, compacted: false, interrupts }
    }

    /// Model, tokens, cost and session file, for the user.
    pub fn status(&self) -> String {
        let Session { usage, cost, .. } = &self.session;
        let counts = [usage.all_input(), usage.cache_read_input_tokens, usage.output_tokens];
        let [read, cached, written] = counts.map(screen::count);
        let cost = cost.map_or("unknown".to_string(), |dollars| format!("${dollars:.4}"));
        let file = self.session.path().map_or("none yet".into(), |path| path.display().to_string());
        format!(
            "model    {}\ntokens   {read} read ({cached} from the cache), {written} written\n\
             cost     {cost}\nsession  {file}",
            self.model.name
        )
    }

    /// From one line of the user to the model's final answer, or to the user's Ctrl+C.
    pub async fn run(&mut self, line: &str) -> Result<()> {
        let is_first = self.session.messages.is_empty();
        let message =
            if is_first { self.prompt.first_message(line) } else { Message::from_user(line) };
        self.session.push(message)?;
        // One that came before this line is not meant for it.
        self.interrupts.mark_unchanged();
        for _ in 0..MAX_TURNS {
            let mut calls = Calls::new(&self.tools);
            let (reply, mut was_interrupted) = match self.ask(&mut calls, 0).await {
                Err(error) if self.was_too_long(&error) => {
                    self.ask(&mut calls, self.context.usable()).await?
                }
                asked => asked?,
            };
            // Before its tools run: what was begun must be known, though nobody may see its end.
            if !reply.content.is_empty() {
                self.session.push(reply.clone())?;
            }
            let stop = &mut self.interrupts;
            let mut results = calls.answer_every_call(&reply, stop, &mut was_interrupted).await;
            let is_answer = results.is_empty();
            if !is_answer {
                let incoming = self.context.incoming(&self.session.messages, &results);
                let room = self.make_room(incoming).await;
                let report = self.context.admit(&self.session.messages, &mut results);
                report.iter().for_each(show);
                // Whatever happened meanwhile: a call without its result would spoil the session.
                self.session.push(Message { role: Role::User, content: results })?;
                was_interrupted |= !room?;
            }
            if was_interrupted {
                screen::notes("interrupted");
            }
            if is_answer || was_interrupted {
                return Ok(());
            }
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
    }

    /// The next reply, to a history that fits.
    async fn ask(&mut self, calls: &mut Calls, incoming: u64) -> Result<(Message, bool)> {
        if !self.make_room(incoming).await? {
            return Ok((Message { role: Role::Assistant, content: Vec::new() }, true));
        }
        let tokens = self.context.tokens(&self.session.messages);
        let (tokens, usable) = (screen::count(tokens), screen::count(self.context.usable()));
        ensure!(
            self.context.fits(&self.session.messages),
            "the conversation has {tokens} tokens, and {usable} can be used: /clear begins anew"
        );
        self.listen(calls).await
    }

    /// Makes the history shorter, and has it summed up where that is not enough. `incoming` tokens
    /// are still to join it. False where the user broke in.
    async fn make_room(&mut self, mut incoming: u64) -> Result<bool> {
        let reports = self.context.tidy(&mut self.session.messages, lesson::now());
        reports.iter().for_each(show);
        while let Some(plan) = self.context.plan(&self.session.messages, incoming) {
            screen::notes("compaction: the model is asked for a summary");
            let mut reply = Assembly::default();
            let (system, messages) = (self.prompt.system(), prompt::with_marks(&plan.request)?);
            let offered = self.tools.offered();
            let mut hand_out = |_| {};
            let asked = self.model.ask(&system, &messages, offered, &mut reply, &mut hand_out);
            let asked = tokio::select! {
                asked = asked => asked,
                () = next(&mut self.interrupts) => return Ok(false),
            };
            let (summary, usage) = asked.context("there is no summary")?;
            show_cache(&usage);
            self.session.used(&self.model.name, usage)?;
            let summary = summary.text();
            screen::returns(&summary, false);
            match self.context.compact(&mut self.session.messages, plan, &summary) {
                Ok(report) => {
                    self.session.compacted()?;
                    self.compacted = true;
                    show(&report);
                }
                Err(_) => screen::notes(IN_VAIN),
            }
            incoming = 0; // once for their sake is enough
        }
        Ok(true)
    }

    fn was_too_long(&mut self, error: &anyhow::Error) -> bool {
        self.context.was_too_long(&self.session.messages, &format!("{error:#}"))
    }

    /// Takes note of what a call took, and shows how full the window is by now.
    fn measure(&mut self, usage: &Usage, asked: SystemTime) {
        let (tokens, usable) = (usage.all_input(), self.context.usable());
        let is_cached = usage.input_tokens < tokens;
        self.context.measure(&self.session.messages, tokens, is_cached, asked);
        let compacted = std::mem::take(&mut self.compacted);
        self.calls.push(screen::Call { tokens, compacted });
        if tokens * 10 >= usable {
            screen::bar(tokens, usable, DUE);
        }
    }

    /// The fill of the window by call, where there is something to see.
    pub fn show_plot(&self) {
        let usable = self.context.usable();
        if self.calls.iter().any(|call| call.tokens * 10 >= usable) {
            screen::plot(&self.calls, usable, DUE);
        }
    }

    /// One reply, shown as it comes, and whether the user broke in. Then it is what had come.
    async fn listen(&mut self, calls: &mut Calls) -> Result<(Message, bool)> {
        let (system, offered) = (self.prompt.system(), self.tools.offered());
        let messages = prompt::with_marks(&self.session.messages)?;
        let asked_at = lesson::now();
        let mut reply = Assembly::default();
        let mut hand_out = |piece| match piece {
            Piece::Text(text) => screen::says_more(&text),
            Piece::Finished(block) => {
                screen::says_end();
                calls.begin(&block);
            }
        };
        let asked = self.model.ask(&system, &messages, offered, &mut reply, &mut hand_out);
        let asked = tokio::select! {
            asked = asked => Some(asked),
            () = next(&mut self.interrupts) => None,
        };
        screen::says_end();
        let was_interrupted = asked.is_none();
        let (message, usage) = asked.unwrap_or_else(|| Ok(reply.so_far()))?;
        show_cache(&usage);
        self.measure(&usage, asked_at);
        self.session.used(&self.model.name, usage)?;
        Ok((message, was_interrupted))
    }
}

/// The calls of one reply.
struct Calls {
    tools: Arc<Tools>,
    /// Calls that have begun, by their id.
    begun: HashMap<String, JoinHandle<Result<Outcome, JoinError>>>,
    slots: Arc<Semaphore>,
    /// No call has come yet that does more than read: a read behind one must see what it did.
    only_reads: bool,
    /// The call that the screen showed last, if nothing came after it.
    shown: Option<String>,
}

/// What a tool gave, and whether it is an error.
type Outcome = (String, bool);

impl Calls {
    fn new(tools: &Arc<Tools>) -> Self {
        let slots = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        Self { tools: tools.clone(), begun: HashMap::new(), slots, only_reads: true, shown: None }
    }

    /// Begins a call that may begin before the reply is whole.
    fn begin(&mut self, block: &Block) {
        let Block::ToolUse { id, name, input } = block else { return };
        self.only_reads &= Tools::only_reads(name);
        if !self.only_reads || self.begun.contains_key(id) {
            return;
        }
        self.show(id, name, input);
        let (tools, slots) = (self.tools.clone(), self.slots.clone());
        let (name, input) = (name.clone(), input.clone());
        let call = async move {
            let _slot = slots.acquire().await;
            // On a thread of its own: reading a file holds up whoever does it.
            let read = move || Handle::current().block_on(outcome(&tools, &name, &input));
            spawn_blocking(read).await
        };
        self.begun.insert(id.clone(), tokio::spawn(call));
    }

    /// One result for each call, in the order of the calls. Reads that follow one another run side
    /// by side, anything else alone. After Ctrl+C, what has not ended is said to be interrupted.
    async fn answer_every_call(
        mut self,
        reply: &Message,
        interrupts: &mut Interrupts,
        was_interrupted: &mut bool,
    ) -> Vec<Block> {
        let mut results = Vec::new();
        for (place, block) in reply.content.iter().enumerate() {
            let Block::ToolUse { id, name, input } = block else { continue };
            if !*was_interrupted {
                self.only_reads = true;
                reply.content[place..].iter().for_each(|block| self.begin(block));
            }
            let begun = self.begun.remove(id);
            let is_lost = *was_interrupted && !begun.as_ref().is_some_and(JoinHandle::is_finished);
            if !is_lost && self.shown.take().as_ref() != Some(id) {
                screen::calls(name, input);
            }
            let run = async {
                let Some(call) = begun else { return outcome(&self.tools, name, input).await };
                let ended = call.await.flatten();
                ended.unwrap_or_else(|error| (format!("error: the tool broke down: {error}"), true))
            };
            let outcome = tokio::select! {
                () = std::future::ready(()), if is_lost => None,
                outcome = run, if !is_lost => Some(outcome),
                () = next(interrupts) => None,
            };
            *was_interrupted |= outcome.is_none();
            let Some((content, is_error)) = outcome else {
                results.push(session::interrupted(id));
                continue;
            };
            screen::returns(&content, is_error);
            results.push(Block::ToolResult { tool_use_id: id.clone(), content, is_error });
        }
        results
    }

    fn show(&mut self, id: &str, name: &str, input: &Value) {
        screen::calls(name, input);
        self.shown = Some(id.to_string());
    }
}

async fn outcome(tools: &Tools, name: &str, input: &Value) -> Outcome {
    match tools.run(name, input).await {
        Ok(text) => (text, false),
        Err(error) => (format!("error: {error:#}"), true),
    }
}

/// What is said where a summary was of no use.
const IN_VAIN: &str = "compaction: in vain, the history stays as it is; it is not tried again \
    before there is twice as much to sum up";

fn show(report: &Report) {
    let (before, after) = (screen::count(report.before), screen::count(report.after));
    screen::notes(&format!("{} · {before} → {after} tokens", report.did));
}

/// What the cache did for one call. Servers without a cache report nothing.
fn show_cache(usage: &Usage) {
    let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
    if read + written > 0 {
        let (read, written) = (screen::count(read), screen::count(written));
        screen::notes(&format!("cache: {read} tokens read, {written} written"));
    }
}

/// Waits for the next Ctrl+C.
pub async fn next(interrupts: &mut Interrupts) {
    if interrupts.changed().await.is_err() {
        // Nobody listens for it any more: it never comes.
        std::future::pending().await
    }
}
