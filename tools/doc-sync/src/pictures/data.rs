//! A run's figures, as its picture needs them.

use anyhow::{Context, Result};
use serde_json::Value;

#[derive(Debug, Default)]
pub struct Data {
    /// Tokens that the window can hold, where the screen says so.
    pub usable: u64,
    /// Tokens of the request for which a summary was due, and which was never sent.
    pub due: u64,
    /// How many tools are offered.
    pub tools: u64,
    pub layers: Vec<Layer>,
    pub requests: Vec<Request>,
    /// What a person was asked, and answered.
    pub questions: Vec<(String, String)>,
    /// The lines of the session's file.
    pub session: Vec<Line>,
}

/// A line of a session's file.
#[derive(Debug)]
pub enum Line {
    Message(Message),
    Usage,
    /// Its beginning, and the bytes that there are of it.
    Torn(String, u64),
}

/// What stands before the history in the first request.
#[derive(Debug)]
pub struct Layer {
    pub name: String,
    pub characters: u64,
    /// A cache mark ends it.
    pub marked: bool,
}

#[derive(Debug)]
pub struct Request {
    /// `main`, or the name of another conversation.
    pub part: String,
    pub status: u64,
    /// How many messages it holds.
    pub messages: u64,
    /// Tokens: from the cache, into the cache, neither.
    pub read: u64,
    pub written: u64,
    pub fresh: u64,
    /// Messages that the request before did not hold.
    pub new: Vec<Message>,
    pub says: Vec<Block>,
}

#[derive(Debug)]
pub struct Message {
    pub is_user: bool,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
pub struct Block {
    /// `text`, `tool_use`, `tool_result`.
    pub kind: String,
    /// The tool's, for a call.
    pub name: String,
    /// Cut after some 200 characters.
    pub text: String,
    /// As many as there were.
    pub characters: u64,
    pub is_error: bool,
}

impl Data {
    pub fn read(figures: &str) -> Result<Data> {
        let json: Value =
            serde_json::from_str(figures).context("the stored figures are no JSON")?;
        Ok(Data {
            usable: number(&json["usable"]),
            due: number(&json["due"]),
            tools: number(&json["tools"]),
            layers: list(&json["layers"], |layer| Layer {
                name: text(&layer["name"]),
                characters: number(&layer["characters"]),
                marked: layer["marked"].as_bool().unwrap_or_default(),
            }),
            requests: list(&json["requests"], request),
            questions: list(&json["questions"], |question| {
                (text(&question["what"]), text(&question["answer"]))
            }),
            session: list(&json["session"], |line| match line["kind"].as_str() {
                Some("message") => Line::Message(message(line)),
                Some("torn") => Line::Torn(text(&line["text"]), number(&line["bytes"])),
                _ => Line::Usage,
            }),
        })
    }

    /// The calls of a tool in order, each with its result.
    pub fn calls(&self, tool: &str) -> Vec<(Block, Block)> {
        self.all_calls().into_iter().filter(|(call, _)| call.name == tool).collect()
    }

    pub fn all_calls(&self) -> Vec<(Block, Block)> {
        let mut calls = Vec::new();
        for (at, request) in self.requests.iter().enumerate() {
            let says = request.says.iter().filter(|block| block.kind == "tool_use");
            let results = self.requests.get(at + 1).map(|next| next.results()).unwrap_or_default();
            calls.extend(says.cloned().zip(results));
        }
        calls
    }
}

impl Request {
    pub fn tokens(&self) -> u64 {
        self.read + self.written + self.fresh
    }

    /// The results in its last new message.
    pub fn results(&self) -> Vec<Block> {
        let blocks = self.new.last().map_or(&[][..], |message| &message.blocks);
        blocks.iter().filter(|block| block.kind == "tool_result").cloned().collect()
    }
}

impl Block {
    /// An argument of a call.
    pub fn argument(&self, name: &str) -> Option<String> {
        let input: Value = serde_json::from_str(&self.text).ok()?;
        let value = input.get(name)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_string))
    }

    pub fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

fn request(request: &Value) -> Request {
    Request {
        part: text(&request["part"]),
        status: number(&request["status"]),
        messages: number(&request["messages"]),
        read: number(&request["read"]),
        written: number(&request["written"]),
        fresh: number(&request["fresh"]),
        new: list(&request["new"], message),
        says: list(&request["says"], block),
    }
}

fn message(message: &Value) -> Message {
    Message { is_user: message["role"] == "user", blocks: list(&message["blocks"], block) }
}

fn block(block: &Value) -> Block {
    Block {
        kind: text(&block["type"]),
        name: text(&block["name"]),
        text: text(&block["text"]),
        characters: number(&block["characters"]),
        is_error: block["is_error"].as_bool().unwrap_or_default(),
    }
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().map(read).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
