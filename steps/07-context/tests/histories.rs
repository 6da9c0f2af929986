//! Random histories under random orders of all operations, interrupted, killed and resumed in
//! between, with a real session's file: whatever is sent is valid for the strict model, and no
//! request is over the window.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mock_server::scene::Limits;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::session::Session;

const TOOLS: [&str; 5] = ["read_file", "grep_search", "run_shell", "write_file", "list_files"];
const SCRIPTS: [&str; 6] = [
    "2031-04-07 23:11:02 error[E0308]: mismatched types in src/watch.rs:118\n",
    "灯台の明かりは夜明けまで燃えていた。",
    "Маяк горел до утра, и смотритель записал это.\n",
    "🕯️🌊🧭 ",
    "\u{1b}[31mred\u{1b}[0m \"quoted\" \\ back\r\n",
    "x",
];

#[derive(Debug, Clone)]
struct Call {
    tool: usize,
    script: usize,
    size: usize,
    input: usize,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Short,
    Long,
    Empty,
}

#[derive(Debug, Clone)]
enum Step {
    /// The user says something.
    Say(usize, usize),
    /// The model calls tools. `interrupted`: from this call on nothing is run. `killed`: the
    /// program ends before the results are written.
    Turn {
        calls: Vec<Call>,
        interrupted: Option<usize>,
        killed: bool,
    },
    /// The model only speaks.
    Speak(usize, usize),
    Tidy,
    Pause(u64),
    /// A part is switched off or on again.
    Switch(usize),
    /// From now on the summariser answers so.
    Summaries(Answer),
    /// The program is started again; so many bytes of its file's last line are lost.
    Resume(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![3 => 0..300usize, 3 => 300..12_000usize, 1 => 12_000..120_000usize];
    let call = (0..TOOLS.len(), 0..SCRIPTS.len(), size, 0..2_000usize)
        .prop_map(|(tool, script, size, input)| Call { tool, script, size, input });
    let calls = prop::collection::vec(call, 1..7);
    let interrupted = prop::option::weighted(0.15, 0..6usize);
    let answer =
        prop_oneof![4 => Just(Answer::Short), 1 => Just(Answer::Long), 1 => Just(Answer::Empty)];
    prop_oneof![
        2 => (0..SCRIPTS.len(), 1..1_500usize).prop_map(|(script, size)| Step::Say(script, size)),
        8 => (calls, interrupted, prop::bool::weighted(0.05)).prop_map(
            |(calls, interrupted, killed)| Step::Turn { calls, interrupted, killed }
        ),
        2 => (0..SCRIPTS.len(), 1..2_000usize).prop_map(|(script, size)| Step::Speak(script, size)),
        1 => Just(Step::Tidy),
        1 => (1..900u64).prop_map(Step::Pause),
        1 => (0..3usize).prop_map(Step::Switch),
        1 => answer.prop_map(Step::Summaries),
        1 => prop_oneof![Just(0), 1..200u64].prop_map(Step::Resume),
    ]
}

fn text(script: usize, size: usize) -> String {
    let mut text = SCRIPTS[script].repeat(size / SCRIPTS[script].len() + 1);
    let end = (0..=size).rev().find(|end| text.is_char_boundary(*end)).unwrap();
    text.truncate(end);
    text
}

fn words(script: usize, size: usize) -> Block {
    Block::Text { text: format!("> {}", text(script, size)) }
}

struct World {
    session: Session,
    context: Context,
    folder: tempfile::TempDir,
    first: Vec<Block>,
    window: u64,
    /// Tenths of a byte that really make a token.
    density: u64,
    now: SystemTime,
    /// What each result was before it was admitted.
    originals: HashMap<String, String>,
    answer: Answer,
    /// A summary was of no use since the conversation began: then one may not fit, and is not sent.
    in_vain: bool,
    ids: usize,
    sent: usize,
    compacted: usize,
}

impl World {
    fn new(window: u64, density: u64) -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World {
            session: Session::start(folder.path(), folder.path()),
            context: Context::new(window, folder.path().join("results")),
            folder,
            first: vec![words(0, 900), words(1, 600)],
            window,
            density,
            now: UNIX_EPOCH,
            originals: HashMap::new(),
            answer: Answer::Short,
            in_vain: false,
            ids: 0,
            sent: 0,
            compacted: 0,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.session = Session::start(self.folder.path(), self.folder.path());
        self.context.in_vain = 0;
        self.in_vain = false;
        self.user(self.first.clone());
    }

