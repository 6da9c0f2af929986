//! Decides whether a tool call may run: yes, no, or only after a person said so.
//!
//! A call is taken apart into acts: each command of a shell line, each file it names or writes,
//! each variable it sets. The rules of the settings files are asked about every act, deny before
//! ask before allow before the mode. One denied act denies the call, in every mode; every act must
//! be allowed to allow it. What is not understood is asked; where the mode asks nobody, it is
//! refused as soon as a rule could be about it.
//!
//! Deny and ask rules compare loosely (`rm -rf *` binds `/bin/rm -f -r x` and
//! `rm --recursive --force x`), allow rules word by word. What runs another command (`sudo`,
//! `sh -c`, `xargs`) is asked, and so are files that the shell would look up (`cat .e?v`) where a
//! rule is about files. The settings of a project may come from elsewhere: they may only tighten.
//!
//! This is a brake and no cage. A program that was allowed can do what it likes: `cargo test` runs
//! the project's code, `sh x` what is in x. `grep -r` sees the files below a folder whatever they
//! are called, `git show HEAD:.env` what a denied file held, and a path inside an option (`-d@.env`)
//! is not looked at. A shell under a name that no table has (`/usr/bin/dash`) may be fed by a pipe. A
//! file can become a link between the question and the write. Reading is free everywhere unless a
//! rule denies it. For a cage, use the operating system's.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::edit;
use crate::words::{HOLE, read_script};

/// What is to happen with a tool call, and why. The texts are for the screen and for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask(String),
    Deny(String),
}

/// What happens to a call that no rule allows: refuse, ask, ask unless it writes files of the
/// workspace, or let it run. A later one is looser.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    DontAsk,
    #[default]
    Default,
    AcceptEdits,
    BypassPermissions,
}

/// One line of a settings file: `run_shell(cargo test *)`, `edit_file(src/**)`, `write_file`.
struct Rule {
    list: String,
    tool: String,
    pattern: Option<String>,
    /// As a person reads it, with the file it stands in.
    shown: String,
}

/// One thing that a call would do.
enum Act {
    /// Runs a command, or a tool that is not ours.
    Run(Vec<String>),
    /// Uses a file as these tools do.
    File(&'static [&'static str], String),
    Unclear(&'static str),
}

/// The rules of this run, and what the person has allowed since it began.
#[derive(Default)]
pub struct Permissions {
    mode: Mode,
    workspace: PathBuf,
    home: PathBuf,
    rules: Vec<Rule>,
    /// What the settings say and we do not do.
    pub notes: Vec<String>,
    always: Mutex<Vec<String>>,
}

impl Permissions {
    /// Reads `.claude/settings.json` of the user and of the project; a missing file is no error.
    pub fn load(workspace: &Path, home: &Path) -> Result<Self> {
        let (workspace, home) = (resolve(workspace).context("no folder")?, home.to_path_buf());
        let mut permissions = Self { workspace, home, ..Self::default() };
        for (text, danger) in DANGEROUS {
            permissions.rules.push(Rule::parse("danger", text, danger.to_string())?);
        }
        for file in ["~/.claude/settings.json", ".claude/settings.json"] {
            if permissions.at(file).try_exists()? {
                permissions.add(file).with_context(|| format!("{file} is not valid"))?;
            }
        }
        Ok(permissions)
    }

    fn add(&mut self, file: &str) -> Result<()> {
        let settings = fs::read_to_string(self.at(file))?;
        let settings: Map<String, Value> = serde_json::from_str(&settings)?;
        let section = settings.get("permissions").map(Map::<String, Value>::deserialize);
        for (key, value) in section.transpose().context("in `permissions`")?.unwrap_or_default() {
            let wrong = || format!("in `permissions.{key}`");
            let why = self.set(file, &key, &value).with_context(wrong)?;
            let note = |why| format!("`permissions.{key}` {value} in {file} is left out: {why}");
            self.notes.extend(why.map(note));
        }
        Ok(())
    }

