//! `carry` and `stats` on a small repository with three steps.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use doc_sync::carry::carry;
use doc_sync::repo;
use doc_sync::sources::Sources;
use doc_sync::stats::{self, Table};

const AGENT: &str = "//! The loop.\n\nfn run() {\n    ask();\n}\n\nfn ask() {\n    send();\n}\n";

fn git(root: &Path, args: &[&str]) {
    let output = Command::new("git").arg("-C").arg(root).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

/// Three steps: each has the agent of the one before and one file of its own.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "Cargo.toml", "[workspace]\n");
    for (number, name) in ["00-loop", "01-tools", "02-edit"].iter().enumerate() {
        let manifest =
            format!("[package]\nname = \"step0{number}\"\n\n[dependencies]\nanyhow = \"1\"\n");
        put(root, &format!("steps/{name}/Cargo.toml"), &manifest);
        put(root, &format!("steps/{name}/scene.toml"), &format!("title = \"{name}\"\n"));
        put(root, &format!("steps/{name}/src/agent.rs"), AGENT);
        put(root, &format!("steps/{name}/src/old.rs"), "fn a() {}\nfn b() {}\nfn c() {}\n");
        if number > 0 {
            put(root, &format!("steps/{name}/src/tools.rs"), "fn tools() {}\n");
        }
    }
    let grown = AGENT.replace("    ask();\n", "    prepare();\n    ask();\n");
    put(root, "steps/02-edit/src/agent.rs", &grown);
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "steps"]);
    folder
}

fn count(root: &Path) -> Table {
    stats::count(&repo::steps(root).unwrap(), &Sources::default()).unwrap()
}

#[test]
fn a_fault_mended_in_the_first_step_is_mended_in_all() {
    let folder = repository();
    let root = folder.path();
    put(root, "steps/00-loop/src/agent.rs", &AGENT.replace("send();", "send_again();"));
    let report = carry(root, "00", "HEAD", false).unwrap();
    assert_eq!(report.done, ["01-tools/src/agent.rs: changed", "02-edit/src/agent.rs: changed"]);
    assert!(report.is_clean());
    let last = text(root, "steps/02-edit/src/agent.rs");
    assert!(last.contains("send_again();") && last.contains("prepare();"), "{last}");
}

#[test]
fn carrying_twice_changes_nothing_more() {
    let folder = repository();
    let root = folder.path();
    put(root, "steps/00-loop/src/agent.rs", &AGENT.replace("send();", "send_again();"));
    carry(root, "00", "HEAD", false).unwrap();
    let once = text(root, "steps/02-edit/src/agent.rs");
    let report = carry(root, "00", "HEAD", false).unwrap();
    assert_eq!(report.done, ["01-tools/src/agent.rs: there already"]);
    assert_eq!(text(root, "steps/02-edit/src/agent.rs"), once);
}

#[test]
fn new_renamed_and_deleted_files_are_carried_and_a_steps_own_story_is_not() {
    let folder = repository();
    let root = folder.path();
    put(root, "steps/00-loop/src/extra.rs", "fn extra() { unlike_any_other(); }\n");
    put(root, "steps/00-loop/scene.toml", "title = \"changed\"\n");
    fs::rename(root.join("steps/00-loop/src/old.rs"), root.join("steps/00-loop/src/new.rs"))
        .unwrap();
    fs::remove_file(root.join("steps/00-loop/src/agent.rs")).unwrap();
    fs::write(root.join("steps/02-edit/src/agent.rs"), AGENT).unwrap();
    let report = carry(root, "0", "HEAD", false).unwrap();
    assert!(report.is_clean(), "{report}");
    for step in ["01-tools", "02-edit"] {
        let step = root.join("steps").join(step);
        assert!(step.join("src/extra.rs").is_file());
        assert!(step.join("src/new.rs").is_file() && !step.join("src/old.rs").exists());
        assert!(!step.join("src/agent.rs").exists());
        assert_ne!(fs::read_to_string(step.join("scene.toml")).unwrap(), "title = \"changed\"\n");
    }
}

#[test]
fn a_conflict_is_left_in_markers_listed_and_goes_no_further() {
    let folder = repository();
    let root = folder.path();
    let theirs = AGENT.replace("send();", "send_theirs();");
    put(root, "steps/01-tools/src/agent.rs", &theirs);
    put(root, "steps/00-loop/src/agent.rs", &AGENT.replace("send();", "send_mine();"));
    let report = carry(root, "00", "HEAD", false).unwrap();
    assert_eq!(report.conflicts, ["01-tools/src/agent.rs: 1 of them, between the markers"]);
    assert!(text(root, "steps/01-tools/src/agent.rs").contains("<<<<<<< this step"));
    assert!(!text(root, "steps/02-edit/src/agent.rs").contains("send_mine"));
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let folder = repository();
    let root = folder.path();
    put(root, "steps/00-loop/src/agent.rs", &AGENT.replace("send();", "send_again();"));
    let report = carry(root, "00", "HEAD", true).unwrap();
    assert_eq!(report.done, ["01-tools/src/agent.rs: changed", "02-edit/src/agent.rs: changed"]);
    assert!(!text(root, "steps/01-tools/src/agent.rs").contains("send_again"));
}

#[test]
fn a_step_that_is_not_there_is_named_with_those_that_are() {
    let folder = repository();
    let error = carry(folder.path(), "09", "HEAD", false).unwrap_err().to_string();
    assert_eq!(error, "there is no step 09: there are 00-loop, 01-tools, 02-edit");
}

#[test]
fn stats_count_what_a_step_adds_moves_and_rewrites() {
    let folder = repository();
    let root = folder.path();
    // `fn c` moves to another file, `fn b` is rewritten.
    put(root, "steps/02-edit/src/old.rs", "fn a() {}\nfn b2() {}\n");
    put(root, "steps/02-edit/src/tools.rs", "fn tools() {}\nfn c() {}\n");
    let table = count(root);
    let row = &table.rows[2];
    assert_eq!((row.added, row.removed, row.rewritten, row.total), (3, 2, 1, 11));
    assert_eq!(table.faults(), Vec::<String>::new());
}

#[test]
fn stats_name_each_limit_that_is_passed() {
    let folder = repository();
    let root = folder.path();
    let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(260));
    put(root, "steps/02-edit/src/long.rs", &long);
    put(root, "steps/02-edit/src/agent.rs", "");
    put(root, "steps/02-edit/Cargo.toml", "[dependencies]\na = \"1\"\nb = \"1\"\n");
    assert_eq!(
        count(root).faults(),
        [
            "02-edit: 262 code lines added, at most 250",
            "02-edit: 5 code lines rewritten, at most 1",
            "02-edit: 262 code lines in `long`, at most 40",
            "02-edit: 2 new crates (a, b), at most 1",
        ]
    );
}
