//! A client that a test talks to the scripted model with.

use std::path::Path;

use mock_server::{Options, Scene, ScriptedModel, Values};
use serde_json::{Value, json};

/// A started scene with this seed's values.
pub async fn start(scene: &str) -> ScriptedModel {
    let scene = Scene::parse(scene, Path::new("scene.toml")).expect("the scene reads");
    let values = Values::draw(&scene, 1);
    ScriptedModel::start(scene, options(values)).await.expect("the server starts")
}

pub fn options(values: Values) -> Options {
    Options { port: 0, values, pace: None, events: None, rooms: Vec::new() }
}

/// One conversation with the scripted model.
pub struct Talk {
    client: reqwest::Client,
    url: String,
    pub key: String,
    pub messages: Vec<Value>,
    pub tools: Vec<Value>,
    pub system: Value,
}

impl Talk {
    pub fn new(model: &ScriptedModel) -> Self {
        // A second installation fails, and need not succeed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self {
            client,
            url: model.url(),
            key: "key-of-the-test".into(),
            messages: Vec::new(),
            tools: vec![tool("read_file"), tool("run_shell")],
            system: Value::Null,
        }
    }

    /// Another conversation over the same client.
    pub fn another(&self, key: &str) -> Self {
        Self {
            client: self.client.clone(),
            url: self.url.clone(),
            key: key.to_string(),
            messages: Vec::new(),
            tools: self.tools.clone(),
            system: Value::Null,
        }
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        self.messages.push(json!({"role": "user", "content": text}));
        self
    }

    /// Answers the calls of the last reply in order.
    pub fn results(&mut self, texts: &[&str]) -> &mut Self {
        let last = self.messages.last().expect("a reply")["content"].clone();
        let calls = last.as_array().expect("blocks").iter().filter(|b| b["type"] == "tool_use");
        let results: Vec<Value> = calls
            .zip(texts)
            .map(|(call, text)| {
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": text})
            })
            .collect();
        self.messages.push(json!({"role": "user", "content": results}));
        self
    }

    pub fn body(&self) -> Value {
        let mut body = json!({
            "model": "scripted-1",
            "max_tokens": 1000,
            "messages": self.messages,
            "tools": self.tools,
        });
        if !self.system.is_null() {
            body["system"] = self.system.clone();
        }
        body
    }

    pub async fn send(&self, path: &str, body: &Value) -> reqwest::Response {
        self.client
            .post(format!("{}{path}", self.url))
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .json(body)
            .send()
            .await
            .expect("an answer")
    }

    /// Status and JSON of the next reply; a message is added to the conversation.
    pub async fn ask(&mut self) -> (u16, Value) {
        let response = self.send("/v1/messages", &self.body()).await;
        let status = response.status().as_u16();
        let reply: Value = response.json().await.expect("JSON");
        if status == 200 {
            let content = reply["content"].clone();
            self.messages.push(json!({"role": "assistant", "content": content}));
        }
        (status, reply)
    }

    /// The next reply as a stream, unread.
    pub async fn stream(&self) -> reqwest::Response {
        let mut body = self.body();
        body["stream"] = json!(true);
        self.send("/v1/messages", &body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let request = self.client.get(format!("{}{path}", self.url)).header("x-api-key", &self.key);
        request.send().await.expect("an answer").json().await.expect("JSON")
    }
}

pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": "", "input_schema": {"type": "object"}})
}

/// The events of a stream's text: name and data.
pub fn events(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter(|frame| !frame.is_empty())
        .map(|frame| {
            let (event, data) = frame.split_once('\n').expect("two lines");
            let event = event.strip_prefix("event: ").expect("an event line");
            let data = data.strip_prefix("data: ").expect("a data line");
            (event.to_string(), serde_json::from_str(data).expect("JSON"))
        })
        .collect()
}

/// The text of one reply's first text block.
pub fn said(reply: &Value) -> &str {
    let blocks = reply["content"].as_array().expect("content");
    let text = blocks.iter().find(|block| block["type"] == "text");
    text.and_then(|block| block["text"].as_str()).unwrap_or_default()
}
