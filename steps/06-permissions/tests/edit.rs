use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::tools::Tools;

const TWICE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    one();\n}\n";

/// A project with one file, which the model has read.
async fn read_file(content: impl AsRef<[u8]>) -> (TempDir, Tools, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.rs");
    fs::write(&path, content).unwrap();
    let tools = Tools::new(folder.path().to_path_buf());
    tools.run("read_file", &json!({"path": "f.rs"})).await.unwrap();
    (folder, tools, path)
}

async fn edit(tools: &Tools, old: &str, new: &str) -> Result<String, String> {
    let input = json!({"path": "f.rs", "old_text": old, "new_text": new});
    tools.run("edit_file", &input).await.map_err(|error| format!("{error:#}"))
}

async fn write(tools: &Tools, content: &str) -> Result<String, String> {
    let input = json!({"path": "f.rs", "content": content});
    tools.run("write_file", &input).await.map_err(|error| format!("{error:#}"))
}

#[tokio::test]
async fn an_edit_changes_one_place_and_shows_it() {
    let (_folder, tools, path) = read_file(TWICE).await;
    let shown = edit(&tools, "fn b() {\n    one();", "fn b() {\n    two();").await.unwrap();
    assert_eq!(shown, "changed f.rs\n@@ -5,3 +5,3 @@\n fn b() {\n-    one();\n+    two();\n }");
    let expected = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n";
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[tokio::test]
async fn an_ambiguous_edit_is_refused_with_its_count_and_lines() {
    let (_folder, tools, path) = read_file(TWICE).await;
    assert_eq!(
        edit(&tools, "one();", "two();").await.unwrap_err(),
        "the text stands 2 times in `f.rs` (lines 2, 6)\ntake more of the lines around the one you mean"
    );
    assert_eq!(fs::read_to_string(path).unwrap(), TWICE);
}

#[tokio::test]
async fn places_that_overlap_are_two_places() {
    let (_folder, tools, _) = read_file("aaa\n").await;
    let error = edit(&tools, "aa", "b").await.unwrap_err();
    assert!(error.starts_with("the text stands 2 times"), "{error}");
}

#[tokio::test]
async fn a_text_that_is_not_there_is_refused_with_a_hint_at_white_space() {
    let (_folder, tools, _) = read_file(TWICE).await;
    assert_eq!(
        edit(&tools, "three();", "").await.unwrap_err(),
        "the text does not stand in `f.rs`\nread it again"
    );
    assert_eq!(
        edit(&tools, "fn b() {\n\tone();\n", "").await.unwrap_err(),
        "the text does not stand in `f.rs` as you wrote it\nfrom line 5 on it does, but for white space"
    );
}

#[tokio::test]
async fn another_line_is_no_white_space() {
    let (_folder, tools, _) = read_file("a = 1\nother\nb = 2\n").await;
    let error = edit(&tools, "a = 1\n\nb = 2", "").await.unwrap_err();
    assert_eq!(error, "the text does not stand in `f.rs`\nread it again");
}

#[tokio::test]
async fn who_has_read_a_part_may_edit_but_not_replace_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.rs"), TWICE).unwrap();
    let tools = Tools::new(folder.path().to_path_buf());
    tools.run("read_file", &json!({"path": "f.rs", "limit": 1})).await.unwrap();
    assert_eq!(
        write(&tools, "x").await.unwrap_err(),
        "only a part of `f.rs` was read\nuse edit_file, or read all of it first"
    );
    edit(&tools, "fn a", "fn c").await.unwrap();
    tools.run("read_file", &json!({"path": "f.rs"})).await.unwrap();
    tools.run("read_file", &json!({"path": "f.rs", "limit": 1})).await.unwrap();
    write(&tools, "x").await.unwrap();
}

#[tokio::test]
async fn only_the_final_line_end_of_a_new_text_is_dropped_where_the_file_has_none() {
    let (_folder, tools, path) = read_file("one").await;
    write(&tools, "a\n\n\n").await.unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "a\n\n");
}

#[tokio::test]
async fn an_empty_old_text_and_a_change_of_nothing_are_refused() {
    let (_folder, tools, _) = read_file(TWICE).await;
    assert_eq!(
        edit(&tools, "", "x").await.unwrap_err(),
        "`old_text` is empty\nsay which text is to be replaced"
    );
    assert_eq!(
        edit(&tools, "fn a", "fn a").await.unwrap_err(),
        "nothing would change: the new text of `f.rs` is the old one"
    );
}

#[tokio::test]
async fn a_file_that_was_not_read_is_neither_edited_nor_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f.rs"), TWICE).unwrap();
    let tools = Tools::new(folder.path().to_path_buf());
    let refusal = "`f.rs` was not read yet\nread it first, to change what is there";
    assert_eq!(edit(&tools, "fn a", "fn c").await.unwrap_err(), refusal);
    assert_eq!(write(&tools, "x").await.unwrap_err(), refusal);
}

#[tokio::test]
async fn a_change_by_someone_else_is_noticed_though_time_and_size_are_the_same() {
    let (_folder, tools, path) = read_file(TWICE).await;
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let theirs = TWICE.replace("fn b", "fn c");
    fs::write(&path, &theirs).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let refusal = "`f.rs` has changed since you read it\nsomeone else wrote it, or a command did: read it again";
    assert_eq!(edit(&tools, "fn a", "fn z").await.unwrap_err(), refusal);
    assert_eq!(write(&tools, "x").await.unwrap_err(), refusal);
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);

    tools.run("read_file", &json!({"path": "f.rs"})).await.unwrap();
    edit(&tools, "fn a", "fn z").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs.replace("fn a", "fn z"));
}

