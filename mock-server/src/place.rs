//! Where in the script a request stands. The request alone says it: the server remembers nothing.
//!
//! Three things in a request are anchors: the id of a tool call that the script minted
//! (`toolu_main_0003_1`), a scripted user line inside a user message, and a mark in a scripted
//! summary (`[loopwright main:0007]`). The one latest in the script counts. Each assistant message
//! after it is one reply further. So a program may be killed, resumed, retried or compacted, and
//! two hundred of them may talk at once.

use std::path::Path;

use serde_json::Value;

use crate::request::{blocks, holds, is_role, is_type, messages, texts};
use crate::scene::{LineKind, Part, Scene};
use crate::values::Values;

/// A reply line: the part's index in the scene, the line's index in the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub part: usize,
    pub line: usize,
}

/// The id of a tool call: from the part, the line and the call's number from 1.
/// `otherwise` calls have an `o` before the number, so that the request says which were made.
pub fn tool_use_id(part: &str, line: usize, call: usize, otherwise: bool) -> String {
    let otherwise = if otherwise { "o" } else { "" };
    format!("toolu_{part}_{line:04}_{otherwise}{}", call + 1)
}

/// The mark of a summary that `part` gave at `line`, when the main part had come to `main`.
pub fn mark(main: Option<usize>, part: &str, line: usize) -> String {
    match main {
        Some(main) => format!("[loopwright main:{main:04} {part}:{line:04}]"),
        None => format!("[loopwright {part}:{line:04}]"),
    }
}

/// The reply line that expects this request, or what came and what was expected instead.
pub fn find(scene: &Scene, values: &Values, body: &Value) -> Result<Place, String> {
    let part = part_of(scene, values, body);
    let anchor = anchor(&scene.parts[part], values, body);
    let anchor = anchor.unwrap_or_else(|| start(scene, part, values, body));
    let lines = &scene.parts[part].lines;
    let first = anchor.line.map_or(0, |line| line + 1);
    // A mark of its own in a part other than main stands in a history that is quoted to it: the
    // assistant messages after it are main's.
    let quoted = anchor.by_mark && part != 0;
    let mut ahead = if quoted { 0 } else { assistants_after(body, anchor.message) };
    for (index, line) in lines.iter().enumerate().skip(first) {
        match &line.kind {
            LineKind::Reply(_) if ahead == 0 => return Ok(Place { part, line: index }),
            LineKind::Reply(_) => ahead -= 1,
            LineKind::User(text) => {
                let why = format!(
                    "expected was the user line of line {}: “{}”",
                    line.at,
                    crate::request::short(&values.fill(text))
                );
                return Err(surprise(scene, part, body, &why));
            }
            LineKind::Answer(_) | LineKind::Types { .. } => {}
        }
    }
    let last = lines.last().map_or(0, |line| line.at);
    Err(surprise(scene, part, body, &format!("the script of this part ends with line {last}")))
}

/// The last line of the main part that this request has come to; for the mark of a summary.
pub fn main_so_far(scene: &Scene, values: &Values, body: &Value) -> Option<usize> {
    let anchor = anchor(&scene.parts[0], values, body)?;
    let lines = &scene.parts[0].lines;
    let mut reached = anchor.line?;
    let mut ahead = assistants_after(body, anchor.message);
    for (index, line) in lines.iter().enumerate().skip(reached + 1) {
        if ahead == 0 || matches!(line.kind, LineKind::User(_)) {
            break;
        }
        if matches!(line.kind, LineKind::Reply(_)) {
            reached = index;
            ahead -= 1;
        }
    }
    Some(reached)
}

/// A part other than `main` takes what holds its text; `main` takes the rest.
fn part_of(scene: &Scene, values: &Values, body: &Value) -> usize {
    let takes =
        |part: &Part| part.when.as_ref().is_some_and(|when| holds(body, &values.fill(when)));
    scene.parts.iter().position(takes).unwrap_or(0)
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    /// The script's line; `None`: before the first.
    line: Option<usize>,
    /// The message it stands in; `None`: before the first.
    message: Option<usize>,
    by_mark: bool,
}

