//! When a run's requests came, when their replies had gone out, and when the screen showed what.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A piece of the screen, and when it came, in milliseconds since 1970.
pub type Piece = (u64, String);

/// Runs a program to its end and notes when it writes what.
pub fn watched(command: &mut Command) -> Result<Vec<Piece>> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("the run cannot be started")?;
    let mut screen = child.stdout.take().context("the run has no output")?;
    let mut pieces = Vec::new();
    let mut open = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = screen.read(&mut buffer).context("the run's output cannot be read")?;
        if count == 0 {
            break;
        }
        open.extend_from_slice(&buffer[..count]);
        // A character may be cut in two; its rest comes with the next piece.
        let whole = open.len() - open.utf8_chunks().last().map_or(0, |last| last.invalid().len());
        let bytes: Vec<u8> = open.drain(..whole).collect();
        pieces.push((now(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    if !child.wait().context("the run's end cannot be seen")?.success() {
        bail!("the run fails, and no picture is drawn of that");
    }
    Ok(pieces)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// The times from the first request on, as JSON: requests, then the screen's pieces.
pub fn of(trace: &str, screen: &[Piece]) -> Result<String> {
    let trace: Vec<Value> = serde_json::from_str(trace).context("the trace is no JSON list")?;
    let begin = trace.first().and_then(|first| first["came"].as_u64());
    let begin = begin.context("the trace has no times")?;
    let since = |time: &Value| time.as_u64().map(|time| time.saturating_sub(begin));
    let requests = trace.iter().map(|exchange| {
        json!({
            "status": exchange["status"],
            "came": since(&exchange["came"]),
            "gone": since(&exchange["gone"]),
        })
    });
    let requests: Vec<String> = requests.map(|request| format!("  {request}")).collect();
    let pieces = screen.iter().filter(|(time, _)| *time >= begin);
    let pieces = pieces.map(|(time, text)| format!("  {}", json!([time - begin, text])));
    let pieces: Vec<String> = pieces.collect();
    Ok(format!(
        "{{\n\"requests\": [\n{}\n],\n\"screen\": [\n{}\n]\n}}\n",
        requests.join(",\n"),
        pieces.join(",\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_begin_with_the_first_request() {
        let trace = json!([
            { "status": 200, "came": 1_000, "gone": 1_250 },
            { "status": 529, "came": 1_300, "gone": null },
        ]);
        let screen = [(990, "you ▸ go\n".to_string()), (1_040, "● I ".to_string())];
        let times: Value = serde_json::from_str(&of(&trace.to_string(), &screen).unwrap()).unwrap();
        assert_eq!(times["requests"][0], json!({ "status": 200, "came": 0, "gone": 250 }));
        assert_eq!(times["requests"][1], json!({ "status": 529, "came": 300, "gone": null }));
        assert_eq!(times["screen"], json!([[40, "● I "]]));
    }
}
