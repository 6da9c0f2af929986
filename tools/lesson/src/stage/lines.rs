//! Which line is handed to the program, and when.
//!
//! A user line follows when the last reply of the turn before has been delivered; an answer when
//! the program asks. Nothing is typed ahead: a program that reads too early would take an answer
//! for a user line, and the screen would show things in an order in which they did not happen.

use std::collections::{HashSet, VecDeque};

use mock_server::scene::{Line, LineKind, Part};

/// What ends a question.
pub const QUESTION: &str = "[y/n/a] ";

/// What to do at the program's standard input.
#[derive(Debug, Clone, PartialEq)]
pub enum Hand {
    /// A line, as the scene writes it.
    Over(String),
    /// There will be no more lines.
    Close,
}

/// How far the story has been handed over.
pub struct Script<'a> {
    parts: &'a [Part],
    handed: HashSet<usize>,
    queued: HashSet<(&'a str, usize)>,
    answers: VecDeque<&'a str>,
    until: Option<Until<'a>>,
    closed: bool,
}

/// A line that the program handles without the model: the next one waits for this text.
struct Until<'a> {
    text: &'a str,
    /// Only what is written after this many bytes counts.
    from: usize,
    next: usize,
}

impl<'a> Script<'a> {
    pub fn new(parts: &'a [Part]) -> Self {
        Self {
            parts,
            handed: HashSet::new(),
            queued: HashSet::new(),
            answers: VecDeque::new(),
            until: None,
            closed: false,
        }
    }