    /// Takes over one setting, or says why it is left out. What is of a wrong kind is an error: it
    /// may be there to forbid something.
    fn set(&mut self, file: &str, key: &str, value: &Value) -> Result<Option<&'static str>> {
        let is_own = file.starts_with('~');
        match (key, Mode::deserialize(value)) {
            ("defaultMode", Ok(mode)) if is_own || mode <= self.mode => self.mode = mode,
            ("allow" | "defaultMode", _) if !is_own => return Ok(Some("a project may not loosen")),
            ("allow" | "ask" | "deny", _) => {
                for text in Vec::<String>::deserialize(value)? {
                    let name = text.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                    let is_odd = !TOOLS.iter().any(|(known, _)| Some(*known) == name);
                    match Rule::parse(key, &text, format!("the {key} rule `{text}` in {file}")) {
                        // Without it more is asked, and nothing less.
                        Err(why) if key == "allow" || is_odd => self.notes.push(why.to_string()),
                        rule => self.rules.push(rule?),
                    }
                }
            }
            ("defaultMode", Err(error)) if !value.is_string() => return Err(error.into()),
            _ => return Ok(Some("it is not known here")),
        }
        Ok(None)
    }

    /// May this call run?
    pub fn judge(&self, tool: &str, input: &Value) -> Decision {
        let mut acts = acts_of(tool, input);
        // Nobody can tell what a link to nowhere leads to once the call has run.
        let lost = |a: &Act| matches!(a, Act::File(_, path) if resolve(&self.at(path)).is_none());
        acts.extend(acts.iter().any(lost).then_some(Act::Unclear(FILES)));
        let first = |list| acts.iter().find_map(|act| self.covering(list, tool, act).next());
        if let Some(rule) = first("deny") {
            return Decision::Deny(rule.shown.clone());
        }
        let always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
        if always.contains(&call_name(tool, input)) {
            return Decision::Allow;
        }
        let asked = first("ask").map(|rule| rule.shown.clone());
        let gravest = || acts.iter().filter_map(|act| self.objection(tool, act)).min();
        let is_asking = asked.is_some() || self.mode != Mode::BypassPermissions;
        match asked.or_else(|| Some(gravest()?.1)) {
            None => Decision::Allow,
            Some(why) if is_asking && self.mode != Mode::DontAsk => Decision::Ask(why),
            Some(why) => Decision::Deny(format!("this mode asks nobody, and {why}")),
        }
    }

    /// The answer "always": this command line, or this tool on this file, is not asked again in this
    /// conversation. Deny still binds.
    pub fn allow_always(&self, tool: &str, input: &Value) {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).push(call_name(tool, input));
    }

    pub fn forget(&self) {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What the person is asked: the command, where it would run, what it would change, and why
    /// this is asked.
    pub fn question(&self, tool: &str, input: &Value, why: &str) -> String {
        let (what, folder) = (call_name(tool, input), self.workspace.display());
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        let written = (tool == "write_file").then(|| edit::text_of(&self.at(text("path"))));
        let before = written.unwrap_or_else(|| text("old_text").to_string());
        let change = edit::what_changed(&before, &[text("new_text"), text("content")].concat(), "");
        let diff = change.trim_start_matches("changed ");
        format!("{what}\nin {folder}{diff}\n{why}\nRun it? (a: always, in this conversation)")
    }

    /// For the tools that walk through folders, where nobody can be asked about each file.
    pub fn is_hidden(&self, path: &Path) -> bool {
        let file = Act::File(READERS, path.to_string_lossy().to_string());
        ["deny", "ask"].iter().any(|list| self.covering(list, "", &file).next().is_some())
    }

    /// Why this act may not simply be done; a smaller number is graver. What is dangerous or outside
    /// the workspace must be named by the pattern of an allow rule.
    fn objection(&self, tool: &str, act: &Act) -> Option<(u8, String)> {
        let allowing: Vec<&Rule> = self.covering("allow", tool, act).collect();
        let is_named = allowing.iter().any(|rule| rule.pattern.is_some());
        let is_bypass = self.mode == Mode::BypassPermissions;
        let (shown, is_free) = match act {
            Act::Unclear(what) => {
                // What cannot be read cannot be compared with what is denied.
                let is_about = |rule: &Rule| *what != FILES || EITHER.contains(&&*rule.tool);
                let binds = |rule: &Rule| ["deny", "ask"].contains(&&*rule.list) && is_about(rule);
                let is_grave = self.rules.iter().any(binds) || *what != FILES && !is_bypass;
                return is_grave.then(|| (3, format!("not understood: {what}")));
            }
            _ if is_named || is_bypass => return None,
            Act::File(tools, _) if *tools != WRITERS => return None,
            Act::File(_, path) => (path.clone(), self.mode == Mode::AcceptEdits),
            Act::Run(words) => (words.join(" "), tool == "run_shell" && is_safe(words)),
        };
        let shown = shown.replace("\0\0", "…").replace(HOLE, "…");
        let danger = self.covering("danger", tool, act).next();
        match act {
            _ if danger.is_some() => danger.map(|rule| (1, format!("`{shown}` {}", rule.shown))),
            Act::File(_, path) if !self.is_inside(path) => {
                Some((2, format!("`{shown}` lies outside the workspace")))
            }
            _ if is_free || !allowing.is_empty() => None,
            _ => Some((4, format!("no rule allows `{shown}`"))),
        }
    }

    fn covering(&self, list: &str, tool: &str, act: &Act) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.list == list && self.covers(rule, tool, act))
    }

    fn covers(&self, rule: &Rule, tool: &str, act: &Act) -> bool {
        let Some(pattern) = &rule.pattern else { return rule.tool == tool };
        let allows = rule.list == "allow";
        match act {
            Act::Run(words) if allows => rule.tool == tool && exactly(pattern, words),
            Act::Run(words) => rule.tool == tool && loosely(pattern, words),
            Act::File(by, at) => by.contains(&&*rule.tool) && self.path_fits(pattern, at, allows),
            Act::Unclear(_) => false,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        let below_home = path.strip_prefix("~/").map(|path| self.home.join(path));
        below_home.unwrap_or_else(|| self.workspace.join(path))
    }

    /// False also where nobody can tell.
    fn is_inside(&self, path: &str) -> bool {
        let real = resolve(&self.at(path)).filter(|_| !path.contains([HOLE, '~']));
        real.is_some_and(|path| path.starts_with(&self.workspace))
    }

    /// Compares where two paths lead. What is denied is denied with all that lies below it, and in
    /// capitals too: on some systems that is the same file.
    fn path_fits(&self, pattern: &str, path: &str, allows: bool) -> bool {
        let real = |path: &str| Some(resolve(&self.at(path))?.to_string_lossy().replace('\\', "/"));
        let (Some(pattern), Some(path)) = (real(pattern), real(path)) else { return false };
        let below = format!("{pattern}/**").to_lowercase();
        glob(&pattern, &path, "[^/]*")
            || !allows && glob(&below, &(path + "/").to_lowercase(), "[^/]*")
    }
}

