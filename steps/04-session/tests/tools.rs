use std::fs;

use tempfile::TempDir;

use super::*;

/// A project with these files.
fn project(files: &[(&str, &str)]) -> (TempDir, Tools) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let tools = Tools::new(folder.path().to_path_buf());
    (folder, tools)
}

async fn result(tools: &Tools, name: &str, input: Value) -> String {
    tools.run(name, &input).await.unwrap()
}

async fn error(tools: &Tools, name: &str, input: Value) -> String {
    format!("{:#}", tools.run(name, &input).await.unwrap_err())
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_those_there_are() {
    let (_folder, tools) = project(&[]);
    assert_eq!(
        error(&tools, "search_files", json!({})).await,
        "there is no tool search_files\nthere are: list_files, read_file, write_file, edit_file, grep_search, run_shell"
    );
}

#[tokio::test]
async fn every_tool_that_is_offered_is_run() {
    let (_folder, tools) = project(&[]);
    for tool in tools.offered() {
        let mut input = json!({});
        for field in tool.input_schema["required"].as_array().unwrap() {
            input[field.as_str().unwrap()] = json!("true");
        }
        let outcome = format!("{:?}", tools.run(&tool.name, &input).await);
        assert!(!outcome.contains("nothing here runs it"), "{}: {outcome}", tool.name);
    }
}

#[tokio::test]
async fn a_wrong_argument_is_answered_with_its_name_and_what_is_wanted() {
    let (_folder, tools) = project(&[]);
    assert_eq!(
        error(&tools, "grep_search", json!({"query": "x"})).await,
        "grep_search has no argument `query`\nit takes `pattern` (string), \
         `path` (string, optional), `glob` (string, optional)"
    );
    assert_eq!(
        error(&tools, "read_file", json!({})).await,
        "read_file needs `path` (string), which is missing"
    );
    assert_eq!(
        error(&tools, "read_file", json!({"path": "a", "limit": "ten"})).await,
        "read_file takes `limit` (integer, optional), and got \"ten\""
    );
    assert_eq!(error(&tools, "read_file", json!(["a"])).await, "the arguments must be an object");
    assert_eq!(
        error(&tools, "grep_search", json!({"pattern": "("})).await.lines().next().unwrap(),
        "`pattern` is not a regex: regex parse error:"
    );
}

#[tokio::test]
async fn what_cannot_be_read_has_an_error_of_its_own() {
    let (folder, tools) = project(&[("src/lamp.rs", ""), ("notes", "x")]);
    fs::write(folder.path().join("lamp.png"), b"\x89PNG\0\0").unwrap();
    assert_eq!(
        error(&tools, "read_file", json!({"path": "src/lamb.rs"})).await,
        "there is no `src/lamb.rs`\nits folder holds: lamp.rs"
    );
    assert_eq!(
        error(&tools, "read_file", json!({"path": "lib/lamp.rs"})).await,
        "there is no `lib/lamp.rs`\nits folder is not there either; list_files shows what is"
    );
    assert_eq!(
        error(&tools, "read_file", json!({"path": "src"})).await,
        "`src` is a folder, not a file\nlist_files shows what is in it"
    );
    assert_eq!(
        error(&tools, "read_file", json!({"path": "lamp.png"})).await,
        "`lamp.png` is a binary file, not text\nrun_shell may have a program that reads it"
    );
    assert_eq!(
        error(&tools, "write_file", json!({"path": "src", "content": ""})).await,
        "`src` is a folder, not a file\nlist_files shows what is in it"
    );
    assert_eq!(
        error(&tools, "write_file", json!({"path": "notes/a", "content": ""})).await,
        "`notes/a`: a file stands where that would go\nchoose another path"
    );
}

#[tokio::test]
async fn of_many_neighbours_the_first_by_name_are_given() {
    let names: Vec<String> = (10..41).map(|day| format!("{day}.log")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, tools) = project(&files);
    assert_eq!(
        error(&tools, "read_file", json!({"path": "0.log"})).await,
        format!("there is no `0.log`\nits folder holds: {}, and more", names[..20].join(", "))
    );
}

#[test]
fn a_missing_permission_has_an_error_of_its_own() {
    let denied = io::Error::from(io::ErrorKind::PermissionDenied);
    assert_eq!(
        explained(denied, Path::new("/key"), "key").to_string(),
        "no permission for `key`\nask the user to grant it, or go without it"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_or_a_device_is_not_waited_for() {
    let (_folder, tools) = project(&[]);
    result(&tools, "run_shell", json!({"command": "mkfifo pipe"})).await;
    for path in ["pipe", "/dev/zero"] {
        assert_eq!(
            error(&tools, "read_file", json!({"path": path})).await,
            format!("`{path}` is a pipe or a device, not a file")
        );
    }
}

#[tokio::test]
async fn a_part_of_a_file_says_how_to_read_on() {
    let (_folder, tools) = project(&[("log", "one\ntwo\r\nthree\nfour\n")]);
    let part = json!({"path": "log", "offset": 2, "limit": 2});
    assert_eq!(
        result(&tools, "read_file", part).await,
        "two\nthree\n[the file goes on; read it from line 4 with `offset`]"
    );
    let rest = json!({"path": "log", "offset": 4});
    assert_eq!(result(&tools, "read_file", rest).await, "four\n");
    for offset in [5, 9] {
        assert_eq!(
            error(&tools, "read_file", json!({"path": "log", "offset": offset})).await,
            format!("`log` has no line {offset} in its first 20000000 bytes\nbegin further up")
        );
    }
}

#[tokio::test]
async fn a_long_file_ends_at_a_whole_line_and_reads_on_from_the_next() {
    let line = format!("{}\n", "é".repeat(600));
    let (_folder, tools) = project(&[("long", &line.repeat(100))]);
    let text = result(&tools, "read_file", json!({"path": "long"})).await;
    let lines = MAX_READ / line.len();
    let note = format!("[the file goes on; read it from line {} with `offset`]", lines + 1);
    assert_eq!(text, line.repeat(lines) + &note);
}

#[tokio::test]
async fn a_line_longer_than_a_result_is_cut_between_characters() {
    let (_folder, tools) = project(&[("long", &format!("x{}", "灯".repeat(MAX_READ)))]);
    let text = result(&tools, "read_file", json!({"path": "long"})).await;
    assert!(text.ends_with(
        "灯\n[line 1 is longer and cut here]\n[the file goes on; read it from line 2 with `offset`]"
    ));
}

#[tokio::test]
async fn an_empty_file_and_a_mark_at_the_beginning_are_read_as_text() {
    let (_folder, tools) = project(&[("empty", ""), ("marked", "\u{feff}hello")]);
    let empty = result(&tools, "read_file", json!({"path": "empty"})).await;
    assert_eq!(empty, "[the file is empty]");
    assert_eq!(result(&tools, "read_file", json!({"path": "marked"})).await, "hello");
}

#[tokio::test]
async fn write_file_makes_the_folders_it_needs() {
    let (folder, tools) = project(&[]);
    let input = json!({"path": "a/b/c.txt", "content": "one\ntwo\n"});
    assert_eq!(result(&tools, "write_file", input).await, "wrote a/b/c.txt: 2 lines");
    assert_eq!(fs::read_to_string(folder.path().join("a/b/c.txt")).unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn ignored_and_hidden_files_are_neither_listed_nor_searched() {
    let (_folder, tools) = project(&[
        (".gitignore", "target/\n*.tmp\n"),
        ("target/out.rs", "lamp"),
        ("b.tmp", "lamp"),
        (".env", "lamp"),
        ("src/a.rs", "lamp"),
        ("README.md", "lamp"),
    ]);
    assert_eq!(result(&tools, "list_files", json!({})).await, "README.md\nsrc/a.rs");
    assert_eq!(
        result(&tools, "grep_search", json!({"pattern": "lamp"})).await,
        "matching lines: 2, files: 2\nREADME.md:1:lamp\nsrc/a.rs:1:lamp"
    );
    let globbed = json!({"pattern": "la.p", "glob": "*.rs"});
    assert_eq!(
        result(&tools, "grep_search", globbed).await,
        "matching lines: 1, files: 1\nsrc/a.rs:1:lamp"
    );
    assert_eq!(result(&tools, "list_files", json!({"path": "src"})).await, "src/a.rs");
    assert_eq!(result(&tools, "list_files", json!({"glob": "src/*.rs"})).await, "src/a.rs");
    assert_eq!(
        result(&tools, "list_files", json!({"glob": "*.py"})).await,
        "[no files; hidden and ignored ones are not listed]"
    );
    assert_eq!(
        result(&tools, "list_files", json!({"glob": "*.tmp"})).await,
        "[no files; hidden and ignored ones are not listed]"
    );
}

#[tokio::test]
async fn a_search_counts_all_and_shows_the_first() {
    let text = format!("{}\n", "灯".repeat(1_000)).repeat(MAX_MATCHES + 50);
    let (_folder, tools) = project(&[("log", &text)]);
    let found = result(&tools, "grep_search", json!({"pattern": "灯"})).await;
    assert!(
        found.starts_with(&format!("matching lines: {}, files: 1\nlog:1:灯", MAX_MATCHES + 50))
    );
    assert!(found.ends_with(&format!("[only the first {MAX_MATCHES} are shown]")));
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 1 + MAX_MATCHES + 1);
    assert_eq!(lines[1], format!("log:1:{} [line is cut]", "灯".repeat(MAX_MATCH_CHARS)));
}

#[tokio::test]
async fn a_long_list_is_cut_and_says_so() {
    let names: Vec<String> = (0..MAX_FILES + 1).map(|n| format!("{n:04}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, tools) = project(&files);
    let list = result(&tools, "list_files", json!({})).await;
    assert_eq!(list.lines().count(), MAX_FILES + 1);
    assert!(list.ends_with("[there are more than these 500; use `path` or `glob`]"));
}

#[tokio::test]
async fn run_shell_works_in_the_project_and_keeps_its_time() {
    let (_folder, tools) = project(&[("here.txt", "")]);
    let listed = result(&tools, "run_shell", json!({"command": "ls"})).await;
    assert_eq!(listed, "exit code 0\nhere.txt\n");
    let late = error(&tools, "run_shell", json!({"command": "sleep 5", "timeout_ms": 100})).await;
    assert!(late.starts_with("stopped after 100ms"), "{late}");
}

#[tokio::test]
async fn a_walk_that_takes_too_long_ends_and_says_so() {
    let (_folder, mut tools) = project(&[("a", "lamp")]);
    tools.search_time = Duration::ZERO;
    let note = "[stopped after 0ns: not all was seen; use `path` or `glob`]";
    assert!(result(&tools, "list_files", json!({})).await.ends_with(note));
    assert_eq!(
        result(&tools, "grep_search", json!({"pattern": "lamp"})).await,
        format!("matching lines: 0, files: 0\n{note}")
    );
}

#[test]
fn whatever_a_tool_says_is_bounded_between_two_characters() {
    assert_eq!(bounded("short".to_string()), "short");
    let text = bounded(format!("x{}", "灯".repeat(MAX_RESULT)));
    assert!(text.ends_with("灯\n[cut here: this is too long; ask for less]"), "{}", text.len());
    assert!(text.len() < MAX_RESULT + 100);
}

#[tokio::test]
async fn a_glob_may_also_leave_out() {
    let (_folder, tools) = project(&[("a.rs", ""), ("b.txt", "")]);
    assert_eq!(result(&tools, "list_files", json!({"glob": "!*.txt"})).await, "a.rs");
    assert_eq!(result(&tools, "list_files", json!({"glob": "*.txt"})).await, "b.txt");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_is_neither_listed_nor_searched() {
    let (folder, tools) = project(&[("a", "lamp")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "lamp").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    assert_eq!(result(&tools, "list_files", json!({})).await, "a");
    assert_eq!(
        result(&tools, "grep_search", json!({"pattern": "lamp"})).await,
        "matching lines: 1, files: 1\na:1:lamp"
    );
}
