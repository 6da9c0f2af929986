//! The loop. An agent is a model, a list of messages, and this loop over both: send the list, run
//! the tools that the reply calls, put their results at the end of the list, send it again. A reply
//! that calls nothing is the answer.
//!
//! The reply is used while it comes. Its text is shown, and a read that it calls begins when its
//! block ends, beside other reads. Whatever changes something waits for the end of the reply and
//! runs alone. Results are given in the order of the calls. Ctrl+C ends a reply or a tool, and every
//! call still gets a result: without one, the API would refuse this conversation for ever.
//!
//! Before a call runs, the permissions are asked, and where they are in doubt, the user. A refusal
//! goes back to the model as a result like any other.
//!
//! Before a request goes out, room is made for it: old results become shorter, and where that is
//! not enough, the model itself sums up what was.

use std::sync::{Arc, LazyLock};

use anyhow::{Context as _, Result, bail, ensure};
use lesson::screen;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::Input;
use crate::compaction::{DUE, Plan};
use crate::context::Context;
use crate::message::{Block, Message, Role};
use crate::model::{self, Model, Reply, Usage};
use crate::permissions::Decision;
use crate::prompt::{self, Prompt};
use crate::session::{INTERRUPTED, Session, mend};
use crate::streaming::{Assembly, Piece};
use crate::tools::{Tools, bounded};

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

/// How often in a row the API's "too long" is answered by a shorter request.
const TOO_LONG: usize = 3;

/// Calls that only read run side by side, so many at once.
const SIDE_BY_SIDE: usize = 10;

/// Tells of each Ctrl+C.
pub type Interrupts = watch::Receiver<()>;

/// Where a Ctrl+C is told. On a terminal where a line is edited it is a key, and whoever reads that
/// line tells of it.
pub static CTRL_C: LazyLock<watch::Sender<()>> = LazyLock::new(watch::Sender::default);

pub struct Agent {
    model: Model,
    pub session: Session,
    tools: Arc<Tools>,
    prompt: Prompt,
    context: Context,
    pub interrupts: Interrupts,
}

impl Agent {
    pub fn new(model: Model, tools: Tools, prompt: Prompt, session: Session) -> Result<Self> {
        tools.permissions.notes.iter().for_each(|note| screen::notes(note));
        let (tools, interrupts) = (Arc::new(tools), interrupts());
        let context = Context::load(&std::env::home_dir().unwrap_or_default())?;
        context.can_hold(&[prompt.first_message("")])?;
        Ok(Self { model, session, tools, prompt, context, interrupts })
    }

