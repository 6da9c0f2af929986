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
            "defaultMode": mode, "allow": ["run_shell", "edit_file"], "deny": ["run_shell(rm *)", "edit_file(secrets)"]
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
        let unseen = [
            "cat <<EOF",
            "$X x",
            "sudo rm x",
            "find . -exec rm {} +",
            "sh -c 'rm x'",
            "prlimit rm x",
            "echo rm x | sh",
            "echo rm x | /bin/sh -x",
            "ls | xargs make",
            "echo x | python3",
        ];
        for command in unseen {
            let decision = shell(&permissions, command);
            let asks = matches!(mode, "default" | "acceptEdits");
            assert!(if asks { is_ask(decision) } else { is_deny(decision) }, "{mode}: {command}");
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
    assert_eq!(rule, "this mode asks nobody, and no rule allows `cargo run`");
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
fn in_bypass_what_cannot_be_seen_is_refused_and_says_why_where_anything_is_denied() {
    let permissions = Place::new().with(json!({
        "defaultMode": "bypassPermissions", "deny": ["run_shell(rm -rf *)", "read_file(.env)"]
    }));
    for (command, why) in [
        ("echo rm -rf x | sh", "which command runs in the end"),
        ("$TOOL -rf x", "which command runs in the end"),
        ("sudo make", "which command runs in the end"),
        ("cat <<EOF\nEOF", "here-documents"),
        ("cat $PWD/x", "which files it names"),
        ("cd src && make", "which files it names"),
    ] {
        let Decision::Deny(refusal) = shell(&permissions, command) else { panic!("{command}") };
        let begin = "this mode asks nobody, and not understood: ";
        assert!(refusal.starts_with(begin) && refusal.contains(why), "{command}: {refusal}");
    }
    for command in ["sh x.sh", "python3 x.py", "python3 --version", "echo $X", "X=1 make"] {
        assert_eq!(shell(&permissions, command), Decision::Allow, "{command}");
    }
}

#[test]
fn in_bypass_what_names_unknown_files_runs_where_only_commands_are_denied() {
    let permissions = Place::new()
        .with(json!({ "defaultMode": "bypassPermissions", "deny": ["run_shell(rm -rf *)"] }));
    for command in ["cd src && cargo test", "cat src/*.rs", "wc -l \"$X\""] {
        assert_eq!(shell(&permissions, command), Decision::Allow, "{command}");
    }
}

#[test]
fn files_that_only_the_shell_will_find_are_asked_where_a_rule_is_about_files() {
    let rules = [json!({ "deny": ["read_file(.env)"] }), json!({ "ask": ["edit_file(secrets)"] })];
    for rules in rules {
        let permissions = Place::new().with(rules);
        for command in [
            "cat .e?v",
            "cat .en[uv]",
            "cat .*",
            "cat < .e?v",
            "cat \"$X\"",
            "cat .{env,x}",
            "cat src/*",
            "cat $(ls)",
            "ls | xargs cat",
            "head -n 1 ./.e*",
        ] {
            assert!(is_ask(shell(&permissions, command)), "{command}");
        }
        for command in ["cat '.e?v'", "cat a\\*b", "echo $X *", "ls src/*"] {
            assert_eq!(shell(&permissions, command), Decision::Allow, "{command}");
        }
    }
}

#[test]
fn the_gravest_reason_is_the_one_that_is_shown() {
    let permissions = Place::new().with(json!({
        "deny": ["run_shell(curl *)"], "ask": ["run_shell(make *)"], "allow": ["run_shell(mkdir *)"]
    }));
    for (command, why) in [
        ("touch x; rm -rf y", "`rm -rf y` deletes whole folders, with no way back"),
        ("touch x; echo > ../y", "`../y` lies outside the workspace"),
        ("touch x; make; rm -rf y", "the ask rule `run_shell(make *)` in ~/.claude/settings.json"),
        ("touch x; cat <<EOF", "not understood: here-documents are not read here"),
    ] {
        assert_eq!(shell(&permissions, command), Decision::Ask(why.into()), "{command}");
    }
}

#[test]
fn a_question_shows_what_would_change() {
    let place = Place::new();
    std::fs::write(place.work().join("lamp.txt"), "oil\nwick\n").unwrap();
    let permissions = place.load().unwrap();
    let edit = json!({ "path": "lamp.txt", "old_text": "oil", "new_text": "gas" });
    let question = permissions.question("edit_file", &edit, "why");
    assert!(question.contains("-oil\n") && question.contains("+gas\n"), "{question}");
    let write = json!({ "path": "lamp.txt", "content": "oil\nglass\n" });
    let question = permissions.question("write_file", &write, "why");
    assert!(question.contains(" oil\n-wick\n+glass\nwhy\n"), "{question}");
    let command = json!({ "command": "make" });
    assert!(permissions.question("run_shell", &command, "why").contains("work\nwhy\nRun it?"));
}

#[test]
fn an_always_is_forgotten_with_its_conversation() {
    let permissions = Place::new().load().unwrap();
    permissions.allow_always("run_shell", &json!({ "command": "make" }));
    assert_eq!(shell(&permissions, "make"), Decision::Allow);
    permissions.forget();
    assert!(is_ask(shell(&permissions, "make")));
}

#[test]
fn a_project_may_forbid_and_may_not_allow() {
    let place = Place::new();
    place.write(
        "work",
        r#"{"permissions": {
        "defaultMode": "bypassPermissions", "allow": ["run_shell"], "deny": ["run_shell(ls *)"]}}"#,
    );
    let permissions = place.load().unwrap();
    assert!(is_deny(shell(&permissions, "ls")));
    assert!(is_ask(shell(&permissions, "make")));
    let notes = permissions.notes.join("\n");
    for key in ["defaultMode", "allow"] {
        assert!(notes.contains(&format!("`permissions.{key}` ")), "{notes}");
    }
    place.write("work", r#"{"permissions": {"defaultMode": "dontAsk"}}"#);
    assert!(is_deny(shell(&place.load().unwrap(), "make")));
}

