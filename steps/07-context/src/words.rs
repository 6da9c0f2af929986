//! Reads a shell line the way a shell would, and lists every simple command in it.
//!
//! A rule about `rm` must find `rm` in `git status && \rm x`, in `echo "$(r''m x)"` and in
//! `if true; then rm x; fi`, and must not find it in `grep "rm -rf" notes.md`. So the line is
//! taken apart into words: quotes and escapes are resolved, comments dropped, operators part the
//! commands, and what stands in `$(…)`, backticks and `(…)` is read by the same functions.
//!
//! What the shell would fill in later (`$name`, a substitution, a `*`, `~name`) is unknown here and
//! becomes a [`HOLE`] in the word. Left out on purpose: here-documents, arithmetic, `case`,
//! functions, arrays, `${name…}` with more than a name, and the other extras of bash. The line is
//! then `unclear`, and a person must be asked; the commands read up to there are still listed.

use std::iter::Peekable;
use std::str::Chars;

/// Stands in a word for whatever the shell fills in when it runs the line: perhaps nothing,
/// perhaps an option, perhaps several words. No real word can hold this character. Outside of
/// quotes and behind other text there are two of them: the word may be cut in two there.
pub const HOLE: char = '\0';

/// How deep `$(…)`, `(…)` and backticks may nest before a line counts as unclear.
const DEEPEST: usize = 20;

/// Words that steer the command behind them. One with options (`nice -n 5 make`) leaves an option
/// where the command should be, and nobody takes that for one.
#[rustfmt::skip]
const CONTROL: &[&str] = &[
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!",
    "time", "command", "builtin", "nice", "nohup",
];

/// Words that begin something we do not read.
#[rustfmt::skip]
const UNREAD: &[&str] = &[
    "case", "select", "function", "[[", "coproc",
];

/// One simple command: `sort < a > b` has one word, one read, one write.
/// An assignment (`LANG=C sort`) counts as a command of its own, with one word.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Command {
    pub words: Vec<String>,
    pub reads: Vec<String>,
    pub writes: Vec<String>,
}

/// All commands of a line, nested ones included, and why there may be more in it than these.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Script {
    pub commands: Vec<Command>,
    pub unclear: Option<&'static str>,
}

/// Takes a shell line apart. Never fails: what it cannot read is named in `unclear`.
pub fn read_script(line: &str) -> Script {
    let mut lexer = Lexer { chars: line.chars().peekable(), depth: 0, commands: Vec::new() };
    let unclear = lexer.commands(None).err();
    Script { commands: lexer.commands, unclear }
}

/// `NAME=value`, as it may stand before a command?
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.trim_end_matches('+'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| is_of_name(&c)))
}

fn is_of_name(c: &char) -> bool {
    c.is_ascii_alphanumeric() || *c == '_'
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    depth: usize,
    commands: Vec<Command>,
}

/// The error says what could not be read.
type Read<T> = Result<T, &'static str>;

