//! How fast the event reader is: `cargo run --release -p step05 --example events`.

#[path = "../src/sse.rs"]
mod sse;

use std::time::Instant;

const EVENTS: usize = 400_000;

fn main() -> anyhow::Result<()> {
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of a reply "}}"#;
    let stream = format!("event: content_block_delta\ndata: {delta}\n\n").repeat(EVENTS);
    for chunk in [1, 16, 1_460, 65_536] {
        let start = Instant::now();
        let mut reader = sse::EventReader::default();
        let mut events = 0;
        for piece in stream.as_bytes().chunks(chunk) {
            events += reader.feed(piece)?.len();
        }
        let seconds = start.elapsed().as_secs_f64();
        anyhow::ensure!(events == EVENTS, "{events} events came out of {EVENTS}");
        let (megabytes, millions) = (stream.len() as f64 / 1e6, events as f64 / 1e6);
        println!(
            "chunks of {chunk:>6} bytes: {:>6.0} MB/s, {:>5.2} million events/s",
            megabytes / seconds,
            millions / seconds,
        );
    }
    Ok(())
}