impl Rule {
    fn parse(list: &str, text: &str, shown: String) -> Result<Self> {
        let (name, rest) = text.split_once('(').unwrap_or((text, "*)"));
        let pattern = rest.strip_suffix(')').unwrap_or_default().trim();
        // Theirs begin a path at the project with one `/`, and at the root with two.
        let tool = TOOLS.iter().find(|(known, _)| *known == name).map_or("", |(_, tool)| tool);
        let pattern = pattern.strip_prefix('/').filter(|_| tool != name).unwrap_or(pattern);
        let special = if tool == "run_shell" { SPECIAL } else { GLOBS };
        let is_bad = pattern.is_empty() || pattern.contains(special);
        ensure!(!is_bad && !tool.is_empty(), "{shown} cannot be understood\n{HOW_RULES_LOOK}");
        let pattern = Some(pattern.replace(":*", " *")).filter(|pattern| pattern != "*");
        Ok(Self { list: list.into(), tool: tool.into(), pattern, shown })
    }
}

/// Everything that a call would do, as far as can be told.
fn acts_of(tool: &str, input: &Value) -> Vec<Act> {
    let path = input["path"].as_str().unwrap_or(".").to_string();
    match tool {
        "run_shell" => acts_of_line(input["command"].as_str().unwrap_or_default()),
        _ if READERS.contains(&tool) => vec![Act::File(READERS, path)],
        _ if WRITERS.contains(&tool) => vec![Act::File(WRITERS, path)],
        _ => vec![Act::Run(vec![tool.to_string()])],
    }
}

