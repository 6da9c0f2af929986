//! The loop. An agent is a model, a list of messages, and this loop over both: send the list, run
//! the tools that the reply calls, put their results at the end of the list, send it again. A reply
//! that calls nothing is the answer.
//!
//! A tool that fails does not end the loop. The model gets the error as the result of its call, and
//! most of the time its next reply is better.
//!
//! Each message is in the session's file before the loop goes on, so that whatever ends the process
//! leaves behind what the model has seen and done.

use anyhow::{Result, bail};
use lesson::screen;
use serde_json::Value;

use crate::message::{Block, Message, Role};
use crate::model::{Model, Usage};
use crate::prompt::{self, Prompt};
use crate::session::{Session, mend};
use crate::tools::{Tools, bounded};

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

pub struct Agent {
    model: Model,
    pub session: Session,
    tools: Tools,
    prompt: Prompt,
}

impl Agent {
    pub fn new(model: Model, tools: Tools, prompt: Prompt, session: Session) -> Self {
        Self { model, session, tools, prompt }
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

    /// From one line of the user to the model's final answer.
    pub async fn run(&mut self, line: &str) -> Result<()> {
        let is_first = self.session.messages.is_empty();
        let message =
            if is_first { self.prompt.first_message(line) } else { Message::from_user(line) };
        self.session.push(message)?;
        for _ in 0..MAX_TURNS {
            let reply = self.ask().await?;
            // Before its tools run: what was begun must be known, though nobody may see its end.
            self.session.push(reply.clone())?;
            let results = self.answer_every_call(&reply).await;
            if results.is_empty() {
                return Ok(());
            }
            self.session.push(Message { role: Role::User, content: results })?;
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
    }

    /// Sends the conversation, and shows what the cache did for it.
    async fn ask(&mut self) -> Result<Message> {
        let (system, offered) = (self.prompt.system(), self.tools.offered());
        let messages = prompt::with_marks(&mend(&self.session.messages))?;
        let (reply, usage) = self.model.ask(&system, &messages, offered).await?;
        show_cache(&usage);
        self.session.used(&self.model.name, usage)?;
        Ok(reply)
    }

    /// Shows what the model says, runs what it calls, and gives one result for each call.
    async fn answer_every_call(&self, reply: &Message) -> Vec<Block> {
        let mut results = Vec::new();
        for block in &reply.content {
            match block {
                Block::Text { text } => screen::says(text),
                Block::ToolUse { id, name, input } => {
                    screen::calls(name, input);
                    let (content, is_error) = outcome(&self.tools, name, input).await;
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

/// What a tool gives, and whether it is an error. The model gets either.
async fn outcome(tools: &Tools, name: &str, input: &Value) -> (String, bool) {
    match tools.run(name, input).await {
        Ok(text) => (bounded(text), false),
        Err(error) => (bounded(format!("error: {error:#}")), true),
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
