//! The tools: what the model may call, and what happens when it does.
//!
//! A tool is offered with a schema of its arguments, and a call is checked against that schema
//! before anything runs. A call that cannot be carried out is an error the model can act on: it
//! names the thing and says what would do. Every result is bounded, and says what it leaves out;
//! so is what we read for it, since a file may be larger than our memory.
//!
//! Who may call what is asked before a call comes here, except that files which must not be read are
//! neither listed nor searched.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Take, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use regex::Regex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::edit::{Edits, hash_of};
use crate::message::UNREADABLE;
use crate::permissions::Permissions;
use crate::shell;

/// Bytes of any result, or error. It is more than a command may print: what is too long for the
/// window goes to disk whole, and only what no tool should say is cut here.
const MAX_RESULT: usize = 1_100_000;
/// Bytes of one `read_file`. More would go to disk, where the file is already.
const MAX_READ: usize = 28_000;
/// Lines of one `read_file`, unless the model asks for fewer or more.
const USUAL_LINES: u64 = 2_000;
/// Files of one `list_files`.
const MAX_FILES: usize = 500;
/// Matches shown by one `grep_search` (all are counted), and characters of each.
const MAX_MATCHES: usize = 100;
const MAX_MATCH_CHARS: usize = 300;
/// Bytes of one file that `grep_search` and `read_file` look at.
const MAX_SEARCHED: u64 = 20_000_000;
/// Time for walking through the files, and for searching them.
const SEARCH_TIME: Duration = Duration::from_secs(20);
/// Names shown of what stands beside a missing file.
const MAX_NEIGHBOURS: usize = 20;
/// A file with a zero byte in this many at its beginning is no text. Git judges by the same.
const BINARY_PROBE: usize = 8_000;

/// A tool as the model is told of it.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

pub struct Tools {
    root: PathBuf,
    edits: Edits,
    pub permissions: Permissions,
    offered: Vec<Tool>,
    search_time: Duration,
}

impl Tools {
    /// Tools that work in this folder, under the rules that the settings hold.
    pub fn load(root: &Path, home: &Path) -> Result<Self> {
        let permissions = Permissions::load(root, home)?;
        Ok(Self { permissions, ..Self::new(root.to_path_buf()) })
    }