    fn user(&mut self, content: Vec<Block>) {
        self.session.push(Message { role: Role::User, content }).unwrap();
    }

    fn true_tokens(&self, messages: &[Message]) -> u64 {
        2_000 + serde_json::to_string(messages).unwrap().len() as u64 * 10 / self.density
    }

    /// Nothing that is sent breaks a rule of the API, and the first message is in it.
    fn must_be_valid(&self, messages: &[Message]) {
        let tool = json!({"name": "read_file", "input_schema": {"type": "object"}});
        let request = json!({"model": "m", "max_tokens": 9, "tools": [tool], "messages": messages});
        let limits = Limits { context_window: u64::MAX, max_output: 9, cache_minimum: 9 };
        assert_eq!(mock_server::judge(&request, &limits).err(), None);
        assert_eq!(messages[0].content[..2], self.first);
    }

    fn make_room(&mut self, mut incoming: u64) {
        self.tidy();
        while let Some(plan) = self.context.plan(&self.session.messages, incoming) {
            self.must_be_valid(&plan.request);
            let tokens = self.true_tokens(&plan.request);
            assert!(tokens <= self.window || self.density < 30, "{tokens} for a summary");
            let summary = match self.answer {
                Answer::Short => "## Goal\nwatch the lamp\n## Next\ngo on".to_string(),
                Answer::Long => text(1, self.window as usize * 2),
                Answer::Empty => " \n".to_string(),
            };
            let history = self.session.messages.clone();
            let last_pair = history.iter().rposition(has_call).map(|at| history[at..].to_vec());
            let messages = &mut self.session.messages;
            if self.context.compact(messages, plan, &summary).is_some() {
                let (before, now) = (self.context.tokens(&history), &self.session.messages);
                assert!(self.context.tokens(now) < before);
                let kept = last_pair.filter(|pair| estimate(pair) <= self.context.usable() / 2);
                assert!(kept.is_none_or(|pair| now.ends_with(&pair)), "the last call is gone");
                self.session.compacted().unwrap();
                self.compacted += 1;
            } else {
                assert_eq!(self.session.messages, history);
                let again = self.context.plan(&history, incoming);
                assert_eq!(again, None, "what was in vain is tried again at once");
                self.in_vain = true;
            }
            incoming = 0;
        }
    }

    fn tidy(&mut self) {
        let (before, tokens) =
            (self.session.messages.clone(), self.context.tokens(&self.session.messages));
        self.context.tidy(&mut self.session.messages, self.now);
        assert!(self.context.tokens(&self.session.messages) <= tokens);
        let seen = before.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
        assert_eq!(self.session.messages[seen..], before[seen..], "unseen, and touched");
        self.look_at_results();
    }

    /// Each result is whole, or says truly where its whole is, or that it can be had again.
    fn look_at_results(&self) {
        for block in self.session.messages.iter().flat_map(|message| &message.content) {
            let Block::ToolResult { tool_use_id, content, .. } = block else { continue };
            let Some(original) = self.originals.get(tool_use_id) else { continue };
            let is_short = content.contains(" bytes snipped; call again")
                || content.starts_with("error: interrupted");
            if content != original && !is_short {
                let (_, rest) = content.split_once("; all of it is in ").expect("a path");
                let (path, _) = rest.split_once("]\n").expect("its end");
                assert_eq!(fs::read_to_string(path).ok().as_ref(), Some(original));
                assert!(content.len() < 2_500, "{} bytes of preview", content.len());
            }
        }
    }

