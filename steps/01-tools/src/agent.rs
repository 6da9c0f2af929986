//! The loop. An agent is a model, a list of messages, and this loop over both: send the list, run
//! the tools that the reply calls, put their results at the end of the list, send it again. A reply
//! that calls nothing is the answer.
//!
//! A tool that fails does not end the loop. The model gets the error as the result of its call, and
//! most of the time its next reply is better.

use anyhow::{Result, bail};
use lesson::screen;
use serde_json::Value;

use crate::message::{Block, Message, Role};
use crate::model::Model;
use crate::tools::{Tools, bounded};

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

pub struct Agent {
    model: Model,
    tools: Tools,
    history: Vec<Message>,
}

impl Agent {
    pub fn new(model: Model, tools: Tools) -> Self {
        Self { model, tools, history: Vec::new() }
    }

    /// From one line of the user to the model's final answer.
    pub async fn run(&mut self, line: &str) -> Result<()> {
        self.history.push(Message::from_user(line));
        for _ in 0..MAX_TURNS {
            let reply = self.model.ask(&self.history, self.tools.offered()).await?;
            let results = self.answer_every_call(&reply).await;
            self.history.push(reply);
            if results.is_empty() {
                return Ok(());
            }
            self.history.push(Message { role: Role::User, content: results });
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
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
