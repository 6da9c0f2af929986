//! Compaction: the model writes a summary of what has happened, and the work goes on from that.
//!
//! It comes when the lighter means of `context.rs` no longer do, at 85 % of what is usable, and in
//! the middle of a turn as well. What stays as it is: the user's first message, word for word, and
//! all from the last call on, with its result. Where the model has answered since, and half of what is
//! usable stands there, only what it has not seen stays. What lies between becomes the summary, which
//! joins the first message as a block of its own. The cut is never before a result, so no call is parted
//! from its own.
//!
//! `plan` makes the request, the loop sends it, `compact` puts the answer in place. An answer that
//! is no summary changes nothing. It is asked for again when the history has grown by a twentieth
//! of what is usable, and not with each call: each costs a whole window's tokens. Where the window
//! runs over meanwhile, `leave_out` lets go of what lies between without a summary, and says so.
//!
//! Left out on purpose: what goes is not kept here. It stands in the session's file.

use anyhow::{Result, ensure};

use crate::context::{Context, estimate, report};
use crate::message::{Block, Message, Role};

/// Percent at which a compaction is due.
pub const DUE: u64 = 85;

/// How the block with the summary begins.
const OPENING: &str = "What has happened since, in your own summary:";

/// What the model is asked for. The headings are fixed, so that nothing is forgotten for want of
/// a place to put it.
const INSTRUCTION: &str = "\
The context window is nearly full. Write a summary from which you can go on without the messages \
above: they will be gone, all but my first. What has come after them stays. Answer with \
the summary alone, in at most 700 words, call no tool, and use exactly these headings:

## Goal
What I want, in my own words where they matter.
## Constraints
What I have forbidden, demanded or decided.
## Done and verified
What was done, and how it was seen to be right. Name what was not checked.
## Files read and changed
Each path, with what is needed of it: names, line numbers, the exact values found.
## Open
What is not done, not known, or fails, with the exact error.
## Next
The next step.";

/// What stands in a summary's place where none could be had.
const LEFT_OUT: &str = "[Later messages are left out here, without a summary. Look at the files \
again, and ask me where you need to know what was said.]";

/// Tokens that a history must have grown by before a summary is asked for once more: this part of
/// what is usable.
const GROWN: u64 = 20;

/// A compaction that is due: ask the model, then hand its answer to `compact`.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Messages of the request. System prompt and tools are those of every other call, so that
    /// what is cached of them still counts.
    pub request: Vec<Message>,
    /// The first message that stays.
    cut: usize,
}

impl Context {
    /// The summary that is due, if one is and could free a tenth.
    pub fn plan(&self, history: &[Message]) -> Option<Plan> {
        let tokens = self.tokens(history);
        let is_full = tokens * 100 >= self.usable() * DUE;
        let has_grown = self.in_vain == 0 || tokens >= self.in_vain + self.usable() / GROWN;
        if !(self.is_on("compaction") && is_full && has_grown) {
            return None;
        }
        // Where all of it would not fit, its beginning is summed up first.
        let cuts = (2..=self.cut(history)).rev().filter(|&at| !starts_with_result(history, at));
        let mut requests = cuts.map(|at| (at, request(&history[..at])));
        let (cut, request) = requests.find(|(_, request)| self.fits(request))?;
        self.frees(history, &summed_up(history, cut, "")).then_some(Plan { request, cut })
    }

