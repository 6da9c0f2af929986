//! `build` and `serve` from the outside, with a small book of their own. They have mdBook's driver
//! built, which takes a minute the first time: `cargo test -p doc-sync --test pages -- --ignored`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far more than anything here takes, on the slowest machine.
const LONG: Duration = Duration::from_secs(120);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tools/doc-sync lies two down")
}

/// A book of one page, with the theme and the settings of the real one.
fn book() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let settings = fs::read_to_string(root().join("book/book.toml")).unwrap();
    assert!(settings.contains("\"../target/book\""), "{settings}");
    write(folder.path(), "book.toml", &settings.replace("../target/book", "pages"));
    for file in ["theme/loopwright.css", "theme/loopwright.js"] {
        write(folder.path(), file, &fs::read_to_string(root().join("book").join(file)).unwrap());
    }
    write(folder.path(), "src/SUMMARY.md", "# Summary\n\n[Introduction](introduction.md)\n");
    write(folder.path(), "src/introduction.md", "# Introduction\n\nThe first text.\n");
    folder
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn doc_sync(verb: &str, book: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_doc-sync"));
    command.current_dir(root()).arg(verb).arg("--book").arg(book);
    command
}

/// mdBook's driver and nothing else, writing to `pages`.
fn press(book: &Path, pages: &Path) -> Output {
    Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["run", "--quiet", "--package", "press", "--features", "mdbook", "--"])
        .arg(book)
        .env("MDBOOK_BUILD__BUILD_DIR", pages)
        .output()
        .unwrap()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(now) = open.pop() {
        for entry in fs::read_dir(now).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_path_buf();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
#[ignore = "has mdBook's driver built"]
fn build_makes_the_book_that_mdbook_makes() {
    let book = book();
    let built = doc_sync("build", book.path()).output().unwrap();
    let pages = book.path().join("pages");
    let said = String::from_utf8_lossy(&built.stdout);
    assert!(said.contains(&format!("the book is in {}", pages.display())), "{said}");

    let plain = tempfile::tempdir().unwrap();
    assert!(press(book.path(), plain.path()).status.success());
    let (ours, theirs) = (files(&pages), files(plain.path()));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    assert!(ours.contains_key(Path::new("introduction.html")), "{:?}", names(&ours));
    assert_eq!(ours, theirs);
}

#[test]
#[ignore = "has mdBook's driver built"]
fn a_book_with_a_fault_is_built_all_the_same_and_the_exit_is_one() {
    let book = book();
    write(book.path(), "src/introduction.md", "# Introduction\n\n[dead](nowhere.md)\n");
    let built = doc_sync("build", book.path()).output().unwrap();
    let said = String::from_utf8_lossy(&built.stdout);
    assert!(said.contains("nowhere.md"), "{said}");
    assert_eq!(built.status.code(), Some(1), "{said}");
    assert!(book.path().join("pages/introduction.html").is_file());
}

#[test]
#[ignore = "has mdBook's driver built"]
fn a_book_that_mdbook_cannot_read_is_a_fault_with_its_reason() {
    let book = book();
    fs::remove_file(book.path().join("src/introduction.md")).unwrap();
    let built = doc_sync("build", book.path()).output().unwrap();
    let said = String::from_utf8_lossy(&built.stdout);
    assert!(said.contains("mdBook cannot read the book"), "{said}");
    assert!(said.ends_with("the pages could not be made\n"), "{said}");
    assert_eq!(built.status.code(), Some(1), "{said}");
}

/// `serve` while a test runs.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(book: &Path, port: u16) -> Server {
    let mut child = doc_sync("serve", book)
        .args(["--port", &port.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().expect("serve says where the book is").unwrap();
    // What it says later must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let (_, rest) = line.split_once("http://").expect("an address");
    Server { child, address: rest.split(' ').next().unwrap_or_default().to_string() }
}

fn get(server: &Server, path: &str) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: book\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get_until(server: &Server, path: &str, holds: impl Fn(&str) -> bool) -> String {
    let begin = Instant::now();
    loop {
        let answer = get(server, path);
        if holds(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < LONG, "still: {answer}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
#[ignore = "has mdBook's driver built"]
fn serve_takes_the_next_port_follows_the_chapters_and_shows_faults_in_the_page() {
    let book = book();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = serve(book.path(), port);
    assert!(!server.address.ends_with(&format!(":{port}")), "{}", server.address);
    get_until(&server, "/introduction.html", |page| page.contains("The first text."));

    write(book.path(), "src/introduction.md", "# Introduction\n\nThe second. [dead](nowhere.md)\n");
    let page = get_until(&server, "/introduction.html", |page| page.contains("The second."));
    let (_, strip) = page.split_once("doc-sync-faults").expect("a strip");
    let (strip, _) = strip.split_once("</details>").expect("its end");
    assert!(strip.contains("nowhere.md"), "{strip}");
    assert!(page.contains("EventSource"), "{page}");
    // On disk the page stays mdBook's.
    let on_disk = fs::read_to_string(book.path().join("pages/introduction.html")).unwrap();
    assert!(!on_disk.contains("EventSource") && !on_disk.contains("doc-sync-faults"));
}

#[cfg(unix)]
#[test]
#[ignore = "has mdBook's driver built"]
fn an_interrupt_ends_serve_with_success() {
    let book = book();
    let mut server = serve(book.path(), 3000);
    get_until(&server, "/", |page| page.contains("The first text."));
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}
