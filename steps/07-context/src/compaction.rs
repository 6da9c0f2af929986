//! Compaction: the model writes a summary of what has happened, and the work goes on from that.
//!
//! It comes when the lighter means of `context.rs` no longer do, at 85 % of what is usable, and in
//! the middle of a turn as well. What stays, word for word: the user's first message, and all from
//! the last call on, with its result. What lies between becomes the summary, which joins the first
//! message as a block of its own. The cut is never before a result, so no call is parted from its
//! own.
//!
//! `plan` makes the request, the loop sends it, `compact` puts the answer in place. A compaction
//! that frees nothing is not tried again until there is twice as much to sum up: each costs a whole
//! window's tokens.
//!
//! Left out on purpose: what goes is not kept here. It stands in the session's file.

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
above: they will be gone. Only my first message and your last call stay as they are. Answer with \
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
    /// The summary that is due, if one is, with so many tokens still to join the history.
    pub fn plan(&self, history: &[Message], incoming: u64) -> Option<Plan> {
        let tokens = self.tokens(history) + incoming;
        if !self.is_on("compaction") || tokens * 100 < self.usable() * DUE {
            return None;
        }
        // Where all of it would not fit, its beginning is summed up first.
        let cuts = (2..=self.cut(history)).rev().filter(|&at| !starts_with_result(history, at));
        let mut requests = cuts.map(|at| (at, request(&history[..at])));
        let (cut, request) = requests.find(|(_, request)| self.fits(request))?;
        let was_tried = estimate(&history[1..cut]) < self.in_vain * 2;
        (!was_tried).then_some(Plan { request, cut })
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

    /// Puts the summary in the place of what it sums up, and says so. Nothing where that would free
    /// less than a tenth: then the history stays as it was.
    pub fn compact(
        &mut self,
        history: &mut Vec<Message>,
        plan: Plan,
        summary: &str,
    ) -> Option<String> {
        let (before, tried) = (self.tokens(history), estimate(history.get(1..plan.cut)?));
        let mut shorter = history.clone();
        shorter.drain(1..plan.cut);
        shorter[0].content.retain(|block| !is_summary(block));
        let text = format!("{OPENING}\n\n{}", summary.trim());
        shorter[0].content.push(Block::Text { text });
        let after = self.tokens(&shorter);
        if summary.trim().is_empty() || after * 10 > before * 9 {
            self.in_vain = tried;
            return None;
        }
        *history = shorter;
        self.settle(history, after);
        self.in_vain = 0;
        let did = format!("compaction: {} messages became a summary", plan.cut - 1);
        Some(report(&did, before, after))
    }
}

fn has_call(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, Block::ToolUse { .. }))
}

fn is_summary(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.starts_with(OPENING))
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

#[cfg(test)]
#[path = "../tests/histories.rs"]
mod histories;