    /// Tools that work in this folder, and ask about whatever changes anything.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            edits: Edits::default(),
            permissions: Permissions::default(),
            offered: TOOLS.iter().map(as_offered).collect(),
            search_time: SEARCH_TIME,
        }
    }

    pub fn offered(&self) -> &[Tool] {
        &self.offered
    }

    /// Calls of these tools change nothing, so they may run side by side.
    pub fn only_reads(name: &str) -> bool {
        matches!(name, "list_files" | "read_file" | "grep_search")
    }

    /// Carries out one call. The error is for the model.
    pub async fn run(&self, name: &str, input: &Value) -> Result<String> {
        if let Some(wrong) = input.get(UNREADABLE) {
            let wrong = wrong.as_str().map_or_else(|| wrong.to_string(), String::from);
            bail!("the arguments of {name} are no JSON object\nyou wrote: {wrong}");
        }
        let Some(tool) = self.offered.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = self.offered.iter().map(|tool| tool.name.as_str()).collect();
            bail!("there is no tool {name}\nthere are: {}", names.join(", "));
        };
        check_input(tool, input)?;
        match name {
            "list_files" => self.list_files(input),
            "read_file" => self.read_file(input),
            "write_file" => self.write_file(input),
            "edit_file" => self.edit_file(input),
            "grep_search" => self.grep_search(input),
            "run_shell" => self.run_shell(input).await,
            _ => bail!("{name} is offered, but nothing here runs it"),
        }
    }

    fn list_files(&self, input: &Value) -> Result<String> {
        let started = Instant::now();
        let mut files = self.files_below(input, started)?;
        let mut lines: Vec<String> =
            files.by_ref().take(MAX_FILES).map(|path| self.name_of(&path)).collect();
        if lines.is_empty() {
            lines.push("[no files; hidden and ignored ones are not listed]".to_string());
        }
        if files.next().is_some() {
            lines.push(format!("[there are more than these {MAX_FILES}; use `path` or `glob`]"));
        }
        lines.extend(self.out_of_time(started));
        Ok(lines.join("\n"))
    }

    /// The lines asked for, as they stand: no line numbers, so that a piece can be copied.
    fn read_file(&self, input: &Value) -> Result<String> {
        let name = text(input, "path");
        let first = input["offset"].as_u64().unwrap_or(1).max(1);
        let limit = input["limit"].as_u64().unwrap_or(USUAL_LINES).max(1);
        let path = self.root.join(name);
        // Before the reading: a change that comes while we read must count as one since.
        let hash = Edits::hash_of_file(&path);
        let mut file = open_text(&path, name)?.take(MAX_SEARCHED);
        skip_lines(&mut file, first, name)?;
        let mut bytes = Vec::new();
        let mut next = first;
        while next - first < limit && bytes.len() < MAX_READ {
            let room = (MAX_READ - bytes.len()) as u64;
            if file.by_ref().take(room).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            next += 1;
        }
        let goes_on = !file.fill_buf()?.is_empty() || file.limit() == 0;
        self.edits.note(&path, hash, first == 1 && !goes_on);
        Ok(readable(bytes, first, next, goes_on))
    }

    fn write_file(&self, input: &Value) -> Result<String> {
        let (name, content) = (text(input, "path"), text(input, "content"));
        let path = self.root.join(name);
        if path.exists() {
            return self.edits.rewrite(&path, name, content);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| explained(error, folder, name))?;
        }
        // A file that someone made a moment ago is not overwritten.
        File::create_new(&path)
            .and_then(|mut file| file.write_all(content.as_bytes()))
            .map_err(|error| explained(error, &path, name))?;
        self.edits.note(&path, Some(hash_of(content.as_bytes())), true);
        Ok(format!("wrote {name}: {} lines", content.lines().count()))
    }

    fn edit_file(&self, input: &Value) -> Result<String> {
        let (name, old) = (text(input, "path"), text(input, "old_text"));
        self.edits.replace(&self.root.join(name), name, old, text(input, "new_text"))
    }

    /// Counts all matches, shows the first ones as `path:line:text`.
    fn grep_search(&self, input: &Value) -> Result<String> {
        let regex = Regex::new(text(input, "pattern")).context("`pattern` is not a regex")?;
        let started = Instant::now();
        let (mut shown, mut notes) = (Vec::new(), Vec::new());
        let (mut matches, mut files) = (0, 0);
        for path in self.files_below(input, started)? {
            let name = self.name_of(&path);
            // A binary file, or one that may not be read, holds nothing we could show.
            let Ok(file) = open_text(&path, &name) else { continue };
            let found = search(file, &regex, &name, &mut shown);
            matches += found;
            files += usize::from(found > 0);
            if path.metadata().is_ok_and(|file| file.len() > MAX_SEARCHED) {
                notes.push(format!("[{name}: only its first {MAX_SEARCHED} bytes were searched]"));
            }
        }
        if matches > shown.len() {
            notes.push(format!("[only the first {MAX_MATCHES} are shown]"));
        }
        notes.extend(self.out_of_time(started));
        let counts = format!("matching lines: {matches}, files: {files}");
        Ok([vec![counts], shown, notes].concat().join("\n"))
    }

    async fn run_shell(&self, input: &Value) -> Result<String> {
        let time = input["timeout_ms"].as_u64().unwrap_or(shell::USUAL_TIME);
        let limit = Duration::from_millis(time.min(shell::LONGEST_TIME));
        shell::run_shell(&self.root, text(input, "command"), limit).await
    }

    /// The files below `path` that match `glob`, sorted, without hidden and ignored ones, until
    /// the time is up.
    fn files_below(
        &self,
        input: &Value,
        started: Instant,
    ) -> Result<impl Iterator<Item = PathBuf>> {
        let name = input["path"].as_str().unwrap_or(".");
        // Without `.`, which a glob such as `src/*.rs` would not match.
        let path: PathBuf = self.root.join(name).components().collect();
        fs::metadata(&path).map_err(|error| explained(error, &path, name))?;
        let mut globs = OverrideBuilder::new(&self.root);
        if let Some(glob) = input["glob"].as_str() {
            globs.add(glob).with_context(|| format!("`glob` cannot be understood: {glob}"))?;
        }
        let globs = globs.build()?;
        let walk = WalkBuilder::new(path)
            .require_git(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .build();
        // A folder that may not be read is skipped, like an ignored one.
        let time = self.search_time;
        let in_time = walk.flatten().take_while(move |_| started.elapsed() <= time);
        // Nor is a link: it may lead out of the project, and what it leads to within has a name.
        let files = in_time.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        Ok(files
            .map(ignore::DirEntry::into_path)
            .filter(move |path| !globs.matched(path, false).is_ignore())
            .filter(|path| !self.permissions.is_hidden(path)))
    }

    fn out_of_time(&self, started: Instant) -> Option<String> {
        let time = self.search_time;
        (started.elapsed() > time)
            .then(|| format!("[stopped after {time:?}: not all was seen; use `path` or `glob`]"))
    }

    /// A path as the model writes it: from the root, with `/` on every platform.
    fn name_of(&self, path: &Path) -> String {
        let Ok(path) = path.strip_prefix(&self.root) else { return path.display().to_string() };
        let parts = path.iter().filter(|part| *part != ".").map(|part| part.to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    }
}

/// The matching lines of one file: counted, and the first ones of the whole search shown.
fn search(file: BufReader<File>, regex: &Regex, name: &str, shown: &mut Vec<String>) -> usize {
    let mut found = 0;
    // A read error ends the file; what was found before it still counts.
    let lines = file.take(MAX_SEARCHED).split(b'\n').map_while(io::Result::ok);
    for (index, line) in lines.enumerate() {
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\r');
        if !regex.is_match(line) {
            continue;
        }
        found += 1;
        if shown.len() < MAX_MATCHES {
            let cut: String = line.chars().take(MAX_MATCH_CHARS).collect();
            let more = if cut.len() < line.len() { " [line is cut]" } else { "" };
            shown.push(format!("{name}:{}:{cut}{more}", index + 1));
        }
    }
    found
}

/// What the model gets of a text.
pub fn bounded(mut text: String) -> String {
    if text.len() > MAX_RESULT {
        text.truncate(shell::whole_characters(&text.as_bytes()[..MAX_RESULT]));
        text += "\n[cut here: this is too long; ask for less]";
    }
    text
}

/// Goes to the line `first`, counted from 1. There must be one, unless the file is empty.
fn skip_lines(file: &mut Take<BufReader<File>>, first: u64, name: &str) -> Result<()> {
    for _ in 1..first {
        file.skip_until(b'\n')?;
    }
    if first > 1 && file.fill_buf()?.is_empty() {
        bail!("`{name}` has no line {first} in its first {MAX_SEARCHED} bytes\nbegin further up");
    }
    Ok(())
}

/// Opens a file that is there, is a file, and is text; anything else has its own error.
fn open_text(path: &Path, name: &str) -> Result<BufReader<File>> {
    must_be_a_file(path, name)?;
    let file = File::open(path).map_err(|error| explained(error, path, name))?;
    let mut file = BufReader::with_capacity(BINARY_PROBE, file);
    let start = file.fill_buf().map_err(|error| explained(error, path, name))?;
    if start.contains(&0) {
        bail!("`{name}` is a binary file, not text\nrun_shell may have a program that reads it");
    }
    if start.starts_with("\u{feff}".as_bytes()) {
        // A byte-order mark belongs to the file and not to its text.
        file.consume("\u{feff}".len());
    }
    Ok(file)
}

/// A pipe or a device would make us wait for ever, so it is refused before it is opened.
pub fn must_be_a_file(path: &Path, name: &str) -> Result<()> {
    let kind = fs::metadata(path).map_err(|error| explained(error, path, name))?;
    if kind.is_dir() {
        bail!("`{name}` is a folder, not a file\nlist_files shows what is in it");
    }
    if !kind.is_file() {
        bail!("`{name}` is a pipe or a device, not a file");
    }
    Ok(())
}

/// An error of the system in words that the model can act on.
pub fn explained(error: io::Error, path: &Path, name: &str) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no `{name}`\n{}", neighbours(path)),
        io::ErrorKind::PermissionDenied => {
            anyhow!("no permission for `{name}`\nask the user to grant it, or go without it")
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            anyhow!("`{name}`: a file stands where that would go\nchoose another path")
        }
        _ => anyhow!("`{name}`: {error}"),
    }
}