    /// Another conversation.
    pub fn begin_anew(&mut self, session: Session) {
        self.session = session;
        self.context.forget();
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
    pub async fn run(&mut self, line: &str, user: &mut Input) -> Result<()> {
        self.context.can_take(line)?;
        let is_first = self.session.messages.is_empty();
        _ = is_first.then(|| self.tools.permissions.forget());
        let message =
            if is_first { self.prompt.first_message(line) } else { Message::from_user(line) };
        self.session.push(message)?;
        // One that came before this line is not meant for it.
        self.interrupts.mark_unchanged();
        for _ in 0..MAX_TURNS {
            let mut calls = Calls::new(&self.tools);
            let mut reply = self.ask(&mut calls).await;
            for _ in 0..TOO_LONG {
                if let Err(error) = &reply
                    && self.context.was_too_long(&self.session.messages, error)
                {
                    reply = self.ask(&mut calls).await;
                }
            }
            let reply = reply?;
            // Before its tools run: what was begun must be known, though nobody may see its end.
            if !reply.content.is_empty() {
                self.session.push(reply.clone())?;
            }
            let mut results = calls.answer_every_call(&reply, &self.interrupts, user).await;
            let is_answer = results.is_empty();
            let report = self.context.admit(&self.session.messages, &mut results);
            report.iter().for_each(|report| screen::notes(report));
            if !is_answer {
                self.session.push(Message { role: Role::User, content: results })?;
            }
            if is_answer || was_interrupted(&self.interrupts) {
                return Ok(());
            }
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
    }

    /// Makes the history shorter, and has it summed up where that is not enough.
    async fn make_room(&mut self) -> Result<()> {
        let reports = self.context.tidy(&mut self.session.messages, lesson::now());
        reports.iter().for_each(|report| screen::notes(report));
        for _ in 0..2 {
            while let Some(plan) = self.context.plan(&self.session.messages) {
                self.sum_up(&plan).await?;
                if was_interrupted(&self.interrupts) {
                    screen::notes("interrupted");
                    return Ok(());
                }
            }
            // What is squeezed may be short enough to be summed up.
            let report = self.context.squeeze(&mut self.session.messages);
            report.iter().for_each(|report| screen::notes(report));
        }
        if let Some(report) = self.context.leave_out(&mut self.session.messages) {
            self.session.compacted()?;
            screen::compacts(&report);
        }
        Ok(())
    }

    /// Asks the model for a summary, and puts it in the place of what it sums up.
    async fn sum_up(&mut self, plan: &Plan) -> Result<()> {
        let tokens = self.context.tokens(&self.session.messages);
        let used = self.context.used(&self.session.messages);
        screen::notes(&format!("compaction: {used}, a summary is due"));
        let reply = self.listen(&prompt::with_marks(&mend(&plan.request))?, &mut |_| {}).await;
        let reply = reply.context("there is no summary")?;
        if was_interrupted(&self.interrupts) {
            return Ok(());
        }
        let summary = model::usable(reply);
        summary.iter().for_each(|summary| screen::returns(&summary.text(), false));
        let messages = &mut self.session.messages;
        match summary.and_then(|summary| self.context.compact(messages, plan, &summary)) {
            Ok(report) => {
                self.session.compacted()?;
                screen::compacts(&report);
            }
            Err(why) => {
                self.context.in_vain = tokens;
                screen::notes(&format!("compaction: there is no summary, {why:#}\n{IN_VAIN}"));
            }
        }
        Ok(())
    }

    /// Sends the conversation, where it fits, and shows the reply as it comes. Where the user
    /// breaks in, the reply is what has come.
    async fn ask(&mut self, calls: &mut Calls) -> Result<Message> {
        self.make_room().await?;
        if was_interrupted(&self.interrupts) {
            return Ok(Message { role: Role::Assistant, content: Vec::new() });
        }
        ensure!(
            self.context.fits(&self.session.messages),
            "the conversation takes {}, and nothing makes it shorter: /clear begins anew",
            self.context.used(&self.session.messages)
        );
        let asked_at = lesson::now();
        let mut hand_out = |piece| match piece {
            Piece::Text(text) => screen::says_more(&text),
            Piece::Finished(block) => {
                screen::says_end();
                calls.begin(&block);
            }
        };
        let messages = prompt::with_marks(&mend(&self.session.messages))?;
        let reply = self.listen(&messages, &mut hand_out).await?;
        let tokens = reply.usage.all_input();
        let cached = reply.usage.input_tokens < tokens;
        self.context.measure(&self.session.messages, tokens, cached, asked_at);
        screen::fills(tokens, self.context.usable(), DUE);
        if was_interrupted(&self.interrupts) {
            screen::notes("interrupted");
            return Ok(Message { role: Role::Assistant, content: reply.content });
        }
        model::usable(reply)
    }

    /// One call to the model.
    async fn listen(&mut self, sent: &[Value], hand_out: &mut dyn FnMut(Piece)) -> Result<Reply> {
        let (system, offered) = (self.prompt.system(), self.tools.offered());
        // The window may have turned out to be smaller than was thought.
        self.model.max_tokens = self.context.max_output();
        let mut reply = Assembly::default();
        let asked = self.model.ask(&system, sent, offered, &mut reply, hand_out);
        let asked = tokio::select! {
            asked = asked => asked,
            () = interrupted(&self.interrupts) => Ok(()),
        };
        screen::says_end();
        asked?;
        let reply = reply.into_reply();
        show_cache(&reply.usage);
        self.session.used(&self.model.name, reply.usage)?;
        Ok(reply)
    }
}

/// The calls of one reply.
struct Calls {
    tools: Arc<Tools>,
    /// Calls that have begun. Not by their id: a model may give one twice.
    begun: Vec<(Block, JoinHandle<(String, bool)>)>,
    /// No call has come yet that does more than read: a read behind one must see what it did.
    only_reads: bool,
}

impl Calls {
    fn new(tools: &Arc<Tools>) -> Self {
        Self { tools: tools.clone(), begun: Vec::new(), only_reads: true }
    }

    /// Begins a call that may begin before the reply is whole.
    fn begin(&mut self, block: &Block) {
        let Block::ToolUse { name, input, .. } = block else { return };
        let is_free = || self.tools.permissions.judge(name, input) == Decision::Allow;
        self.only_reads = self.only_reads && Tools::only_reads(name) && is_free();
        let may_begin = self.only_reads && self.begun.len() < SIDE_BY_SIDE;
        if may_begin && self.place_of(block).is_none() {
            screen::calls(name, input);
            self.begun.push((block.clone(), on_a_thread(&self.tools, name, input)));
        }
    }

    fn place_of(&self, block: &Block) -> Option<usize> {
        self.begun.iter().position(|(begun, _)| begun == block)
    }

    /// One result for each call, in the order of the calls. Reads that follow one another run side
    /// by side, anything else alone. After Ctrl+C, what is left is said to be interrupted.
    async fn answer_every_call(
        mut self,
        reply: &Message,
        interrupts: &Interrupts,
        user: &mut Input,
    ) -> Vec<Block> {
        let (mut results, mut several) = (Vec::new(), false);
        for (place, block) in reply.content.iter().enumerate() {
            let Block::ToolUse { id, name, input } = block else { continue };
            if !was_interrupted(interrupts) {
                self.only_reads = true;
                reply.content[place..].iter().for_each(|block| self.begin(block));
            }
            several = self.begun.len() > 1 || several && !self.begun.is_empty();
            let has_ended = self.place_of(block).is_some_and(|at| self.begun[at].1.is_finished());
            let ended = tokio::select! {
                biased;
                () = interrupted(interrupts), if !has_ended => None,
                ended = self.end(block, name, input, user) => Some(ended),
            };
            if several || ended.is_none() {
                screen::answers(name, input);
            }
            let (content, is_error) = ended.unwrap_or_else(|| (INTERRUPTED.to_string(), true));
            screen::returns(&content, is_error);
            results.push(Block::ToolResult { tool_use_id: id.clone(), content, is_error });
        }
        results
    }

    /// Waits for a call that has begun, and runs one that has not.
    async fn end(
        &mut self,
        block: &Block,
        name: &str,
        input: &Value,
        user: &mut Input,
    ) -> (String, bool) {
        let call = match self.place_of(block) {
            Some(at) => self.begun.remove(at).1,
            None => {
                screen::calls(name, input);
                if let Err(refusal) = permit(&self.tools, name, input, user).await {
                    return (bounded(format!("error: {refusal:#}")), true);
                }
                // It waits without holding anybody up, and must end when nobody waits for it.
                if name == "run_shell" {
                    return outcome(&self.tools, name, input).await;
                }
                on_a_thread(&self.tools, name, input)
            }
        };
        call.await.unwrap_or_else(|error| (format!("error: {name} broke down: {error}"), true))
    }
}

/// Runs a call on a thread of its own: whoever reads or writes a file is held up meanwhile.
fn on_a_thread(tools: &Arc<Tools>, name: &str, input: &Value) -> JoinHandle<(String, bool)> {
    let (tools, name, input) = (tools.clone(), name.to_string(), input.clone());
    spawn_blocking(move || Handle::current().block_on(outcome(&tools, &name, &input)))
}

/// What a tool gives, and whether it is an error. The model gets either.
async fn outcome(tools: &Tools, name: &str, input: &Value) -> (String, bool) {
    match tools.run(name, input).await {
        Ok(text) => (bounded(text), false),
        Err(error) => (bounded(format!("error: {error:#}")), true),
    }
}

/// Hears every Ctrl+C from now on, save on a terminal while a line is edited.
fn interrupts() -> Interrupts {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.map(|()| CTRL_C.send_replace(())).is_ok() {}
    });
    CTRL_C.subscribe()
}