#[test]
fn settings_as_claude_code_writes_them_are_translated_and_the_rest_is_named() {
    let place = Place::new();
    let permissions = place.with(json!({
        "allow": ["Bash(npm run test:*)", "Bash(git commit -m \"x\":*)", "WebFetch(domain:example.org)", "Edit(/src/**)"],
        "deny": ["Bash(curl:*)", "Read(/.env)", "Read(//etc/shadow)", "Read(~/.ssh/**)", "Read(./secrets/**)", "WebSearch"],
        "defaultMode": "plan", "additionalDirectories": ["../docs"], "disableBypassPermissionsMode": "disable",
    }));
    assert_eq!(shell(&permissions, "npm run test -- x"), Decision::Allow);
    assert_eq!(write(&permissions, "src/a"), Decision::Allow);
    for command in ["curl x", "cat .env", "cat /etc/shadow", "cat ~/.ssh/key", "cat secrets/key"] {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
    let notes = permissions.notes.join("\n");
    for left_out in [
        "`permissions.additionalDirectories`",
        "`permissions.disableBypassPermissionsMode`",
        "`permissions.defaultMode` \"plan\"",
        "the allow rule `Bash(git commit -m \"x\":*)`",
        "the allow rule `WebFetch(domain:example.org)`",
        "the deny rule `WebSearch`",
    ] {
        assert!(notes.contains(left_out), "{left_out} in {notes}");
    }
    assert_eq!(permissions.notes.len(), 6, "{notes}");
}

#[test]
fn walking_tools_and_read_file_go_by_the_same_rules() {
    let permissions = Place::new().with(json!({
        "deny": ["read_file(secrets)", "grep_search(~/x)", "read_file(SRC/*.Key)"], "ask": ["list_files(src/a/**)"]
    }));
    for path in
        ["secrets/a/b", "src/b.key", "src/a/c", "src/b", "secret", "src/c/b.key", "Secrets/x"]
    {
        let judged = permissions.judge("read_file", &json!({ "path": path })) != Decision::Allow;
        let is_hidden = permissions.is_hidden(&permissions.workspace.join(path));
        assert_eq!(judged, is_hidden, "{path}");
    }
}

/// How long a long line takes: `cargo test -p step06 long -- --ignored --nocapture`.
#[test]
#[ignore = "it measures, and demands nothing"]
fn a_long_line() {
    let permissions = Place::new().with(json!({
        "deny": ["run_shell(rm -rf *)", "read_file(.env)", "edit_file(secrets/**)"], "allow": ["run_shell(cargo *)"]
    }));
    for command in ["ls -la src", "cat x*y", "git log --oneline", "make all", "sudo nice make"] {
        let line = [command; 3000].join("; ");
        let started = std::time::Instant::now();
        let decision = shell(&permissions, &line);
        println!("3000 times `{command}`: {:?}, {decision:?}", started.elapsed());
    }
}

#[test]
fn rules_of_user_and_project_hold_together() {
    let place = Place::new();
    place.write(
        "home",
        r#"{"permissions": {"deny": ["run_shell(rm *)"], "allow": ["run_shell(make)"]}}"#,
    );
    place.write(
        "work",
        r#"{"permissions": {"deny": ["run_shell(curl *)"], "ask": ["run_shell(make)"]}}"#,
    );
    let permissions = place.load().unwrap();
    assert!(is_deny(shell(&permissions, "rm x")) && is_deny(shell(&permissions, "curl x")));
    assert!(is_ask(shell(&permissions, "make")));
}

#[test]
fn settings_of_a_wrong_kind_are_an_error_that_names_file_and_key() {
    let cases = [
        ("not json", "line 1"),
        ("[]", "map"),
        (r#"{"permissions": []}"#, "in `permissions`"),
        (r#"{"permissions": {"defaultMode": 5}}"#, "in `permissions.defaultMode`"),
        (r#"{"permissions": {"deny": {"run_shell": true}}}"#, "in `permissions.deny`"),
        (r#"{"permissions": {"ask": [5]}}"#, "in `permissions.ask`"),
        (r#"{"permissions": {"deny": "run_shell"}}"#, "in `permissions.deny`"),
        (r#"{"permissions": {"deny": ["Bash(ls && rm *)"]}}"#, "the deny rule `Bash(ls && rm *)`"),
        (r#"{"permissions": {"ask": ["run_shell(rm *"]}}"#, "the ask rule `run_shell(rm *`"),
        (r#"{"permissions": {"deny": ["edit_file( )"]}}"#, "the deny rule `edit_file( )`"),
    ];
    for (text, named) in cases {
        let place = Place::new();
        place.write("home", text);
        let error = format!("{:#}", place.load().err().expect(text));
        let begin = "~/.claude/settings.json is not valid: ";
        assert!(error.starts_with(begin) && error.contains(named), "{error}");
    }
}

#[test]
fn a_settings_file_that_cannot_be_read_is_an_error() {
    let place = Place::new();
    std::fs::create_dir_all(place.folder.path().join("home/.claude/settings.json")).unwrap();
    assert!(place.load().is_err());
}

#[test]
fn what_the_settings_say_and_nobody_does_is_noted() {
    let permissions = Place::new().with(json!({
        "denny": ["run_shell"], "defaultMode": "bypas", "deny": ["run_shel(rm *)"], "allow": ["run_shell()", "edit_file( )"]
    }));
    let notes = permissions.notes.join("\n");
    for named in [
        "`permissions.denny` [\"run_shell\"] in ~/.claude/settings.json is left out: it is not known",
        "`permissions.defaultMode` \"bypas\" in ~/.claude/settings.json is left out",
        "the deny rule `run_shel(rm *)` in ~/.claude/settings.json cannot be understood",
        "the allow rule `run_shell()` in ~/.claude/settings.json cannot be understood",
        "the allow rule `edit_file( )` in ~/.claude/settings.json cannot be understood",
    ] {
        assert!(notes.contains(named), "{named} in {notes}");
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
fn a_redirection_by_a_pattern_is_refused_in_bypass_where_anything_is_denied() {
    let permissions = Place::new()
        .with(json!({ "defaultMode": "bypassPermissions", "deny": ["edit_file(secrets/**)"] }));
    for command in ["echo > secret*/key", "echo > $x", "echo > \"$x/key\"", "echo > $(ls)"] {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
}

#[test]
fn a_path_rule_with_a_sign_that_binds_nothing_is_an_error_or_an_allow_rule_left_out() {
    for (list, rule) in [
        ("deny", "read_file(.en?)"),
        ("deny", "Read(/secrets/[ab].key)"),
        ("ask", "edit_file({src,tests}/**)"),
    ] {
        let place = Place::new();
        place.write("home", &json!({ "permissions": { list: [rule] } }).to_string());
        let error = format!("{:#}", place.load().err().expect(rule));
        let named = format!("the {list} rule `{rule}` in ~/.claude/settings.json");
        assert!(error.contains(&named) && error.contains("`*` and `**`"), "{error}");
        let permissions = Place::new().with(json!({ "allow": [rule, "edit_file(src/**)"] }));
        assert_eq!(permissions.notes.len(), 1, "{rule}");
        assert!(permissions.notes[0].contains(&format!("the allow rule `{rule}`")));
        assert_eq!(write(&permissions, "src/a"), Decision::Allow);
    }
}

#[test]
fn a_rule_of_a_tool_whose_name_only_begins_like_ours_is_noted() {
    let rules = ["BashOutput", "LSP", "ReadMcpResourceTool", "BashOutput(x)", "Bash_x(y)"];
    let permissions = Place::new().with(json!({ "deny": rules, "ask": ["EditNotebook(**)"] }));
    assert_eq!(permissions.notes.len(), 6, "{:?}", permissions.notes);
}

#[test]
fn a_path_in_the_home_folder_of_another_is_one_that_nobody_can_tell() {
    let place = Place::new();
    let commands =
        ["head -1 ~root/.profile", "cat < ~root/.profile", "rm ~root/x", "cat ~+/x", "cat ~-/x"];
    let permissions = place.with(json!({ "deny": ["read_file(/root/**)"] }));
    for command in commands {
        assert!(is_ask(shell(&permissions, command)), "{command}");
    }
    for command in ["cat '~root/x'", "cat x~", "cat ~/x", "cat a ~", "git diff HEAD~1"] {
        assert_eq!(shell(&permissions, command), Decision::Allow, "{command}");
    }
    let permissions =
        place.with(json!({ "defaultMode": "bypassPermissions", "deny": ["read_file(/root/**)"] }));
    for command in commands {
        assert!(is_deny(shell(&permissions, command)), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_unclear_where_a_rule_is_about_files() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    symlink("secrets/none", place.work().join("dangling")).unwrap();
    symlink("loop", place.work().join("loop")).unwrap();
    let section = |mode: &str, deny: &str| json!({ "defaultMode": mode, "deny": [deny] });
    let permissions = place.with(section("bypassPermissions", "edit_file(secrets/**)"));
    for path in ["dangling", "src/../dangling", "loop", "loop/a"] {
        assert!(is_deny(write(&permissions, path)), "{path}");
        assert!(is_deny(shell(&permissions, &format!("cp x {path}"))), "{path}");
        assert!(is_deny(shell(&permissions, &format!("echo > {path}"))), "{path}");
    }
    assert_eq!(write(&permissions, "src/a"), Decision::Allow);
    let permissions = place.with(section("bypassPermissions", "run_shell(rm *)"));
    assert_eq!(shell(&permissions, "cp x dangling"), Decision::Allow);
    let permissions = place.with(section("default", "read_file(secrets/**)"));
    assert!(is_ask(shell(&permissions, "cat dangling")));
    assert!(is_ask(permissions.judge("read_file", &json!({ "path": "dangling" }))));
    let permissions = place.with(section("default", "run_shell(rm *)"));
    assert_eq!(shell(&permissions, "cat dangling"), Decision::Allow);
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