/// The anchor latest in the script; where a line is quoted twice, its first message.
fn anchor(part: &Part, values: &Values, body: &Value) -> Option<Anchor> {
    let users: Vec<(usize, String)> = part
        .lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| match &line.kind {
            LineKind::User(text) => Some((index, values.fill(text.trim()))),
            _ => None,
        })
        .collect();
    let mut best: Option<Anchor> = None;
    for (message, value) in messages(body).iter().enumerate() {
        for (line, by_mark) in anchors_in(part, &users, value) {
            if best.is_none_or(|best| best.line < Some(line)) {
                best = Some(Anchor { line: Some(line), message: Some(message), by_mark });
            }
        }
    }
    best
}

/// The script lines that one message names, and whether it is a mark that does.
fn anchors_in(part: &Part, users: &[(usize, String)], message: &Value) -> Vec<(usize, bool)> {
    let ids = blocks(message).iter().filter_map(|block| {
        let key = if is_type(block, "tool_use") { "id" } else { "tool_use_id" };
        line_of_id(part, block[key].as_str()?)
    });
    let mut anchors: Vec<(usize, bool)> = ids.map(|line| (line, false)).collect();
    let all = texts(&message["content"]);
    if is_role(message, "user") {
        let is_in_it = |line: &str| all.iter().any(|text| text.contains(line));
        let said = users.iter().filter(|(_, text)| is_in_it(text));
        anchors.extend(said.map(|(line, _)| (*line, false)));
    }
    anchors.extend(all.iter().flat_map(|text| lines_of_marks(part, text)).map(|line| (line, true)));
    anchors
}

fn line_of_id(part: &Part, id: &str) -> Option<usize> {
    let rest = id.strip_prefix("toolu_")?.strip_prefix(part.name.as_str())?.strip_prefix('_')?;
    let line: usize = rest.split_once('_')?.0.parse().ok()?;
    (line < part.lines.len()).then_some(line)
}

fn lines_of_marks(part: &Part, text: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for rest in text.split("[loopwright ").skip(1) {
        let Some((places, _)) = rest.split_once(']') else { continue };
        for (name, line) in places.split(' ').filter_map(|place| place.split_once(':')) {
            let line: Option<usize> = line.parse().ok();
            lines.extend(line.filter(|line| name == part.name && *line < part.lines.len()));
        }
    }
    lines
}

/// Before the first line. Messages of another part that are quoted to this one (a summariser
/// gets the history) are not its own, and do not count.
fn start(scene: &Scene, part: usize, values: &Values, body: &Value) -> Anchor {
    let mut others = scene.parts.iter().enumerate().filter(|(index, _)| *index != part);
    let quotes_another = others.any(|(_, other)| anchor(other, values, body).is_some());
    let message = if quotes_another { messages(body).len().checked_sub(1) } else { None };
    Anchor { line: None, message, by_mark: false }
}

fn assistants_after(body: &Value, message: Option<usize>) -> usize {
    let first = message.map_or(0, |message| message + 1);
    messages(body).iter().skip(first).filter(|message| is_role(message, "assistant")).count()
}

/// Folder and file, which say which scene it is; the rest of the path is another on each machine.
fn named(path: &Path) -> String {
    let mut parts = path.components().rev().map(|part| part.as_os_str().to_string_lossy());
    let (file, folder) = (parts.next().unwrap_or_default(), parts.next());
    folder.map_or(file.to_string(), |folder| format!("{folder}/{file}"))
}

/// What came, for a request that no line expects.
fn surprise(scene: &Scene, part: usize, body: &Value, why: &str) -> String {
    let came = match crate::request::last_user_text(body) {
        Some(text) => format!("whose last user text is “{text}”"),
        None => "whose last message holds no user text".to_string(),
    };
    format!(
        "no line of {} expects this request of {} messages (part {}), {came}: {why}",
        named(&scene.path),
        messages(body).len(),
        scene.parts[part].name,
    )
}