fn acts_of_line(line: &str) -> Vec<Act> {
    let script = read_script(line);
    let mut acts: Vec<Act> = script.unclear.map(Act::Unclear).into_iter().collect();
    for command in script.commands {
        let is_lost = command.reads.iter().chain(&command.writes).any(|path| path.contains(HOLE));
        acts.extend(is_lost.then_some(Act::Unclear("which file it reads or writes")));
        acts.extend(command.reads.into_iter().map(|path| Act::File(READERS, path)));
        let writes = command.writes.into_iter().filter(|path| !DEVICES.contains(&path.as_str()));
        acts.extend(writes.map(|path| Act::File(WRITERS, path)));
        let Some(name) = command.words.first() else { continue };
        let is_in = |table: &[&str]| table.iter().any(|pattern| exactly(pattern, &command.words));
        let is_unseen = UNSEEN.iter().any(|p| loosely(p, &command.words)) && !is_in(READING_XARGS);
        let is_veiled = name.contains(HOLE) || name.starts_with('-') || is_unseen || is_in(FED);
        acts.extend(is_veiled.then_some(Act::Unclear("which command runs in the end")));
        let is_open = command.words[1..].iter().any(|word| word.contains(HOLE));
        let is_elsewhere = is_in(MOVES) || is_open && !is_in(WORDS_ONLY);
        acts.extend(is_elsewhere.then_some(Act::Unclear(FILES)));
        // A rule about a file also covers a command that names the file.
        let tools = if is_safe(&command.words) { READERS } else { EITHER };
        acts.push(Act::Run(command.words.clone()));
        acts.extend(command.words.into_iter().skip(1).map(|word| Act::File(tools, word)));
    }
    acts
}

/// A command that only reads. That no option makes it write is seen to by what is dangerous.
fn is_safe(words: &[String]) -> bool {
    SAFE.iter().chain(READING_XARGS).any(|pattern| exactly(pattern, words))
}

/// For allow rules: word by word. A `*` at the end stands for any further words.
fn exactly(pattern: &str, words: &[String]) -> bool {
    let wanted: Vec<&str> = pattern.split_whitespace().collect();
    let begin = wanted.strip_suffix(&["*"]).unwrap_or(&wanted);
    let is_open = begin.len() < wanted.len();
    (words.len() == begin.len() || words.len() > begin.len() && is_open)
        && begin.iter().zip(words).all(|(wanted, word)| glob(wanted, word, ".*"))
}

/// For deny and ask rules: the same program, at least these options in any spelling, and operands
/// that begin like these.
fn loosely(pattern: &str, words: &[String]) -> bool {
    let pattern = pattern.trim_end_matches(" *").split_whitespace().map(String::from);
    let (flags, wanted) = take_apart(&pattern.collect::<Vec<_>>());
    let (given, operands) = take_apart(words);
    let may_be = |wanted: &String, word: &String| word.contains(HOLE) || glob(wanted, word, ".*");
    // Long options may be shortened.
    let begins = |flag: &String, word: &String| word.len() > 2 && flag.starts_with(word.as_str());
    let is_given = |flag: &String| given.iter().any(|w| may_be(flag, w) || begins(flag, w));
    !words[0].contains(HOLE)
        && operands.len() >= wanted.len()
        && wanted.iter().zip(&operands).all(|(wanted, word)| may_be(wanted, word))
        && flags.iter().all(is_given)
}

/// A command's options, in single letters where they may be that (`--recursive` and `-R` as `-r`),
/// and its name with its operands.
fn take_apart(words: &[String]) -> (Vec<String>, Vec<String>) {
    let name = base_name(&words[0]);
    let (mut flags, mut operands) = (Vec::new(), vec![name.clone()]);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let (option, value) = word.split_once('=').map_or((&**word, None), |(o, v)| (o, Some(v)));
        let long = LONG.iter().find(|(long, _)| option.len() > 2 && long.starts_with(option));
        let option = long.map_or(option, |(_, short)| short).replace('R', "r");
        if operands.len() == 1 && VALUED.contains(&format!("{name} {option}").as_str()) {
            // Behind `=` the value is here already.
            _ = value.is_none().then(|| rest.next());
        } else if operands.len() == 1 && word.starts_with('+') {
            // `cargo +nightly` and the like: which tools, and not what they do.
        } else if !option.starts_with('-') {
            operands.push(word.clone());
            // What the shell fills in may be cut into words, and an option be among them.
            flags.extend(Some(option).filter(|o| o.starts_with(HOLE) || o.contains("\0\0")));
        } else if option.starts_with("--") {
            flags.push(option);
        } else {
            flags.extend(option[1..].chars().map(|letter| format!("-{letter}")));
            flags.extend(Some(option).filter(|option| option.len() > 4));
        }
    }
    (flags, operands)
}