/// Waits for a Ctrl+C that the receiver has not taken note of yet.
pub async fn interrupted(interrupts: &Interrupts) {
    if interrupts.clone().changed().await.is_err() {
        // Nobody listens for it any more: it never comes.
        std::future::pending().await
    }
}

fn was_interrupted(interrupts: &Interrupts) -> bool {
    interrupts.has_changed().unwrap_or(false)
}

/// Asks the person where a call may not simply run. The error is for the model: it has to know what
/// it must do without, and who says so.
async fn permit(tools: &Tools, name: &str, input: &Value, user: &mut Input) -> Result<()> {
    let why = match tools.permissions.judge(name, input) {
        Decision::Allow => return Ok(()),
        Decision::Deny(rule) => bail!("refused\n{rule}\ngo without it, and not around it"),
        Decision::Ask(why) => why,
    };
    screen::asks(&tools.permissions.question(name, input, &why));
    let answer = user.next("").await;
    match answer.as_deref().map(|answer| answer.trim().to_lowercase()).as_deref() {
        Some("y" | "yes") => {}
        Some("a" | "always") => tools.permissions.allow_always(name, input),
        Some("" | "n" | "no") => bail!("the user said no\n{why}\ngo without it, or ask"),
        Some(_) => bail!("the user said no\n{why}\nand: {}", answer.unwrap_or_default().trim()),
        None => bail!("refused, for nobody was there to answer\n{why}\ngo without it"),
    }
    Ok(())
}

/// What is said where a summary was of no use.
const IN_VAIN: &str = "the history stays as it is; a summary is asked for again when there is more";

/// What the cache did for one call. Servers without a cache report nothing.
fn show_cache(usage: &Usage) {
    let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
    if read + written > 0 {
        let (read, written) = (screen::count(read), screen::count(written));
        screen::notes(&format!("cache: {read} tokens read, {written} written"));
    }
}

#[cfg(test)]
#[path = "../tests/agent.rs"]
mod tests;

#[cfg(test)]
#[path = "../tests/permit.rs"]
mod permit_tests;
