//! Settings files, modes, order of the rules, and paths.

#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work", "outside", "work/src", "work/.git", "work/secrets"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Place { folder }
    }

    fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    fn write(&self, whose: &str, text: &str) {
        let file = self.folder.path().join(whose).join(".claude/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn load(&self) -> anyhow::Result<Permissions> {
        Permissions::load(&self.work(), &self.folder.path().join("home"))
    }

    fn with(&self, section: Value) -> Permissions {
        self.write("home", &json!({ "permissions": section, "hooks": {} }).to_string());
        self.load().unwrap()
    }
}

fn shell(permissions: &Permissions, command: &str) -> Decision {
    permissions.judge("run_shell", &json!({ "command": command }))
}

fn write(permissions: &Permissions, path: &str) -> Decision {
    permissions.judge("edit_file", &json!({ "path": path }))
}

fn is_ask(decision: Decision) -> bool {
    matches!(decision, Decision::Ask(_))
}

fn is_deny(decision: Decision) -> bool {
    matches!(decision, Decision::Deny(_))
}

#[test]
fn without_settings_reading_passes_and_the_rest_is_asked() {
    let permissions = Place::new().load().unwrap();
    for tool in ["read_file", "list_files", "grep_search"] {
        assert_eq!(permissions.judge(tool, &json!({ "path": "src" })), Decision::Allow);
    }
    assert_eq!(shell(&permissions, "ls"), Decision::Allow);
    assert!(is_ask(shell(&permissions, "cargo test")));
    assert!(is_ask(write(&permissions, "src/a")));
    assert!(is_ask(permissions.judge("some_other_tool", &json!({}))));
    assert_eq!(shell(&permissions, "./a b"), Decision::Ask("no rule allows `./a b`".into()));
}

#[test]
fn a_denial_names_the_rule_and_its_file() {
    let place = Place::new();
    let permissions = place.with(json!({ "deny": ["run_shell(rm *)"] }));
    let Decision::Deny(rule) = shell(&permissions, "ls && /bin/rm x") else { panic!() };
    assert_eq!(rule, "the deny rule `run_shell(rm *)` in ~/.claude/settings.json");
}

#[test]
fn deny_binds_in_every_mode() {
    for mode in ["default", "acceptEdits", "dontAsk", "bypassPermissions"] {
        let permissions = Place::new().with(json!({
            "defaultMode": mode, "allow": ["run_shell", "edit_file"], "deny": ["run_shell(rm *)", "edit_file(secrets)", "web_fetch"]
        }));
        for command in [
            "rm x",
            "ls; rm x",
            "echo > secrets/x",
            "echo > $(rm x)",
            "tee secrets/x",
            "rm x <<EOF",
        ] {
            assert!(is_deny(shell(&permissions, command)), "{mode}: {command}");
        }
        assert!(is_deny(write(&permissions, "src/../secrets/x")));
        assert!(is_deny(permissions.judge("web_fetch", &json!({}))));
        if mode != "dontAsk" {
            for unseen in ["cat <<EOF", "sudo rm x", "find . -exec rm {} +", "sh -c 'rm x'", "$X x"]
            {
                assert!(is_ask(shell(&permissions, unseen)), "{mode}: {unseen}");
            }
        }
    }
}

#[test]
fn bypass_lets_everything_run_that_is_not_denied() {
    let permissions = Place::new().with(json!({ "defaultMode": "bypassPermissions" }));
    for command in ["rm -rf x", "cat <<EOF\nEOF", "echo > /etc/x", "$X", "X=1 ls"] {
        assert_eq!(shell(&permissions, command), Decision::Allow);
    }
    assert_eq!(write(&permissions, "../x"), Decision::Allow);
    assert_eq!(permissions.judge("some_other_tool", &json!({})), Decision::Allow);
}

#[test]
fn dont_ask_refuses_what_it_would_ask() {
    let permissions = Place::new().with(json!({ "defaultMode": "dontAsk", "allow": ["run_shell(cargo test *)"], "ask": ["grep_search"] }));
    assert_eq!(shell(&permissions, "cargo test"), Decision::Allow);
    let Decision::Deny(rule) = shell(&permissions, "cargo run") else { panic!() };
    assert_eq!(rule, "dontAsk: no rule allows `cargo run`");
    assert!(is_deny(permissions.judge("grep_search", &json!({}))));
}

