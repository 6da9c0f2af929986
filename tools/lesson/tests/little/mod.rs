//! A little agent for the stage's tests, with bad habits on demand, and scenes made of a text.
//!
//! It lives in the test program itself: the test named `agent`, which is ignored otherwise, is run
//! as the program on the stage. Its habit is an argument, since the environment is cleared.

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::Path;

use lesson::screen;
use lesson::stage::{Outcome, Play, play};
use mock_server::Scene;
use serde_json::{Value, json};
use tempfile::TempDir;

pub fn scene_dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(dir.path().join("workspace")).expect("made");
    std::fs::create_dir(dir.path().join("home")).expect("made");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("written");
    }
    dir
}

/// A play of this scene by the little agent with this habit.
pub fn a_play(dir: &Path, scene: &str, habit: &str) -> Play {
    let scene = Scene::parse(scene, &dir.join("scene.toml")).expect("a good scene");
    let exe = std::env::current_exe().expect("the test program").into_os_string();
    let words = ["agent", "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let mut program = vec![exe];
    program.extend(words.map(OsString::from));
    // An unknown test name: it selects nothing more, and the agent finds it in its arguments.
    program.push(format!("habit:{habit}").into());
    Play {
        program,
        scene,
        scene_dir: dir.to_path_buf(),
        ours: true,
        seed: Some(7),
        pace: None,
        keep: false,
        yes: false,
        trace: None,
        show: false,
        // The tests of one program run side by side.
        alone: false,
        tell_waits: false,
    }
}

pub async fn played(dir: &Path, scene: &str, habit: &str) -> Outcome {
    play(a_play(dir, scene, habit)).await.expect("it can be played")
}

/// What is wrong with a rule; empty where nothing is.
pub fn wrong(outcome: &Outcome, rule: &str) -> String {
    let rule = outcome.rules.iter().find(|judged| judged.name == rule).expect("there is the rule");
    rule.verdict.clone().err().unwrap_or_default()
}

fn habit_is(name: &str) -> bool {
    std::env::args().any(|arg| arg == format!("habit:{name}") || arg == name)
}

struct Agent {
    client: reqwest::Client,
    messages: Vec<Value>,
    input: std::io::StdinLock<'static>,
}

impl Agent {
    fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::new();
        Self { client, messages: Vec::new(), input: std::io::stdin().lock() }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.input.read_line(&mut line).expect("standard input can be read");
        (count > 0).then(|| line.trim_end().to_string())
    }

    /// From one user line to the answer.
    async fn turn(&mut self, line: &str) {
        self.messages.push(json!({"role": "user", "content": line}));
        loop {
            let reply = self.ask().await;
            let content = reply["content"].as_array().cloned().unwrap_or_default();
            self.messages.push(json!({"role": "assistant", "content": content}));
            let mut results = Vec::new();
            for block in &content {
                if block["type"] == "text" {
                    screen::says(block["text"].as_str().unwrap_or_default());
                } else {
                    let text = self.use_tool(&block["name"], &block["input"]);
                    results.push(
                        json!({"type": "tool_result", "tool_use_id": block["id"], "content": text}),
                    );
                }
            }
            if results.is_empty() {
                return;
            }
            self.messages.push(json!({"role": "user", "content": results}));
        }
    }

    async fn ask(&self) -> Value {
        let env = |name: &str| std::env::var(name).expect("the contract sets it");
        let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
        let body = json!({
            "model": env("ANTHROPIC_MODEL"), "max_tokens": 1000, "messages": self.messages,
            "tools": [tool("read_file"), tool("ask"), tool("sh"), tool("env")],
        });
        let request = self.client.post(format!("{}/v1/messages", env("ANTHROPIC_BASE_URL")));
        let request = request.header("x-api-key", env("ANTHROPIC_API_KEY"));
        let request = request.header("anthropic-version", "2023-06-01").json(&body);
        let response = request.send().await.expect("the model answers");
        let status = response.status();
        let reply: Value = response.json().await.expect("the reply is JSON");
        if !status.is_success() {
            eprintln!("the API said {status}: {}", reply["error"]["message"]);
            std::process::exit(1);
        }
        reply
    }

    fn use_tool(&mut self, name: &Value, input: &Value) -> String {
        let tool = name.as_str().unwrap_or_default();
        screen::calls(tool, input);
        let text = match tool {
            "read_file" => {
                let path = input["path"].as_str().unwrap_or_default();
                std::fs::read_to_string(path).unwrap_or_else(|error| format!("error: {error}"))
            }
            "ask" => {
                screen::asks("May I?");
                self.line().unwrap_or_else(|| "no answer".to_string())
            }
            "env" => {
                let mut names: Vec<String> = std::env::vars().map(|pair| pair.0).collect();
                names.sort();
                names.join("\n")
            }
            _ => {
                let line = input["line"].as_str().unwrap_or_default();
                let out = std::process::Command::new("sh").arg("-c").arg(line).output();
                out.map_or_else(
                    |e| e.to_string(),
                    |out| String::from_utf8_lossy(&out.stdout).into(),
                )
            }
        };
        screen::returns(&text, false);
        text
    }
}

/// The agent's whole life.
pub async fn live() -> ! {
    begin_with_habits();
    let mut agent = Agent::new();
    while let Some(line) = agent.line() {
        if let Some(command) = line.strip_prefix('/') {
            println!("{command}: done");
        } else if habit_is("survives Ctrl+C") {
            tokio::select! {
                () = agent.turn(&line) => {}
                _ = tokio::signal::ctrl_c() => screen::notes("interrupted"),
            }
        } else {
            agent.turn(&line).await;
        }
    }
    if habit_is("stays on") {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    std::process::exit(0);
}

/// Bad habits of programs, at their start.
fn begin_with_habits() {
    let mut out = std::io::stdout();
    if habit_is("hangs") {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    if habit_is("ends at once") {
        eprintln!("I do not feel like it");
        std::process::exit(3);
    }
    if habit_is("prints for ever") {
        while out.write_all(&[b'x'; 4096]).is_ok() {}
    }
    if habit_is("warns") {
        eprintln!("It is 0.");
    }
    if habit_is("closes its output") {
        // Its own standard output goes; what it starts has another.
        let program = std::env::current_exe().expect("this program");
        let sh = "exec \"$0\" agent --exact --ignored --nocapture >/dev/null 2>&1";
        let ended = std::process::Command::new("sh").args(["-c", sh]).arg(program).status();
        std::process::exit(ended.ok().and_then(|status| status.code()).unwrap_or(9));
    }
    if habit_is("prints bytes") {
        let _ = out.write_all(b"\xff\xfe\n");
    }
    if habit_is("prints sequences") {
        let _ = out.write_all(b"\x1b[2Jcleared\n");
    }
}
