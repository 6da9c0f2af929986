//! How fast the scripted model is, and how much memory it takes.
//!
//!     cargo run --release -p mock-server --example load              replies a second, five runs
//!     cargo run --release -p mock-server --example load -- memory    peak memory, large requests
//!
//! Server and load are two processes on the same machine. The load reads each stream to its end
//! on 32 connections. The peer is wiremock alone, which sends the same bytes as one body.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use mock_server::{Options, Scene, ScriptedModel, Values};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const SCENE: &str = r#"
title = "A short reply"
[[main]]
user = "Hello"
[[main]]
say = "Good evening. The lamp burns, and the log is kept."
"#;
const CONNECTIONS: usize = 32;
const ROUND: Duration = Duration::from_secs(4);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => compare().await,
        ["memory"] => memory().await,
        ["front"] => serve_front().await,
        ["wiremock", body] => serve_wiremock(body).await,
        _ => bail!("load, or load memory"),
    }
}

/// Starts this program as a server; the first line it prints is its address.
fn server(arguments: &[&str]) -> Result<(Child, String)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = child.stdout.take().context("its output is piped")?;
    BufReader::new(output).read_line(&mut line)?;
    Ok((child, line.trim().to_string()))
}

/// Serves until standard input ends.
async fn until_the_end() {
    let (sender, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lines().count();
        let _ = sender.send(());
    });
    let _ = ended.await;
}

async fn serve_front() -> Result<()> {
    let scene = Scene::parse(SCENE, Path::new("load.toml"))?;
    let values = Values::default();
    let options = Options { port: 0, values, pace: None, events: None, rooms: Vec::new() };
    let model = ScriptedModel::start(scene, options).await?;
    println!("{}", model.url().replace("http://", ""));
    until_the_end().await;
    model.stop().await;
    Ok(())
}

async fn serve_wiremock(body: &str) -> Result<()> {
    let server = MockServer::builder().disable_request_recording().start().await;
    let reply = ResponseTemplate::new(200).set_body_raw(body, "text/event-stream");
    let mock = Mock::given(method("POST")).and(path("/v1/messages")).respond_with(reply);
    server.register(mock).await;
    println!("{}", server.address());
    until_the_end().await;
    Ok(())
}

fn request(text: &str) -> Bytes {
    Bytes::from(
        serde_json::json!({
            "model": "scripted", "max_tokens": 1000, "stream": true,
            "messages": [{"role": "user", "content": format!("Hello{text}")}],
        })
        .to_string(),
    )
}

async fn connect(address: &str) -> Result<SendRequest<Full<Bytes>>> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, driver) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(driver);
    Ok(sender)
}

async fn ask(connection: &mut SendRequest<Full<Bytes>>, body: &Bytes) -> Result<Bytes> {
    let request = Request::post("/v1/messages")
        .header("host", "127.0.0.1")
        .header("x-api-key", "load")
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))?;
    connection.ready().await?;
    let reply = connection.send_request(request).await?;
    if reply.status() != 200 {
        bail!("status {}", reply.status());
    }
    Ok(reply.into_body().collect().await?.to_bytes())
}

/// Replies a second on 32 connections.
async fn load(address: &str) -> Result<f64> {
    let body = request("");
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (address, body) = (address.to_string(), body.clone());
        tasks.spawn(async move {
            let mut connection = connect(&address).await?;
            let mut replies = 0_u64;
            while begun.elapsed() < ROUND {
                ask(&mut connection, &body).await?;
                replies += 1;
            }
            anyhow::Ok(replies)
        });
    }
    let mut all = 0;
    while let Some(replies) = tasks.join_next().await {
        all += replies??;
    }
    Ok(all as f64 / begun.elapsed().as_secs_f64())
}

async fn compare() -> Result<()> {
    let (mut front, address) = server(&["front"])?;
    let stream = ask(&mut connect(&address).await?, &request("")).await?;
    let stream = String::from_utf8(stream.to_vec())?;
    let (mut alone, alone_address) = server(&["wiremock", &stream])?;
    println!("{CONNECTIONS} connections, streams of {} bytes, replies a second", stream.len());
    let mut ratios = Vec::new();
    for round in 1..=5 {
        let ours = load(&address).await?;
        let peers = load(&alone_address).await?;
        println!("  {round}: front {ours:6.0}   wiremock alone {peers:6.0}   {:.2}", ours / peers);
        ratios.push((ours, ours / peers));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("median: {:.0}, {:.2} of wiremock alone", ratios[2].0, ratios[2].1);
    front.kill()?;
    alone.kill()?;
    Ok(())
}

/// Ten thousand requests of 200 kB on 8 connections.
async fn memory() -> Result<()> {
    let (mut front, address) = server(&["front"])?;
    let body = request(&" and on".repeat(200_000 / 7));
    println!("10,000 requests of {} bytes", body.len());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (address, body) = (address.clone(), body.clone());
        tasks.spawn(async move {
            let mut connection = connect(&address).await?;
            for _ in 0..1250 {
                ask(&mut connection, &body).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", front.id()))
        .context("peak memory is read from /proc, which only Linux has")?;
    for line in status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS"))
    {
        println!("  {line}");
    }
    front.kill()?;
    Ok(())
}