#[test]
fn accept_edits_covers_the_workspace_but_not_what_steers_git_or_the_agent() {
    let permissions = Place::new().with(json!({ "defaultMode": "acceptEdits" }));
    assert_eq!(write(&permissions, "src/new/file.rs"), Decision::Allow);
    assert_eq!(shell(&permissions, "echo x > src/a"), Decision::Allow);
    for path in
        ["../a", "/etc/a", "~/a", ".git/config", ".claude/settings.json", "src/../.Git/hooks/x"]
    {
        assert!(is_ask(write(&permissions, path)), "{path}");
    }
    assert!(is_ask(shell(&permissions, "rm src/a")));
}

#[test]
fn deny_comes_before_ask_and_ask_before_allow() {
    let permissions = Place::new().with(json!({
        "allow": ["run_shell(git *)"], "ask": ["run_shell(git push *)"], "deny": ["run_shell(git push --force *)"]
    }));
    assert_eq!(shell(&permissions, "git fetch"), Decision::Allow);
    assert!(is_ask(shell(&permissions, "git push origin")));
    for command in [
        "git push -f",
        "git push origin main --force",
        "git -C . push --forc",
        "git push -uf origin",
    ] {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
}

#[test]
fn a_bare_rule_allows_neither_dangerous_commands_nor_paths_outside() {
    let permissions = Place::new().with(json!({ "allow": ["run_shell", "edit_file"] }));
    assert_eq!(shell(&permissions, "cargo run"), Decision::Allow);
    assert_eq!(write(&permissions, "src/x"), Decision::Allow);
    assert!(is_ask(write(&permissions, "../x")));
    let why = "`rm -fr x` deletes whole folders, with no way back".to_string();
    assert_eq!(shell(&permissions, "cargo run; rm -fr x"), Decision::Ask(why));
    assert!(is_ask(shell(&permissions, "curl x | sh")));
    let permissions =
        Place::new().with(json!({ "allow": ["run_shell(rm -r *)", "edit_file(/tmp/**)"] }));
    assert_eq!(shell(&permissions, "rm -r x"), Decision::Allow);
    assert_eq!(write(&permissions, "/tmp/some/file"), Decision::Allow);
}

#[test]
fn always_holds_for_this_call_alone_and_never_against_a_denial() {
    let permissions =
        Place::new().with(json!({ "deny": ["run_shell(rm *)"], "ask": ["run_shell(make *)"] }));
    for command in ["cargo run", "rm x", "make"] {
        permissions.allow_always("run_shell", &json!({ "command": command }));
    }
    permissions.allow_always("edit_file", &json!({ "path": "src/a", "old": "1" }));
    assert_eq!(shell(&permissions, "cargo run"), Decision::Allow);
    assert!(is_ask(shell(&permissions, "cargo run x")));
    assert!(is_deny(shell(&permissions, "rm x")));
    assert_eq!(shell(&permissions, "make"), Decision::Allow);
    assert_eq!(write(&permissions, "src/a"), Decision::Allow);
    assert!(is_ask(write(&permissions, "src/b")));
}

#[test]
fn rules_of_user_and_project_hold_together_and_the_projects_mode_wins() {
    let place = Place::new();
    place.write(
        "home",
        r#"{"permissions": {"defaultMode": "acceptEdits", "deny": ["run_shell(rm *)"]}}"#,
    );
    place.write("work", r#"{"permissions": {"defaultMode": "dontAsk", "allow": ["run_shell(rm *)", "run_shell(make)"]}}"#);
    let permissions = place.load().unwrap();
    assert!(is_deny(shell(&permissions, "rm x")));
    assert_eq!(shell(&permissions, "make"), Decision::Allow);
}

#[test]
fn a_bad_file_or_rule_is_an_error_that_names_both() {
    let cases = [
        ("not json", "line 1"),
        (r#"{"permissions": {"denny": ["run_shell"]}}"#, "denny"),
        (r#"{"permissions": {"defaultMode": "bypas"}}"#, "bypas"),
        (r#"{"permissions": {"deny": "run_shell"}}"#, "sequence"),
        (r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#, "the deny rule `Bash(rm *)`"),
        (r#"{"permissions": {"deny": ["Bash"]}}"#, "the deny rule `Bash`"),
        (r#"{"permissions": {"ask": ["run_shell(rm *"]}}"#, "the ask rule `run_shell(rm *`"),
        (r#"{"permissions": {"allow": ["run_shell()"]}}"#, "the allow rule `run_shell()`"),
        (
            r#"{"permissions": {"deny": ["run_shell(ls && rm *)"]}}"#,
            "the deny rule `run_shell(ls && rm *)`",
        ),
        (r#"{"permissions": {"deny": ["run_shel(rm *)"]}}"#, "the deny rule `run_shel(rm *)`"),
        (r#"{"permissions": {"deny": [""]}}"#, "the deny rule ``"),
        (r#"{"permissions": {"deny": ["edit_file( )"]}}"#, "the deny rule `edit_file( )`"),
    ];
    for (text, named) in cases {
        let place = Place::new();
        place.write("work", text);
        let error = format!("{:#}", place.load().err().expect(text));
        let file = Path::new(".claude").join("settings.json");
        assert!(error.contains(&file.display().to_string()) && error.contains(named), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_workspace_is_outside_and_a_rule_binds_both_its_names() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    symlink(place.folder.path().join("outside"), place.work().join("link")).unwrap();
    symlink(place.folder.path().join("outside/none"), place.work().join("dangling")).unwrap();
    symlink(place.work().join("secrets"), place.work().join("src/harmless")).unwrap();
    symlink(place.work().join("src"), place.work().join("within")).unwrap();
    symlink("loop", place.work().join("loop")).unwrap();
    let permissions = place.with(json!({ "defaultMode": "acceptEdits", "deny": ["edit_file(secrets/**)", "edit_file(within/no)"] }));
    for path in
        ["link/a", "link", "dangling", "src/../link/new/a", "loop", "loop/a", "link/../work/../x"]
    {
        assert!(is_ask(write(&permissions, path)), "{path}");
        assert!(is_ask(shell(&permissions, &format!("echo > {path}"))), "{path}");
    }
    assert_eq!(write(&permissions, "within/a"), Decision::Allow);
    assert_eq!(write(&permissions, place.work().join("src/a").to_str().unwrap()), Decision::Allow);
    for path in [
        "src/harmless/key",
        "SECRETS/key",
        "within/no",
        "within/harmless/key",
        "link/../work/secrets/key",
    ] {
        assert!(is_deny(write(&permissions, path)), "{path}");
    }
}

#[test]
fn a_denied_file_is_denied_to_the_tools_and_to_commands_that_name_it() {
    let permissions = Place::new().with(json!({ "defaultMode": "bypassPermissions", "deny": ["read_file(.env)", "edit_file(**/*.lock)"] }));
    for command in [
        "cat .env",
        "cat < ./.env",
        "cat src/../.env",
        "tee Cargo.lock",
        "rm src/a.lock",
        "echo > Cargo.lock",
    ] {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
    assert!(is_deny(permissions.judge("grep_search", &json!({ "path": ".env" }))));
    assert_eq!(shell(&permissions, "cat Cargo.lock"), Decision::Allow);
    assert_eq!(shell(&permissions, "echo .envy"), Decision::Allow);
}

#[test]
fn a_rule_may_begin_at_the_home_folder_or_at_the_root() {
    let place = Place::new();
    let home = place.folder.path().join("home");
    let permissions = place.with(json!({ "allow": ["edit_file(~/notes/**)"], "deny": ["read_file(~/.ssh/**)", "read_file(/etc/shadow)"] }));
    let key = home.join(".ssh/key").display().to_string();
    for command in
        ["cat ~/.ssh/key", "cat /etc/shadow", "cat /etc/../etc/shadow", &format!("head {key}")]
    {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
    assert!(is_deny(permissions.judge("read_file", &json!({ "path": key }))));
    assert_eq!(shell(&permissions, "echo x > ~/notes/a"), Decision::Allow);
    assert_eq!(write(&permissions, home.join("notes/a").to_str().unwrap()), Decision::Allow);
    assert!(is_ask(write(&permissions, "~/a")));
}

#[test]
fn a_redirection_by_a_pattern_is_asked_where_anything_is_denied() {
    let permissions = Place::new()
        .with(json!({ "defaultMode": "bypassPermissions", "deny": ["edit_file(secrets/**)"] }));
    for command in ["echo > secret*/key", "echo > $x", "echo > \"$x/key\"", "echo > $(ls)"] {
        assert!(is_ask(shell(&permissions, command)), "{command}");
    }
}

#[test]
fn odd_input_is_asked_and_does_not_end_the_program() {
    let permissions = Place::new().with(json!({ "deny": ["run_shell(*a*b*c*d *)"] }));
    let long = "a".repeat(20_000);
    for input in [json!({}), json!({ "command": 5 }), json!(null), json!([])] {
        permissions.judge("run_shell", &input);
        permissions.judge("edit_file", &input);
    }
    for command in [
        "\0",
        "é\0ü -é",
        "-",
        "--",
        "=",
        "'' x",
        "sudo",
        "xargs",
        "sh -c",
        "find -exec",
        &"sudo ".repeat(9000),
        &long,
    ] {
        assert!(is_ask(shell(&permissions, command)), "{command:.40}");
    }
    assert!(is_ask(write(&permissions, "a\0b/../c")));
}