    /// Where what stays begins: at the last call. Where that lies so far back that half a window
    /// follows it, at what the model has not yet seen.
    fn cut(&self, history: &[Message]) -> usize {
        let last = |wanted: fn(&Message) -> bool| history.iter().rposition(wanted);
        let unseen = last(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
        let Some(call) = last(has_call) else { return unseen };
        let far_back = estimate(&history[call..]) > self.usable() / 2 && call + 1 < unseen;
        if far_back { unseen } else { call }
    }

    /// Puts the summary in the place of what it sums up, and says so. Where the reply is no summary,
    /// or one that frees less than a tenth, the history stays as it was.
    pub fn compact(
        &mut self,
        history: &mut Vec<Message>,
        plan: &Plan,
        reply: &Message,
    ) -> Result<String> {
        ensure!(!has_call(reply), "the model called a tool instead");
        ensure!(!reply.text().trim().is_empty(), "the model wrote nothing");
        let shorter = summed_up(history, plan.cut, reply.text().trim());
        ensure!(self.frees(history, &shorter), "it would free less than a tenth");
        Ok(self.replace(history, shorter, "became a summary"))
    }

    /// Where a request still would not fit: lets go, without a summary, of all that lies between the
    /// first message and the last call, or else of that call, too. Nothing where that is no help.
    pub fn leave_out(&mut self, history: &mut Vec<Message>) -> Option<String> {
        if self.fits(history) || !self.is_on("compaction") {
            return None;
        }
        let old =
            first_of_user(history).and_then(|first| first.content.iter().find_map(summary_in));
        let old = format!("{}\n\n{LEFT_OUT}", old.unwrap_or_default().replace(LEFT_OUT, "").trim());
        let last = history.len().saturating_sub(1);
        // What the user has said last stays.
        let end = if starts_with_result(history, last) { last + 1 } else { last };
        let cuts = [(self.cut(history), old.as_str()), (end, LEFT_OUT)];
        let cuts = cuts.into_iter().filter(|(cut, _)| *cut > 1);
        let mut shorter = cuts.map(|(cut, text)| summed_up(history, cut, text));
        let shorter = shorter.find(|shorter| self.fits(shorter))?;
        Some(self.replace(history, shorter, "left out without a summary"))
    }

    /// Whether it frees a tenth.
    fn frees(&self, history: &[Message], shorter: &[Message]) -> bool {
        self.tokens(shorter) * 10 <= self.tokens(history) * 9
    }

    fn replace(&mut self, history: &mut Vec<Message>, new: Vec<Message>, what: &str) -> String {
        let (before, after) = (self.tokens(history), self.tokens(&new));
        let gone = history.len() + 1 - new.len() - first_of_user(history).iter().count();
        *history = new;
        self.settle(history, after);
        self.in_vain = 0;
        report(&format!("compaction: {gone} messages {what}"), before, after)
    }
}

/// A session that has lost its beginning has none.
fn first_of_user(history: &[Message]) -> Option<&Message> {
    history.first().filter(|first| first.role == Role::User)
}

/// The user's first message, with this summary in the place of an earlier one, and what stays.
fn summed_up(history: &[Message], cut: usize, summary: &str) -> Vec<Message> {
    let mut content = first_of_user(history).map_or(Vec::new(), |first| first.content.clone());
    content.retain(|block| summary_in(block).is_none());
    content.push(Block::Text { text: format!("{OPENING}\n\n{}", summary.trim()) });
    [&[Message { role: Role::User, content }], &history[cut..]].concat()
}

fn has_call(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, Block::ToolUse { .. }))
}

fn summary_in(block: &Block) -> Option<&str> {
    let Block::Text { text } = block else { return None };
    text.strip_prefix(OPENING)
}

fn starts_with_result(history: &[Message], at: usize) -> bool {
    let first = history.get(at).and_then(|message| message.content.first());
    matches!(first, Some(Block::ToolResult { .. }))
}

/// What is to be summed up, and the instruction at its end.
fn request(history: &[Message]) -> Vec<Message> {
    let mut request = history.to_vec();
    let instruction = Block::Text { text: INSTRUCTION.to_string() };
    match request.last_mut() {
        Some(last) if last.role == Role::User => last.content.push(instruction),
        _ => request.push(Message { role: Role::User, content: vec![instruction] }),
    }
    request
}

#[cfg(test)]
#[path = "../tests/compaction.rs"]
mod tests;
