//! The server over real sockets, with a folder that holds what mdBook would have made.

use super::*;
use std::fs;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Running {
    _folder: tempfile::TempDir,
    address: std::net::SocketAddr,
    editions: watch::Sender<Edition>,
    making: Arc<RwLock<()>>,
}

async fn started(faults: &[&str]) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    fs::create_dir_all(&pages).unwrap();
    fs::write(pages.join("index.html"), "<body><p>front</p></body>").unwrap();
    fs::write(pages.join("404.html"), "<body><p>no such page</p></body>").unwrap();
    fs::write(pages.join("book.js"), "'</body>'").unwrap();
    fs::write(folder.path().join("secret.txt"), "beside the pages").unwrap();
    let faults = faults.iter().map(|fault| fault.to_string()).collect();
    let (editions, newest) = watch::channel(Edition { number: 7, pages: Some(pages), faults });
    let making = Arc::new(RwLock::new(()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router(newest, making.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Running { _folder: folder, address, editions, making }
}

async fn ask(running: &Running, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: book\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn get(running: &Running, path: &str) -> String {
    let mut answer = String::new();
    ask(running, path).await.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Reads on until the text has come.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut came = String::new();
    while !came.contains(text) {
        let mut bytes = [0; 512];
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut bytes));
        let count = read.await.expect("nothing more came").unwrap();
        assert_ne!(count, 0, "the stream ended after {came}");
        came += &String::from_utf8_lossy(&bytes[..count]);
    }
    came
}

#[tokio::test]
async fn a_page_comes_with_its_faults_and_the_script_and_another_file_as_it_is() {
    let running = started(&["a.md:1: drift"]).await;
    let page = get(&running, "/").await;
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("a.md:1: drift") && page.contains("EventSource"), "{page}");
    assert_eq!(get(&running, "/index.html").await, page);
    let script = get(&running, "/book.js").await;
    assert!(script.ends_with("\r\n\r\n'</body>'"), "{script}");
    assert!(script.contains("content-type: text/javascript"), "{script}");
}

#[tokio::test]
async fn a_missing_page_is_the_books_own_404() {
    let answer = get(&started(&[]).await, "/nothing.html").await;
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("no such page"), "{answer}");
}

#[tokio::test]
async fn no_path_leads_out_of_the_book() {
    let running = started(&[]).await;
    for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//etc/passwd"] {
        let answer = get(&running, path).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn an_open_page_hears_of_the_next_edition() {
    let running = started(&[]).await;
    let mut stream = ask(&running, "/-/editions").await;
    read_until(&mut stream, "data: 7\n\n").await;
    running.editions.send_modify(|edition| edition.number = 8);
    read_until(&mut stream, "data: 8\n\n").await;
}

#[tokio::test]
async fn who_asks_while_the_pages_are_made_gets_them_when_they_are_made() {
    let running = started(&[]).await;
    let making = running.making.write().await;
    let mut stream = ask(&running, "/").await;
    let mut byte = [0; 1];
    let early = tokio::time::timeout(Duration::from_secs(1), stream.read(&mut byte)).await;
    assert!(early.is_err(), "an answer came before the pages were made");
    drop(making);
    read_until(&mut stream, "front").await;
}