    /// A request goes out, and the model replies.
    fn send(&mut self, reply: Vec<Block>) {
        if self.session.messages.last().is_none_or(|last| last.role == Role::Assistant) {
            self.user(vec![words(2, 40)]);
        }
        self.make_room(0);
        self.must_be_valid(&self.session.messages);
        let tokens = self.true_tokens(&self.session.messages);
        if tokens > self.window {
            assert!(self.density < 30 || !self.context.fits(&self.session.messages));
            let error =
                anyhow::anyhow!("prompt is too long: {tokens} tokens > {} maximum", self.window);
            assert!(self.context.was_too_long(&self.session.messages, &error));
            self.make_room(self.window);
        }
        if !self.context.fits(&self.session.messages) {
            assert!(self.in_vain, "it does not fit, and no summary was in vain");
            self.begin();
            return self.send(reply);
        }
        let tokens = self.true_tokens(&self.session.messages);
        assert!(tokens <= self.window, "a request of {tokens} tokens");
        self.context.measure(&self.session.messages, tokens, true, self.now);
        self.now += Duration::from_secs(7);
        self.session.push(Message { role: Role::Assistant, content: reply }).unwrap();
        self.sent += 1;
    }

    fn turn(&mut self, calls: &[Call], interrupted: Option<usize>, killed: bool) {
        let thinking =
            json!({"type": "thinking", "thinking": "so", "signature": "sig_08d93907b57933d7"});
        let (mut reply, mut results) = (vec![Block::Other(thinking)], Vec::new());
        for (at, call) in calls.iter().enumerate() {
            self.ids += 1;
            let id = format!("toolu_main_{:05}", self.ids);
            let input = json!({"path": format!("src/{at}.rs"), "text": text(2, call.input)});
            reply.push(Block::ToolUse { id: id.clone(), name: TOOLS[call.tool].into(), input });
            if interrupted.is_some_and(|first| at >= first) {
                let content = "error: interrupted".to_string();
                results.push(Block::ToolResult { tool_use_id: id, content, is_error: true });
                continue;
            }
            let content = text(call.script, call.size);
            self.originals.insert(id.clone(), content.clone());
            results.push(Block::ToolResult { tool_use_id: id, content, is_error: at == 3 });
        }
        self.send(reply);
        if killed {
            return self.resume(0);
        }
        let incoming = self.context.incoming(&self.session.messages, &results);
        self.make_room(incoming);
        self.context.admit(&self.session.messages, &mut results);
        self.user(results);
    }

    fn resume(&mut self, lost: u64) {
        let path: PathBuf = self.session.path().unwrap().to_path_buf();
        let bytes = fs::read(&path).unwrap();
        if bytes.iter().filter(|byte| **byte == b'\n').count() > 2 {
            let lost = (lost as usize).min(bytes.len() / 2);
            fs::write(&path, &bytes[..bytes.len() - lost]).unwrap();
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let home = self.folder.path();
        (self.session, _) = Session::resume(home, home, Some(&name)).unwrap();
        let off = self.context.off.clone();
        self.context = Context::new(self.window, home.join("results"));
        self.context.off = off;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Say(script, size) => self.user(vec![words(script, size)]),
            Step::Turn { calls, interrupted, killed } => self.turn(&calls, interrupted, killed),
            Step::Speak(script, size) => self.send(vec![words(script, size)]),
            Step::Tidy => self.tidy(),
            Step::Pause(seconds) => self.now += Duration::from_secs(seconds),
            Step::Switch(part) => {
                let part = ["budgets", "snip", "idle"][part];
                let is_on = self.context.is_on(part);
                self.context.off = if is_on { part.to_string() } else { String::new() };
            }
            Step::Summaries(answer) => self.answer = answer,
            Step::Resume(lost) => self.resume(lost),
        }
        self.look_at_results();
    }
}

/// A few seconds' worth; `CASES=2000` for a long run.
fn cases() -> ProptestConfig {
    let cases = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    let none = None;
    ProptestConfig { cases, max_shrink_iters: 60, failure_persistence: none, ..Default::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_request_is_valid_and_fits(
        window in 25_000..90_000u64,
        density in 25..50u64,
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let mut world = World::new(window, density);
        for step in steps {
            world.step(step);
        }
    }
}

/// The property above would hold for a history that is never compacted: this one is, many times.
#[test]
fn a_long_session_is_compacted_again_and_again() {
    let mut world = World::new(30_000, 40);
    for at in 0..100 {
        let call = |tool, size| Call { tool, script: at % 6, size, input: 200 };
        world.turn(&[call(2, 3_000 + at * 37 % 9_000), call(0, 40_000)], None, false);
    }
    assert_eq!(world.sent, 100);
    assert!(world.compacted > 3, "{} compactions", world.compacted);
}