/// Where a path leads: without `..`, with the links of its existing part followed. `None` for a
/// link to something that does not exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = resolved.pop(),
            part => resolved.push(part),
        }
        if resolved.symlink_metadata().is_ok_and(|kind| kind.is_symlink()) {
            resolved = resolved.canonicalize().ok()?;
        }
    }
    Some(resolved)
}

/// Does the text look like the pattern? `**` stands for anything, `*` for `star`.
fn glob(pattern: &str, text: &str, star: &str) -> bool {
    let Some((begin, _)) = pattern.split_once('*') else { return pattern == text };
    let regex = regex::escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*\*", ".*");
    let regex = format!("(?s)^{}$", regex.replace(r"\*", star));
    // To compile takes far longer than to look first, and a line may hold thousands of words.
    text.starts_with(begin) && Regex::new(&regex).is_ok_and(|regex| regex.is_match(text))
}

/// For deny rules every `rm` is `rm`, wherever it lies, and `RM` too, as on macOS and Windows.
fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    name.trim_end_matches(".exe").to_string()
}

/// What an "always" is about: the tool with its command line, its file, or else its whole input.
fn call_name(tool: &str, input: &Value) -> String {
    let text = input["command"].as_str().or(input["path"].as_str());
    text.map_or_else(|| format!("{tool} {input}"), |text| format!("{tool} {text}"))
}

// The tables. They are knowledge, not mechanism: add to them what you miss.

const READERS: &[&str] = &["read_file", "list_files", "grep_search"];
const WRITERS: &[&str] = &["edit_file", "write_file"];
const EITHER: &[&str] = &["read_file", "list_files", "grep_search", "edit_file", "write_file"];

const HOW_RULES_LOOK: &str = "\
    write a tool's name alone, one command in plain words as in `run_shell(cargo test *)`, or files \
    as in `edit_file(src/**)`, where `*` and `**` are the only signs";

/// Of no matter where no rule is about files.
const FILES: &str = "which files it names";

/// The tools that a rule may name, and names that Claude Code gives to tools like ours.
#[rustfmt::skip]
const TOOLS: &[(&str, &str)] = &[
    ("run_shell", "run_shell"), ("read_file", "read_file"), ("list_files", "list_files"), ("grep_search", "grep_search"),
    ("edit_file", "edit_file"), ("write_file", "write_file"), ("Bash", "run_shell"), ("Read", "read_file"), ("Edit", "edit_file"), ("MultiEdit", "edit_file"),
    ("Write", "write_file"), ("Glob", "list_files"), ("LS", "list_files"), ("Grep", "grep_search"),
];

/// What would be more than plain words in a rule about commands.
const SPECIAL: &[char] = &['|', '&', ';', '<', '>', '\'', '"', '\\', '`', '$', '(', ')'];

/// What would bind nothing in a rule about files, though it does elsewhere.
const GLOBS: &[char] = &['?', '[', '{'];

/// Files that may be written at any time.
const DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Long options that mean the same as a letter.
const LONG: &[(&str, &str)] = &[("--recursive", "-r"), ("--force", "-f")];

/// Options with a value that may stand before the subcommand.
#[rustfmt::skip]
const VALUED: &[&str] = &[
    "git -C", "git -c", "git --git-dir", "git --work-tree", "git --namespace", "git --exec-path", "git --config-env",
    "cargo -C", "cargo -Z", "cargo --config", "cargo --color", "cargo --manifest-path", "npm --prefix", "npm -w",
    "npm --workspace", "pnpm -C", "pnpm --dir", "yarn --cwd", "make -C", "make -f", "make -I",
    "docker -H", "docker --host", "docker -c", "docker --context", "docker --config",
    "kubectl -n", "kubectl --namespace", "kubectl --context", "kubectl --kubeconfig", "gh -r", "gh --repo",
    "aws --profile", "aws --region", "aws --output", "systemctl -H", "systemctl -M",
];

/// Commands behind which a path begins elsewhere, or that are told the paths only when they run.
#[rustfmt::skip]
const MOVES: &[&str] = &[
    "cd *", "pushd *", "popd *", "xargs *",
];

