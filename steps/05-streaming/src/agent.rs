use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use lesson::screen;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

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
    interrupts: Interrupts,
}

impl Agent {
    pub fn new(
        model: Model,
        tools: Tools,
        prompt: Prompt,
        session: Session,
        interrupts: Interrupts,
    ) -> Self {
        Self { model, session, tools: Arc::new(tools), prompt, interrupts }
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
            let (reply, mut was_interrupted) = self.listen(&mut calls).await?;
            // Before its tools run: what was begun must be known, though nobody may see its end.
            if !reply.content.is_empty() {
                self.session.push(reply.clone())?;
            }
            let stop = &mut self.interrupts;
            let results = calls.answer_every_call(&reply, stop, &mut was_interrupted).await;
            let is_answer = results.is_empty();
            if !is_answer {
                self.session.push(Message { role: Role::User, content: results })?;
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

    /// One reply, shown as it comes, and whether the user broke in. Then it is what had come.
    async fn listen(&mut self, calls: &mut Calls) -> Result<(Message, bool)> {
        let (system, offered) = (self.prompt.system(), self.tools.offered());
        let messages = prompt::with_marks(&self.session.messages)?;
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
