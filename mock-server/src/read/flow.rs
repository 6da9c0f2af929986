//! Whether a conversation can be played at all: every user line has a reply, every reply something
//! that asks for it, and every request that a rule speaks of can come.

use super::table::Faults;
use crate::scene::{Check, LineKind, Moment, Part, Reply, Rule, Scene, StageAction, Which};

pub fn check(scene: &Scene, faults: &mut Faults) {
    for part in &scene.parts {
        users_have_replies(part, faults);
    }
    if let Some(main) = scene.parts.first() {
        replies_are_asked_for(main, !scene.args.is_empty(), faults);
    }
    for rule in &scene.verify {
        requests_can_come(scene, rule, faults);
    }
}

fn users_have_replies(part: &Part, faults: &mut Faults) {
    let mut unanswered = None;
    for line in &part.lines {
        match (&line.kind, unanswered) {
            (LineKind::User(_), Some(before)) => faults.add_at_line(
                line.at,
                format!("between this user line and the one in line {before} stands no reply"),
            ),
            (LineKind::User(_), None) => unanswered = Some(line.at),
            (LineKind::Reply(_), _) => unanswered = None,
            _ => {}
        }
    }
}

/// A program may go on by itself (because of its arguments, or a hook of its own): then the reply
/// says by what the request is known.
fn replies_are_asked_for(main: &Part, has_args: bool, faults: &mut Faults) {
    let mut asked = has_args;
    for line in &main.lines {
        let LineKind::Reply(reply) = &line.kind else {
            asked = true;
            continue;
        };
        let is_known = !reply.expect.holds.is_empty() || !reply.capture.is_empty();
        if !asked && !is_known {
            faults.add_at_line(
                line.at,
                "nothing asks for this reply: before it stands neither a user line nor a reply \
                 with calls; if the program goes on by itself, say what it sends: expect.holds",
            );
        }
        asked = asks_again(reply);
    }
}

/// Whether the program asks again after this reply without a word of the user.
fn asks_again(reply: &Reply) -> bool {
    !reply.speech.calls.is_empty()
        || matches!(reply.speech.stop.as_deref(), Some("max_tokens" | "pause_turn"))
        || reply.stage.iter().any(|action| matches!(action, StageAction::Restart(_)))
}

fn requests_can_come(scene: &Scene, rule: &Rule, faults: &mut Faults) {
    let main = "main".to_string();
    let (part, numbers): (&String, Vec<usize>) = match &rule.check {
        Check::Request { which: Which::Number(number), part, .. }
        | Check::CacheRead { which: Which::Number(number), part, .. } => (part, vec![*number]),
        Check::Order(moments) => (&main, moments.iter().filter_map(number_of).collect()),
        _ => return,
    };
    let Some(part) = scene.parts.iter().find(|known| known.name == *part) else { return };
    let most = most_requests(part);
    for number in numbers.into_iter().filter(|number| *number > most) {
        faults.add_at_line(
            rule.at,
            format!("there is no request {number}: {} has replies for {most}", part.name),
        );
    }
}

fn number_of(moment: &Moment) -> Option<usize> {
    match moment {
        Moment::Request(number) | Moment::Reply(number) => Some(*number),
        Moment::Screen(_) => None,
    }
}

/// One for each reply, and one more for each time that it goes wrong.
fn most_requests(part: &Part) -> usize {
    let replies = part.lines.iter().filter_map(|line| match &line.kind {
        LineKind::Reply(reply) => Some(reply),
        _ => None,
    });
    let attempts = replies.map(|reply| {
        let fault = &reply.fault;
        let breaks = fault.drop_at.is_some() || fault.error_event.is_some();
        let again = if breaks || fault.stall.is_some() { fault.attempts } else { 0 };
        1 + fault.status.len() + again + reply.stage.len()
    });
    attempts.sum()
}