#[tokio::test]
async fn after_its_own_edit_the_model_may_edit_again() {
    let (_folder, tools, path) = read_file(TWICE).await;
    edit(&tools, "fn a", "fn x").await.unwrap();
    edit(&tools, "fn b", "fn y").await.unwrap();
    write(&tools, "// nothing left\n").await.unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "// nothing left\n");
}

#[tokio::test]
async fn a_new_file_may_be_edited_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::new(folder.path().to_path_buf());
    assert_eq!(write(&tools, "one\n").await.unwrap(), "wrote f.rs: 1 lines");
    edit(&tools, "one", "two").await.unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("f.rs")).unwrap(), "two\n");
}

#[tokio::test]
async fn line_ends_and_the_byte_order_mark_stay() {
    let (_folder, tools, path) = read_file("\u{feff}one\r\ntwo\r\nthree\r\n").await;
    edit(&tools, "one\ntwo\n", "1\n1½\n2\n").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}1\r\n1½\r\n2\r\nthree\r\n");
    write(&tools, "eins\nzwei\n").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}eins\r\nzwei\r\n");
}

#[tokio::test]
async fn lines_that_an_edit_does_not_touch_keep_mixed_ends() {
    let (_folder, tools, path) = read_file("a\nb\r\nc\nd\r\ne\n").await;
    edit(&tools, "\nc\n", "\nC\n").await.unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "a\nb\nC\nd\r\ne\n");
}

#[tokio::test]
async fn the_end_of_the_file_stays_open_or_closed() {
    let (_folder, tools, path) = read_file("one\ntwo").await;
    edit(&tools, "one", "1").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\ntwo");
    write(&tools, "three\n").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three");

    let (_folder, tools, path) = read_file("one\ntwo\n").await;
    edit(&tools, "two\n", "2").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n2\n");
    write(&tools, "three").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");

    let (_folder, tools, path) = read_file("").await;
    write(&tools, "three").await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "three");
}

#[tokio::test]
async fn a_file_that_is_not_utf8_is_refused_unharmed() {
    let latin1 = b"caf\xe9\nlamp\n";
    let (_folder, tools, path) = read_file(latin1).await;
    for refusal in [edit(&tools, "lamp", "lantern").await, write(&tools, "x").await] {
        let refusal = refusal.unwrap_err();
        assert!(refusal.starts_with("`f.rs` is not UTF-8, and an edit would harm it"), "{refusal}");
    }
    assert_eq!(fs::read(path).unwrap(), latin1);
}

#[cfg(unix)]
#[tokio::test]
async fn an_edit_goes_through_a_link_and_keeps_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (folder, tools, path) = read_file("#!/bin/sh\necho one\n").await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("f.rs", folder.path().join("link")).unwrap();
    let input = json!({"path": "link", "old_text": "one", "new_text": "two"});
    tools.run("edit_file", &input).await.unwrap();
    assert!(fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\necho two\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn a_read_only_file_is_not_replaced() {
    let (_folder, tools, path) = read_file("one\n").await;
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let refusal = "`f.rs` is read-only\nask the user to permit the change, or go without it";
    assert_eq!(edit(&tools, "one", "two").await.unwrap_err(), refusal);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

/// A plain write would go into the very file that another has open; a rename leaves that one whole.
#[cfg(unix)]
#[tokio::test]
async fn a_reader_never_sees_half_a_file() {
    use std::io::Read;

    let (folder, tools, path) = read_file("one\n").await;
    let mut open = fs::File::open(&path).unwrap();
    edit(&tools, "one", "two").await.unwrap();
    let mut seen = String::new();
    open.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "one\n");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the copy is gone");
}

#[tokio::test]
async fn a_long_change_is_shown_in_part() {
    let (_folder, tools, _) = read_file("old\n").await;
    let shown =
        write(&tools, &"灯".repeat(1_000).lines().cycle().take(500).collect::<Vec<_>>().join("\n"))
            .await
            .unwrap();
    assert!(shown.ends_with("more lines of the change]"), "{shown}");
    assert_eq!(shown.lines().count(), MAX_DIFF_LINES + 2);
    assert!(shown.lines().all(|line| line.chars().count() <= MAX_DIFF_CHARS));
}

#[test]
fn every_place_of_the_view_is_found_in_the_file() {
    let text = "a\r\n灯\n\r\nb\rc\r\n";
    let view = with_line_feeds(text);
    for (start, _) in view.char_indices() {
        for end in (start..=view.len()).filter(|end| view.is_char_boundary(*end)) {
            let piece = &text[in_file(text, start)..in_file(text, end)];
            assert_eq!(with_line_feeds(piece), view[start..end]);
        }
    }
}

#[tokio::test]
async fn a_text_that_stands_everywhere_is_not_counted_to_its_end() {
    let (_folder, tools, _) = read_file("a".repeat(40_000)).await;
    let error = edit(&tools, &"a".repeat(20_000), "b").await.unwrap_err();
    assert!(
        error.starts_with("the text stands 100 or more times in `f.rs` (lines 1, 1"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_system_without_a_length_is_not_read_for_ever() {
    // It says 0 bytes, and holds 8 for each page of the address space.
    assert_eq!(Edits::hash_of_file(Path::new("/proc/self/pagemap")), None);
}
