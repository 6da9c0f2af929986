//! The loop. An agent is a model, a list of messages, and this loop over both: send the list, run
//! the tools that the reply calls, put their results at the end of the list, send it again. A reply
//! that calls nothing is the answer.
//!
//! A tool that fails does not end the loop. The model gets the error as the result of its call, and
//! most of the time it does better in the next turn.
//!
//! Each message is in the session's file before the loop goes on, so that whatever ends the process
//! leaves behind what the model has seen and done.

use anyhow::{Result, bail, ensure};
use lesson::screen;

use crate::compaction::DUE;
use crate::context::{Context, Report};
use crate::message::{Block, Message, Role};
use crate::model::{Model, Usage};
use crate::prompt::{self, Prompt};
use crate::session::Session;
use crate::tools::Tools;

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

pub struct Agent {
    pub model: Model,
    pub session: Session,
    tools: Tools,
    prompt: Prompt,
    pub context: Context,
    /// The calls so far, for the plot.
    calls: Vec<screen::Call>,
    /// The history was made into a summary since the last call.
    was_compacted: bool,
}

impl Agent {
    pub fn new(
        mut model: Model,
        tools: Tools,
        prompt: Prompt,
        session: Session,
        mut context: Context,
    ) -> Self {
        model.max_tokens = context.max_output();
        let offered = serde_json::to_string(tools.offered()).unwrap_or_default();
        context.set_prefix(prompt.system().to_string().len() + offered.len());
        Self { model, session, tools, prompt, context, calls: Vec::new(), was_compacted: false }
    }

    /// From one line of the user to the model's final answer.
    pub async fn run(&mut self, line: &str) -> Result<()> {
        let is_first = self.session.messages.is_empty();
        let message =
            if is_first { self.prompt.first_message(line) } else { Message::from_user(line) };
        self.session.push(message)?;
        for _ in 0..MAX_TURNS {
            let reply = self.ask().await?;
            let mut results = self.answer_every_call(&reply).await;
            if results.is_empty() {
                return Ok(());
            }
            if let Some(report) = self.context.admit(&self.session.messages, &mut results) {
                show(&report);
            }
            self.session.push(Message { role: Role::User, content: results })?;
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
    }

    /// The next reply, which is then the last message of the session.
    async fn ask(&mut self) -> Result<Message> {
        self.make_room(false).await?;
        let asked = lesson::now();
        let (reply, usage) = match self.send(&self.session.messages).await {
            Err(error) if self.was_too_long(&error) => {
                self.make_room(true).await?;
                self.send(&self.session.messages).await?
            }
            sent => sent?,
        };
        self.session.used(&self.model.name, usage)?;
        // Before its tools run: what was begun must be known, though nobody may see its end.
        self.session.push(reply.clone())?;
        let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens > 0;
        let tokens = usage.all_input();
        self.context.measure(&self.session.messages, tokens + usage.output_tokens, cached, asked);
        let compacted = std::mem::take(&mut self.was_compacted);
        self.calls.push(screen::Call { tokens, compacted });
        if tokens * 10 >= self.context.usable() {
            screen::bar(tokens, self.context.usable(), DUE);
        }
        Ok(reply)
    }

    async fn send(&self, history: &[Message]) -> Result<(Message, Usage)> {
        let messages = prompt::with_marks(history)?;
        let sent = self.model.ask(&self.prompt.system(), &messages, self.tools.offered()).await?;
        show_cache(&sent.1);
        Ok(sent)
    }

    fn was_too_long(&mut self, error: &anyhow::Error) -> bool {
        self.context.was_too_long(&self.session.messages, &format!("{error:#}"))
    }

    /// Makes the history shorter where it must be, and has it summed up where that is not enough.
    /// `refused`: the model has said that it is too long.
    async fn make_room(&mut self, refused: bool) -> Result<()> {
        let reports = self.context.tidy(&mut self.session.messages, lesson::now());
        reports.iter().for_each(show);
        let mut is_due = refused;
        while let Some(plan) = self.context.plan(&self.session.messages, is_due) {
            screen::notes("compaction: the model sums up what has happened so far");
            let (summary, usage) = self.send(&plan.request).await?;
            self.session.used(&self.model.name, usage)?;
            let summary = text_of(&summary);
            screen::returns(&summary, false);
            match self.context.compact(&mut self.session.messages, plan, &summary) {
                Ok(report) => {
                    self.session.compacted()?;
                    self.was_compacted = true;
                    show(&report);
                }
                Err(_) => screen::notes(IN_VAIN),
            }
            is_due = false;
        }
        let (tokens, usable) = (self.context.tokens(&self.session.messages), self.context.usable());
        ensure!(
            tokens <= usable,
            "the conversation has {} tokens, and {} are usable: /clear begins a new one",
            screen::count(tokens),
            screen::count(usable)
        );
        Ok(())
    }

    /// The fill of the window by call, where there is something to see.
    pub fn plot(&self) {
        let usable = self.context.usable();
        if self.calls.iter().any(|call| call.tokens * 10 >= usable) {
            screen::plot(&self.calls, usable, DUE);
        }
    }

    /// Shows what the model says, runs what it calls, and gives one result for each call.
    async fn answer_every_call(&self, reply: &Message) -> Vec<Block> {
        let mut results = Vec::new();
        for block in &reply.content {
            match block {
                Block::Text { text } => screen::says(text),
                Block::ToolUse { id, name, input } => {
                    screen::calls(name, input);
                    let (content, is_error) = match self.tools.run(name, input).await {
                        Ok(text) => (text, false),
                        Err(error) => (format!("error: {error:#}"), true),
                    };
                    screen::returns(&content, is_error);
                    let tool_use_id = id.clone();
                    results.push(Block::ToolResult { tool_use_id, content, is_error });
                }
                Block::ToolResult { .. } | Block::Other(_) => {}
            }
        }
        results
    }
}

const IN_VAIN: &str = "compaction: in vain, the history stays as it is; it is not tried again \
    until there is twice as much to sum up";

fn show(report: &Report) {
    let (before, after) = (screen::count(report.before), screen::count(report.after));
    screen::notes(&format!("{} · {before} → {after} tokens", report.did));
}

fn text_of(message: &Message) -> String {
    let text =
        |block: &Block| if let Block::Text { text } = block { Some(text.clone()) } else { None };
    message.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// What the cache did for one call. Servers without a cache report nothing.
fn show_cache(usage: &Usage) {
    let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
    if read + written > 0 {
        let (read, written) = (screen::count(read), screen::count(written));
        screen::notes(&format!("cache: {read} tokens read, {written} written"));
    }
}