/// What does stand where the missing file was looked for: most often the name is nearly right.
fn neighbours(path: &Path) -> String {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let Some(entries) = entries else {
        return "its folder is not there either; list_files shows what is".to_string();
    };
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.flatten().take(MAX_NEIGHBOURS + 1).map(name).collect();
    let more = if names.len() > MAX_NEIGHBOURS { ", and more" } else { "" };
    names.truncate(MAX_NEIGHBOURS);
    names.sort();
    format!("its folder holds: {}{more}", names.join(", "))
}

/// What was read as text, with a last line that says how to read on where that is not all.
fn readable(mut bytes: Vec<u8>, first: u64, mut next: u64, goes_on: bool) -> String {
    if bytes.is_empty() {
        return "[the file is empty]".to_string();
    }
    let mut note = String::new();
    if goes_on {
        let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole_lines > 0 {
            next -= u64::from(whole_lines < bytes.len());
            bytes.truncate(whole_lines);
        } else {
            bytes.truncate(shell::whole_characters(&bytes));
            note = format!("\n[line {first} is longer and cut here]\n");
        }
        note += &format!("[the file goes on; read it from line {next} with `offset`]");
    }
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n") + &note
}

/// Holds a call's arguments against the tool's schema. The error names the field and what it takes.
fn check_input(tool: &Tool, input: &Value) -> Result<()> {
    let fields = tool.input_schema["properties"].as_object().context("a schema has properties")?;
    let given = input.as_object().context("the arguments must be an object")?;
    let required = tool.input_schema["required"].as_array().context("a schema has required")?;
    let is_required = |name: &str| required.iter().any(|field| field == name);
    let described = |(name, field): (&String, &Value)| {
        let optional = if is_required(name) { "" } else { ", optional" };
        format!("`{name}` ({}{optional})", field["type"].as_str().unwrap_or("any"))
    };
    let takes = fields.iter().map(described).collect::<Vec<_>>().join(", ");
    if let Some(name) = given.keys().find(|name| !fields.contains_key(*name)) {
        bail!("{} has no argument `{name}`\nit takes {takes}", tool.name);
    }
    for (name, field) in fields {
        let value = given.get(name).unwrap_or(&Value::Null);
        let fits = match field["type"].as_str() {
            _ if value.is_null() => !is_required(name),
            Some("string") => value.is_string(),
            Some("integer") => value.is_u64(),
            _ => true,
        };
        let wanted = described((name, field));
        if !fits && value.is_null() {
            bail!("{} needs {wanted}, which is missing", tool.name);
        }
        if !fits {
            bail!("{} takes {wanted}, and got {value}", tool.name);
        }
    }
    Ok(())
}