impl Lexer<'_> {
    /// Reads commands up to `end`: a closing parenthesis, or the end of the text.
    /// An operator of two characters (`&&`) is two separators with an empty command between.
    fn commands(&mut self, end: Option<char>) -> Read<()> {
        self.depth += 1;
        if self.depth > DEEPEST || end.is_some() && self.chars.peek() == Some(&'(') {
            return Err("it is nested too deep, or arithmetic");
        }
        loop {
            let mut command = Command::default();
            let read = self.command(&mut command);
            self.commands.push(command);
            read?;
            match self.chars.next() {
                c if c == end => break,
                None | Some(')') => return Err("a parenthesis has no partner"),
                Some(_) => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads one simple command and stops before the separator that ends it.
    fn command(&mut self, command: &mut Command) -> Read<()> {
        while let Some(c) = self.chars.peek() {
            match c {
                ';' | '&' | '|' | '\n' | ')' => break,
                ' ' | '\t' => _ = self.chars.next(),
                '#' => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '<' | '>' => self.redirection(command)?,
                '(' if command.words.is_empty() => {
                    self.chars.next();
                    self.commands(Some(')'))?;
                }
                _ => {
                    let (word, quoted) = self.word()?;
                    self.place(word, quoted, command)?;
                }
            }
        }
        Ok(())
    }

    /// Decides what a word is: nothing, a control word, an assignment, or a word of the command.
    /// `for x in a b` passes as a command named `for`, which only reads.
    fn place(&mut self, word: String, quoted: bool, command: &mut Command) -> Read<()> {
        let redirected = matches!(self.chars.peek(), Some('<' | '>'));
        let first = command.words.is_empty();
        match word.as_str() {
            "" if !quoted => {}
            w if !quoted && redirected && is_number(w) => {}
            w if !quoted && first && CONTROL.contains(&w) => {}
            w if !quoted && (first && UNREAD.contains(&w) || !first && w == "do") => {
                return Err("one of its control words is not read here");
            }
            w if first && is_assignment(w) => {
                self.commands.push(Command { words: vec![word], ..Command::default() });
            }
            _ => {
                // `for PATH in x` sets a variable as `PATH=x` does. Programs go by those in capitals.
                if command.words == ["for"] && word.contains(|c: char| !c.is_ascii_lowercase()) {
                    let words = vec![format!("{word}=")];
                    self.commands.push(Command { words, ..Command::default() });
                }
                command.words.push(word);
            }
        }
        Ok(())
    }

    fn redirection(&mut self, command: &mut Command) -> Read<()> {
        let of_sign = |c: &char| "<>&|".contains(*c);
        let sign: String = std::iter::from_fn(|| self.chars.next_if(of_sign)).collect();
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let (target, _) = self.word()?;
        match sign.as_str() {
            _ if target.is_empty() => return Err("a redirection leads nowhere"),
            ">&" | "<&" if target == "-" || is_number(&target) => {}
            "<" => command.reads.push(target),
            ">" | ">>" | ">|" | ">&" | "<>" => command.writes.push(target),
            _ => return Err("here-documents are not read here"),
        }
        Ok(())
    }

    /// Reads one word, and says whether any of it was quoted.
    fn word(&mut self) -> Read<(String, bool)> {
        let (mut word, mut quote, mut quoted) = (String::new(), None, false);
        let within = |quote: Option<char>, c: &char| quote.is_some() || !" \t\n;&|<>)".contains(*c);
        let escaped = |c: &char| "$`\"\\".contains(*c);
        while let Some(c) = self.chars.next_if(|c| within(quote, c)) {
            match (c, quote) {
                (_, Some(open)) if c == open => quote = None,
                (_, Some('\'')) => word.push(c),
                ('\\', _) if self.chars.next_if_eq(&'\n').is_some() => continue,
                ('\\', Some(_)) => word.push(self.chars.next_if(escaped).unwrap_or('\\')),
                ('\\', None) => word.extend(self.chars.next()),
                ('$', _) => self.dollar(&mut word, quote.is_some())?,
                ('`', _) => self.backticks(&mut word, quote.is_some())?,
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => return Err("functions and arrays are not read here"),
                ('~', None) if !word.is_empty() => word.push(c),
                // A pattern finds files, and one may be named like an option: `*` finds `-delete`.
                // Where `~name` lies, nobody here can tell.
                ('*' | '?' | '[' | '{' | '~', None) => {
                    // But `[` and `{` are commands, `{}` is a word of `find`, and `~/` is known.
                    let plain = if c == '~' { "/ \t\n;&|<>)" } else { " \t\n}" };
                    let alone = self.chars.peek().is_none_or(|c| plain.contains(*c));
                    word.push(if alone && matches!(c, '[' | '{' | '~') { c } else { HOLE });
                }
                _ => word.push(c),
            }
            quoted |= matches!(c, '\\' | '\'' | '"');
        }
        if quote.is_some() { Err("a quote is not closed") } else { Ok((word, quoted)) }
    }

    /// Reads what a `$` begins.
    fn dollar(&mut self, word: &mut String, in_quotes: bool) -> Read<()> {
        let Some(c) = self.chars.next_if(|c| is_of_name(c) || "({@*#?-$!".contains(*c)) else {
            if !in_quotes && matches!(self.chars.peek(), Some('\'' | '"')) {
                return Err("`$'…'` is not read here");
            }
            word.push('$');
            return Ok(());
        };
        word.push_str(hole_behind(word, in_quotes));
        match c {
            '(' => return self.commands(Some(')')),
            _ => while self.chars.next_if(is_of_name).is_some() {},
        }
        if c == '{' && self.chars.next() != Some('}') {
            return Err("`${…}` with more than a name is not read here");
        }
        Ok(())
    }

    /// What stands between backticks is a line of its own.
    fn backticks(&mut self, word: &mut String, in_quotes: bool) -> Read<()> {
        let in_line = |c: &char| !matches!(c, '`' | '\\');
        let line: String = std::iter::from_fn(|| self.chars.next_if(in_line)).collect();
        if self.chars.next() != Some('`') {
            return Err("backticks are not closed, or hold a backslash");
        }
        word.push_str(hole_behind(word, in_quotes));
        let script = read_script(&line);
        self.commands.extend(script.commands);
        script.unclear.map_or(Ok(()), Err)
    }
}

fn hole_behind(word: &str, in_quotes: bool) -> &'static str {
    if in_quotes || word.is_empty() { "\0" } else { "\0\0" }
}

#[cfg(test)]
#[path = "../tests/words.rs"]
mod tests;