/// Commands that open no file, whatever the shell puts there.
#[rustfmt::skip]
const WORDS_ONLY: &[&str] = &[
    "for *", "echo *", "printf *", "test *", "[ *", "basename *", "dirname *", "seq *", "sleep *", "exit *", "kill *",
    "date *", "ls *", "ps *", "cargo test *", "cargo build *", "git commit -m *", "git log *", "mkdir *",
];

/// What runs, without a script, what comes in from a pipe.
#[rustfmt::skip]
const FED: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash", "sh -*", "bash -*",
    "dash -*", "zsh -*", "/bin/sh -*", "/bin/bash -*", "bash -o *", "sh -o *", "zsh -o *",
    "python", "python3", "perl", "ruby", "node", "php", "lua", "/usr/bin/python3", "/usr/bin/perl",
    "python -", "python3 -", "perl -", "ruby -", "node -", "python -u", "python3 -u", "python3 -i",
    "psql", "mysql", "sqlite3 *",
];

/// Commands that run another which stands in their arguments, or change what the names behind them
/// mean. Reading on would take their options one by one; a person is asked instead.
#[rustfmt::skip]
const UNSEEN: &[&str] = &[
    "chroot", "alias", "trap", "eval", "exec", "source", ".", "hash", "enable",
    "sh -c", "bash -c", "dash -c", "zsh -c", "ksh -c", "ash -c", "fish -c",
    "env", "command", "builtin", "time", "nice", "nohup", "ionice", "timeout", "stdbuf", "setsid", "unshare",
    "nsenter", "strace", "ltrace", "watch", "flock", "caffeinate", "busybox", "toybox", "parallel", "taskset",
    "prlimit", "systemd-run", "git bisect run", "sh -s", "bash -s", "dash -s", "zsh -s", "sh /dev/stdin",
    "bash /dev/stdin", "python /dev/stdin", "python3 /dev/stdin", "chrt", "unbuffer", "entr", "xargs", "sudo", "doas", "su", "pkexec", "runuser", "script", "expect",
    "find -exec", "find -execdir", "find -ok", "find -okdir", "fd -x", "fd -X", "fd --exec", "fd --exec-batch",
];

/// What `xargs` may run without a question: no option that the files' names could turn into does
/// any harm.
#[rustfmt::skip]
const READING_XARGS: &[&str] = &[
    "xargs grep *", "xargs wc *", "xargs cat *", "xargs ls *", "xargs head *", "xargs tail *", "xargs echo *",
    "xargs -0 grep *", "xargs -0 wc *", "xargs -0 cat *", "xargs -0 ls *", "xargs -0 head *",
    "xargs -n1 grep *", "xargs -n 1 echo *", "xargs -r grep *",
];

/// Commands that only read, unless one of their options is in the table of what is dangerous.
#[rustfmt::skip]
const SAFE: &[&str] = &[
    // words and places
    "for *", "true", "false", ":", "echo *", "printf *", "pwd", "test *", "[ *", "exit *", "sleep *", "basename *",
    "dirname *", "realpath *", "readlink *", "seq *",
    // files
    "cat *", "head *", "tail *", "wc *", "ls *", "stat *", "file *", "du *", "df *", "nl *", "tac *", "rev *", "cut *",
    "tr *", "fold *", "column *", "paste *", "join *", "comm *", "cmp *", "diff *", "sort *", "uniq", "uniq -c",
    "uniq -d", "uniq -u", "md5sum *", "sha1sum *", "sha256sum *", "shasum *", "cksum *", "od *", "hexdump *", "xxd",
    "strings *", "tree *", "find *", "fd *",
    // search
    "grep *", "egrep *", "fgrep *", "zgrep *", "rg *", "jq *",
    // the machine
    "date", "date +*", "cal *", "id *", "whoami", "groups *", "uname *", "hostname", "uptime", "free *", "ps *",
    "pgrep *", "nproc", "getconf *", "locale *", "which *", "whereis *", "type *", "printenv *",
    // git, without options before the subcommand: `-c` and `-C` can bring in programs
    "git status *", "git log *", "git diff *", "git show *", "git shortlog *", "git blame *", "git grep *",
    "git --no-pager log *", "git --no-pager diff *", "git --no-pager show *", "git stash list *", "git stash show *",
    "git reflog", "git ls-files *", "git ls-tree *", "git rev-parse *", "git rev-list *", "git describe *",
    "git merge-base *", "git show-ref *", "git for-each-ref *", "git cat-file *", "git worktree list *",
    "git branch", "git branch -a", "git branch -r", "git branch -v", "git branch -vv", "git branch --list *",
    "git branch --show-current", "git tag", "git tag -l *", "git tag --list *", "git remote", "git remote -v",
    "git remote get-url *", "git config --get *", "git config --list", "git --version", "git version",
    // versions
    "cargo --version", "rustc --version", "node --version", "npm --version", "python --version",
    "python3 --version", "go version",
    // variables; others (PATH, LD_PRELOAD, GIT_PAGER) can run things
    "RUST_BACKTRACE=*", "RUST_LOG=*", "CARGO_TERM_COLOR=*", "NO_COLOR=*", "FORCE_COLOR=*", "CLICOLOR=*", "LANG=*",
    "LC_ALL=*", "LC_COLLATE=*", "LC_CTYPE=*", "TZ=*", "CI=*", "TERM=*", "COLUMNS=*", "NODE_ENV=*",
    "PYTHONUNBUFFERED=*", "GIT_TERMINAL_PROMPT=*",
];

