use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

/// A server that answers every request with the same reply, and says at its end how many came.
fn server(reply: Value, requests: usize) -> (String, std::thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = reply.to_string();
    let served = std::thread::spawn(move || {
        for _ in 0..requests {
            let (mut connection, _) = listener.accept().unwrap();
            // All of it, or closing the connection would take the answer back.
            let mut request = vec![0; 1 << 20];
            let mut length = 0;
            while !is_whole(&request[..length]) {
                length += connection.read(&mut request[length..]).unwrap();
            }
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
            write!(connection, "{head}connection: close\r\n\r\n{body}").unwrap();
        }
        requests
    });
    (url, served)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| body.len() >= length.parse().unwrap())
}

#[tokio::test]
async fn a_model_that_only_calls_tools_is_stopped() {
    let input = json!({"path": "Cargo.toml"});
    let call = json!({"type": "tool_use", "id": "t", "name": "read_file", "input": input});
    let (url, served) = server(json!({"content": [call], "stop_reason": "tool_use"}), MAX_TURNS);
    let mut agent = Agent::new(Model::at(url));
    let error = agent.run("go round").await.unwrap_err().to_string();
    assert_eq!(error, "the model was asked 50 times and still calls tools: stopped");
    assert_eq!(served.join().unwrap(), MAX_TURNS);
    // Each call has its one result, in the next message.
    assert_eq!(agent.history.len(), 1 + 2 * MAX_TURNS);
}

#[test]
fn an_unknown_tool_is_named_beside_the_one_there_is() {
    let error = run_tool("grep", &json!({})).unwrap_err().to_string();
    assert_eq!(error, "the model called grep, and the only tool is read_file");
}

#[test]
fn a_file_that_is_missing_is_named() {
    let error = run_tool("read_file", &json!({"path": "no/such/file"})).unwrap_err();
    assert!(format!("{error:#}").starts_with("no/such/file cannot be read: "), "{error:#}");
}