    fn main(&self) -> &'a [Line] {
        self.parts.first().map_or(&[], |part| &part.lines)
    }

    /// The lines that are due at the start, or when the program starts again after this line.
    pub fn follow(&mut self, from: usize, args: &[String], written: usize) -> Option<Hand> {
        let main = self.main();
        for (at, line) in main.iter().enumerate().skip(from) {
            match &line.kind {
                LineKind::Answer(_) => self.queue(&self.parts[0], at),
                LineKind::Reply(_) => return None,
                LineKind::User(text) => {
                    self.queue_after(&self.parts[0], at);
                    // A program started with the line among its arguments has it already.
                    let is_new = self.handed.insert(at) && !args.contains(text);
                    return is_new.then(|| Hand::Over(text.clone()));
                }
                LineKind::Types { text, until } => {
                    if self.handed.insert(at) {
                        self.until = Some(Until { text: until, from: written, next: at + 1 });
                        return Some(Hand::Over(text.clone()));
                    }
                }
            }
        }
        (!std::mem::replace(&mut self.closed, true)).then_some(Hand::Close)
    }

    /// The lines that are due before the line at `next` (the end, where there is none), when the
    /// reply before it has gone out: a turn has ended.
    pub fn turn_ended(&mut self, next: usize, args: &[String], written: usize) -> Option<Hand> {
        let before = &self.main()[..next.min(self.main().len())];
        let replies = before.iter().rposition(|line| matches!(line.kind, LineKind::Reply(_)));
        self.follow(replies.map_or(0, |at| at + 1), args, written)
    }

    /// A reply has gone out: the answers behind it belong to the questions that come now.
    pub fn delivered(&mut self, part: &str, reply: usize) {
        if let Some(part) = self.parts.iter().find(|p| p.name == part) {
            self.queue_after(part, reply);
        }
    }

    /// Looks whether a line that waits for a text may follow.
    pub fn written(&mut self, text: &str, args: &[String]) -> Option<Hand> {
        let until = self.until.as_ref()?;
        let new = text.get(until.from..)?;
        if !new.contains(until.text) {
            return None;
        }
        let next = until.next;
        self.until = None;
        self.follow(next, args, text.len())
    }

    /// The answer to the question that the program asks now.
    pub fn answer(&mut self) -> Option<String> {
        self.answers.pop_front().map(str::to_string)
    }

    /// An answer that no question has taken.
    pub fn answer_left(&self) -> Option<&str> {
        self.answers.front().copied()
    }

    /// User lines that were never handed over.
    pub fn lines_left(&self) -> impl Iterator<Item = &'a Line> + '_ {
        let typed = |kind: &LineKind| matches!(kind, LineKind::User(_) | LineKind::Types { .. });
        let lines = self.main().iter().enumerate();
        lines.filter(move |(at, line)| typed(&line.kind) && !self.handed.contains(at)).map(|l| l.1)
    }

    fn queue_after(&mut self, part: &'a Part, at: usize) {
        let answers = part.lines.iter().enumerate().skip(at + 1);
        for (at, _) in answers.take_while(|(_, line)| matches!(line.kind, LineKind::Answer(_))) {
            self.queue(part, at);
        }
    }

    /// A reply that is sent twice (a retry) brings its answers once.
    fn queue(&mut self, part: &'a Part, at: usize) {
        if let LineKind::Answer(answer) = &part.lines[at].kind
            && self.queued.insert((&part.name, at))
        {
            self.answers.push_back(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_server::scene::Reply;

    fn story(kinds: Vec<LineKind>) -> Vec<Part> {
        let lines = kinds.into_iter().enumerate().map(|(at, kind)| Line { at: at + 1, kind });
        vec![Part { name: "main".to_string(), when: None, lines: lines.collect() }]
    }

    fn user(text: &str) -> LineKind {
        LineKind::User(text.to_string())
    }

    fn answer(text: &str) -> LineKind {
        LineKind::Answer(text.to_string())
    }

    fn reply() -> LineKind {
        LineKind::Reply(Box::default())
    }

    fn over(text: &str) -> Option<Hand> {
        Some(Hand::Over(text.to_string()))
    }

    #[test]
    fn the_next_user_line_waits_for_the_end_of_the_turn() {
        let parts = story(vec![user("one"), reply(), reply(), user("two"), reply()]);
        let mut script = Script::new(&parts);
        assert_eq!(script.follow(0, &[], 0), over("one"));
        script.delivered("main", 1);
        assert_eq!(script.turn_ended(3, &[], 0), over("two"));
        assert_eq!(script.turn_ended(3, &[], 0), None, "handed over twice");
        assert_eq!(script.turn_ended(5, &[], 0), Some(Hand::Close));
        assert_eq!(script.turn_ended(5, &[], 0), None, "closed twice");
    }

    #[test]
    fn answers_wait_for_the_reply_before_them() {
        let parts = story(vec![user("one"), reply(), answer("y"), answer("n"), reply()]);
        let mut script = Script::new(&parts);
        script.follow(0, &[], 0);
        assert_eq!(script.answer(), None);
        script.delivered("main", 1);
        script.delivered("main", 1);
        assert_eq!(script.answer().as_deref(), Some("y"));
        assert_eq!(script.answer_left(), Some("n"));
        assert_eq!(script.answer().as_deref(), Some("n"));
        assert_eq!(script.answer(), None, "a retry must not bring the answers twice");
    }

    #[test]
    fn a_command_waits_for_its_text_before_the_next_line() {
        let types =
            |text: &str| LineKind::Types { text: text.to_string(), until: "cost".to_string() };
        let parts = story(vec![user("one"), reply(), types("/cost"), user("two"), reply()]);
        let mut script = Script::new(&parts);
        script.follow(0, &[], 0);
        let said_before = "cost what it may\n";
        assert_eq!(script.turn_ended(3, &[], said_before.len()), over("/cost"));
        assert_eq!(script.written(said_before, &[]), None);
        assert_eq!(script.written(&format!("{said_before}cost: 3"), &[]), over("two"));
    }

    #[test]
    fn a_line_among_the_arguments_is_not_typed() {
        let parts = story(vec![user("one"), reply()]);
        let mut script = Script::new(&parts);
        assert_eq!(script.follow(0, &["-p".to_string(), "one".to_string()], 0), None);
        assert_eq!(script.lines_left().count(), 0);
    }

    #[test]
    fn what_was_never_handed_over_is_known() {
        let parts = story(vec![
            user("one"),
            reply(),
            user("two"),
            LineKind::Reply(Box::<Reply>::default()),
        ]);
        let mut script = Script::new(&parts);
        script.follow(0, &[], 0);
        assert_eq!(script.lines_left().map(|line| line.at).collect::<Vec<_>>(), vec![3]);
    }
}