/// What an allow rule for the bare tool does not cover, and why; in the form of deny rules.
#[rustfmt::skip]
const DANGEROUS: &[(&str, &str)] = &[
    // options with which a reading command writes, or runs something
    ("run_shell(find -delete)", "deletes what it finds"), ("run_shell(find -fprint)", "writes a file"),
    ("run_shell(find -fprintf)", "writes a file"), ("run_shell(find -fprint0)", "writes a file"),
    ("run_shell(find -fls)", "writes a file"),
    ("run_shell(sort -o)", "writes a file"), ("run_shell(sort --output)", "writes a file"),
    ("run_shell(sort --compress-program)", "runs a program"), ("run_shell(tree -o)", "writes a file"),
    ("run_shell(diff -l)", "runs a program"), ("run_shell(diff --paginate)", "runs a program"),
    ("run_shell(file -C)", "writes a file"), ("run_shell(file --compile)", "writes a file"),
    ("run_shell(printf -v)", "sets a variable"), ("run_shell(date -s)", "sets the clock"),
    ("run_shell(rg --pre)", "runs a program"), ("run_shell(rg --hostname-bin)", "runs a program"),
    ("run_shell(git log --output)", "writes a file"), ("run_shell(git diff --output)", "writes a file"),
    ("run_shell(git show --output)", "writes a file"), ("run_shell(git shortlog --output)", "writes a file"),
    ("run_shell(git stash show --output)", "writes a file"), ("run_shell(git stash list --output)", "writes a file"),
    ("run_shell(git log --ext-diff)", "runs a program"), ("run_shell(git diff --ext-diff)", "runs a program"),
    ("run_shell(git show --ext-diff)", "runs a program"), ("run_shell(git stash show --ext-diff)", "runs a program"),
    ("run_shell(git log --textconv)", "runs a program"), ("run_shell(git diff --textconv)", "runs a program"),
    ("run_shell(git show --textconv)", "runs a program"), ("run_shell(git blame --textconv)", "runs a program"),
    ("run_shell(git cat-file --textconv)", "runs a program"), ("run_shell(git cat-file --filters)", "runs a program"),
    ("run_shell(git grep -O)", "runs a program"), ("run_shell(git grep --open-files-in-pager)", "runs a program"),
    ("run_shell(git grep --textconv)", "runs a program"),
    ("run_shell(git config --unset)", "changes git"), ("run_shell(git config --add)", "changes git"),
    ("run_shell(git config --replace-all)", "changes git"), ("run_shell(git config --edit)", "changes git"),
    ("run_shell(git branch --list -D)", "deletes a branch"), ("run_shell(git tag -d)", "deletes a tag"),
    // files that steer git or this agent
    ("edit_file(**/.git)", "steers git"), ("edit_file(**/.claude)", "steers this agent"),
    // commands
    ("run_shell(rm -r)", "deletes whole folders, with no way back"), ("run_shell(rm -f)", "deletes without a question"),
    ("run_shell(shred)", "destroys files"), ("run_shell(truncate)", "cuts files off"), ("run_shell(wipefs)", "destroys a disk"),
    ("run_shell(dd)", "can overwrite a disk"), ("run_shell(mkfs*)", "formats a disk"), ("run_shell(fdisk)", "changes partitions"),
    ("run_shell(parted)", "changes partitions"), ("run_shell(diskutil)", "changes disks"), ("run_shell(mkswap)", "overwrites a disk"),
    ("run_shell(chmod -R)", "changes rights in a whole tree"), ("run_shell(chown -R)", "changes owners in a whole tree"),
    ("run_shell(shutdown)", "stops the machine"), ("run_shell(reboot)", "stops the machine"), ("run_shell(halt)", "stops the machine"),
    ("run_shell(poweroff)", "stops the machine"), ("run_shell(init)", "stops the machine"),
    ("run_shell(kill -9)", "ends processes at once"), ("run_shell(killall)", "ends processes by name"), ("run_shell(pkill)", "ends processes by name"),
    ("run_shell(git push --force)", "rewrites history that others have"), ("run_shell(git push --force-with-lease)", "rewrites history that others have"),
    ("run_shell(git push --delete)", "deletes a branch that others have"), ("run_shell(git push -d)", "deletes a branch that others have"),
    ("run_shell(git push --mirror)", "overwrites all that others have"),
    ("run_shell(git reset --hard)", "throws away changes"), ("run_shell(git clean)", "deletes files that git does not know"),
    ("run_shell(git checkout .)", "throws away changes"), ("run_shell(git checkout -f)", "throws away changes"),
    ("run_shell(git checkout --)", "throws away changes"), ("run_shell(git restore)", "throws away changes"),
    ("run_shell(git stash drop)", "throws away changes"), ("run_shell(git stash clear)", "throws away changes"),
    ("run_shell(git branch -D)", "deletes a branch, merged or not"), ("run_shell(git filter-branch)", "rewrites history"),
    ("run_shell(git update-ref)", "rewrites history"),
    ("run_shell(sh)", "runs a script, or what is piped into it"), ("run_shell(bash)", "runs a script, or what is piped into it"),
    ("run_shell(zsh)", "runs a script, or what is piped into it"), ("run_shell(dash)", "runs a script, or what is piped into it"),
    ("run_shell(python -c)", "runs code"), ("run_shell(python3 -c)", "runs code"), ("run_shell(perl -e)", "runs code"),
    ("run_shell(ruby -e)", "runs code"), ("run_shell(node -e)", "runs code"), ("run_shell(awk)", "can run commands"),
    ("run_shell(crontab)", "changes what runs later"), ("run_shell(at)", "runs something later"), ("run_shell(systemctl)", "changes services"),
    ("run_shell(launchctl)", "changes services"), ("run_shell(iptables)", "changes the firewall"), ("run_shell(ufw)", "changes the firewall"),
    ("run_shell(passwd)", "changes a password"), ("run_shell(useradd)", "changes users"), ("run_shell(userdel)", "changes users"),
    ("run_shell(visudo)", "changes rights"), ("run_shell(npm publish)", "publishes"), ("run_shell(cargo publish)", "publishes"),
    ("run_shell(twine upload)", "publishes"), ("run_shell(gh release)", "publishes"), ("run_shell(gh repo delete)", "deletes a repository"),
    ("run_shell(docker system prune)", "deletes containers and images"), ("run_shell(docker volume rm)", "deletes data"),
    ("run_shell(kubectl delete)", "deletes in a cluster"), ("run_shell(terraform destroy)", "destroys what runs"),
    ("run_shell(terraform apply)", "changes what runs"), ("run_shell(aws s3 rm)", "deletes in the cloud"),
    ("run_shell(aws s3 rb)", "deletes in the cloud"), ("run_shell(dropdb)", "deletes a database"), ("run_shell(redis-cli flushall)", "deletes a database"),
    ("run_shell(nc)", "opens a connection"), ("run_shell(ncat)", "opens a connection"), ("run_shell(scp)", "sends files away"),
    ("run_shell(ssh)", "runs on another machine"), ("run_shell(history -c)", "hides what was done"), ("run_shell(mount)", "changes the file system"),
    ("run_shell(umount)", "changes the file system"), ("run_shell(sysctl)", "changes the kernel"), ("run_shell(insmod)", "changes the kernel"),
    ("run_shell(modprobe)", "changes the kernel"),
];

#[cfg(test)]
#[path = "../tests/permissions.rs"]
mod tests;

#[cfg(test)]
#[path = "../tests/commands.rs"]
mod commands;
