//! The loop. An agent is a model, a list of messages, and this loop over both: send the list, run
//! the tools that the reply calls, put their results at the end of the list, send it again. A reply
//! that calls nothing is the answer.
//!
//! There is one tool, `read_file`. What it gives is not bounded, and whatever goes wrong with a
//! tool ends the program; the next step mends both.

use anyhow::{Context, Result, bail};
use lesson::screen;
use serde_json::{Value, json};

use crate::message::{Block, Message, Role};
use crate::model::Model;

/// A model that goes round in circles would otherwise do so until the money is gone.
const MAX_TURNS: usize = 50;

pub struct Agent {
    model: Model,
    history: Vec<Message>,
}

impl Agent {
    pub fn new(model: Model) -> Self {
        Self { model, history: Vec::new() }
    }

    /// From one line of the user to the model's final answer.
    pub async fn run(&mut self, line: &str) -> Result<()> {
        self.history.push(Message::from_user(line));
        for _ in 0..MAX_TURNS {
            let reply = self.model.ask(&self.history, &tools()).await?;
            let results = self.answer_every_call(&reply).await?;
            self.history.push(reply);
            if results.is_empty() {
                return Ok(());
            }
            self.history.push(Message { role: Role::User, content: results });
        }
        bail!("the model was asked {MAX_TURNS} times and still calls tools: stopped")
    }

    /// Shows what the model says, runs what it calls, and gives one result for each call.
    async fn answer_every_call(&self, reply: &Message) -> Result<Vec<Block>> {
        let mut results = Vec::new();
        for block in &reply.content {
            match block {
                Block::Text { text } => screen::says(text),
                Block::ToolUse { id, name, input } => {
                    screen::calls(name, input);
                    let content = run_tool(name, input)?;
                    screen::returns(&content, false);
                    let tool_use_id = id.clone();
                    results.push(Block::ToolResult { tool_use_id, content, is_error: false });
                }
                Block::ToolResult { .. } | Block::Other(_) => {}
            }
        }
        Ok(results)
    }
}

/// What the model may call, as JSON schemas. The descriptions are all it knows of a tool.
fn tools() -> Value {
    json!([{
        "name": "read_file",
        "description": "Reads a text file of the project.",
        "input_schema": {
            "type": "object",
            "properties": { "path": { "type": "string", "description": "The file's path" } },
            "required": ["path"],
        },
    }])
}

fn run_tool(name: &str, input: &Value) -> Result<String> {
    if name != "read_file" {
        bail!("the model called {name}, and the only tool is read_file");
    }
    let path = input["path"].as_str().context("read_file was called without a path")?;
    std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))
}

#[cfg(test)]
#[path = "../tests/agent.rs"]
mod tests;