/// A string argument; `check_input` has seen to it that a required one is there.
fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

/// An argument: name, type, description. A `?` after the name marks one that may be left out.
type Field = (&'static str, &'static str, &'static str);

const PATH: Field = ("path", "string", "The file, seen from the project's folder");
const BELOW: Field = ("path?", "string", "A folder or file; without it, the whole project");
const GLOB: Field = ("glob?", "string", "Only files that match, such as `*.rs` or `src/**/*.toml`");

/// What the model is told: name, description, arguments. These words are all it knows of a tool.
const TOOLS: &[(&str, &str, &[Field])] = &[
    (
        "list_files",
        "Lists the project's files with their paths. Hidden and ignored files are left out.",
        &[BELOW, GLOB],
    ),
    (
        "read_file",
        "Reads a text file. The text comes as it stands, without line numbers. A long file comes \
         in parts; the last line of a part says how to get the next.",
        &[
            PATH,
            ("offset?", "integer", "The first line to read, counted from 1"),
            ("limit?", "integer", "How many lines to read; 2000 where it is not given"),
        ],
    ),
    (
        "write_file",
        "Writes a whole text file and the folders it needs. A file that is there must have been \
         read before. To change a part of one, use edit_file.",
        &[PATH, ("content", "string", "The whole text of the file")],
    ),
    (
        "edit_file",
        "Replaces one piece of a text file that was read before. `old_text` must stand in the \
         file exactly once, white space included: take lines around it along until it does.",
        &[
            PATH,
            ("old_text", "string", "The piece to be replaced, exactly as read_file gave it"),
            ("new_text", "string", "What stands there afterwards"),
        ],
    ),
    (
        "grep_search",
        "Searches the project's files, line by line, for a regular expression (Rust syntax). Gives \
         how many lines match, then `path:line:text` for each.",
        &[("pattern", "string", "The regular expression"), BELOW, GLOB],
    ),
    (
        "run_shell",
        "Runs a command line with `sh` in the project's folder, on Windows too, and gives its exit \
         code and its output. It has no input: nothing can be typed or confirmed. Of a long \
         output, the beginning and the end are kept.",
        &[
            ("command", "string", "The command line"),
            ("timeout_ms?", "integer", "Milliseconds until it is stopped; 120000, at most 600000"),
        ],
    ),
];

/// A line of the table as the API wants it.
fn as_offered((name, description, fields): &(&str, &str, &[Field])) -> Tool {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for (field, kind, says) in *fields {
        let name = field.trim_end_matches('?');
        properties.insert(name.to_string(), json!({ "type": kind, "description": says }));
        if name == *field {
            required.push(name);
        }
    }
    let input_schema = json!({ "type": "object", "properties": properties, "required": required });
    Tool { name: name.to_string(), description: description.to_string(), input_schema }
}

#[cfg(test)]
#[path = "../tests/tools.rs"]
mod tests;
