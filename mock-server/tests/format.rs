//! The scene's format: what the documentation shows is read, and what is wrong is named.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mock_server::Scene;
use mock_server::scene::{
    Call, Check, Draw, FileCheck, LineKind, Moment, StageAction, Text, Which,
};

const README: &str = include_str!("../README.md");

fn examples() -> Vec<&'static str> {
    let fenced = README.split("```toml\n").skip(1);
    fenced.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// A folder with a file to fill, beside which a scene may stand.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("workspace")).expect("a folder");
    std::fs::write(folder.path().join("workspace/settings.conf"), "port = 1\n").expect("a file");
    folder
}

const TWO_REPLIES: &str = "
[[main]]
user = \"go\"
[[main]]
call.read_file.path = \"a\"
[[main]]
say = \"done\"
";

#[test]
fn every_example_of_the_documentation_is_read() {
    let folder = folder();
    let path = folder.path().join("scene.toml");
    for example in examples() {
        let mut scene = example.to_string();
        if !example.contains("title =") {
            scene = format!("title = \"An example\"\n{scene}");
        }
        if !example.contains("[[main]]") {
            scene.push_str(TWO_REPLIES);
        }
        if let Err(wrong) = Scene::parse(&scene, &path) {
            panic!("{wrong}\n{scene}");
        }
    }
}

#[test]
fn the_documentation_has_an_example_for_every_key() {
    let examples = examples().concat();
    let keys = "title proves args time_limit pace fill next [model] context_window max_output \
                cache_minimum [parts] [random] int: hex: word one.of: user answer types until say \
                thinking stop call otherwise expect.holds expect.lacks expect.tools capture \
                returns lacks error stage.write stage.remove stage.kill stage.cut stage.restart \
                stage.interrupt stage.clock fault.status fault.retry_after_ms fault.stall \
                fault.cut fault.drop_at fault.malformed fault.error_event fault.attempts <<mark>> \
                [verify] says requests at_least at_most file holds matches equals absent \
                unchanged command exit screen request part order";
    for key in keys.split_whitespace() {
        assert!(examples.contains(&key.replace('.', " ")) || examples.contains(key), "{key}");
    }
}

fn parse(text: &str) -> Scene {
    Scene::parse(text, Path::new("scene.toml")).expect("the scene reads")
}

#[test]
fn a_scene_is_read_in_the_file_s_order() {
    let scene = parse(
        r#"title = "t"
[random]
z = "int:-3..0x10"
a = "one of: x | y z"
[[main]]
user = "go"
[[main]]
[[main.call]]
write_file = { path = "p", text = "t", deep = { z = 1, a = [true, 2.5] } }
stop = "never"
"#
        .replace("0x10", "16")
        .replace("stop = \"never\"\n", "returns = [\"x\"]\n")
        .as_str(),
    );
    let names: Vec<_> = scene.random.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(scene.random[0].1, Draw::Int(-3, 16));
    assert_eq!(scene.random[1].1, Draw::OneOf(vec!["x".into(), "y z".into()]));
    let LineKind::Reply(reply) = &scene.parts[0].lines[1].kind else { panic!("a reply") };
    let Call { at, tool, input, returns, .. } = &reply.speech.calls[0];
    assert_eq!((*at, tool.as_str(), returns.as_slice()), (8, "write_file", &["x".into()][..]));
    let written = serde_json::to_string(input).expect("JSON");
    assert_eq!(written, r#"{"path":"p","text":"t","deep":{"z":1,"a":[true,2.5]}}"#);
    assert_eq!(scene.parts[0].lines.iter().map(|line| line.at).collect::<Vec<_>>(), [5, 7]);
}

#[test]
fn what_the_stage_does_keeps_its_order() {
    let scene = parse(
        "title = \"t\"\n[[main]]\nuser = \"go\"\n[[main]]\nsay = \"x\"\nstage.kill = true\n\
         stage.cut = { path = \"*.jsonl\", bytes = 3 }\nstage.restart = [\"-r\"]\nstage.clock = 60\n",
    );
    let LineKind::Reply(reply) = &scene.parts[0].lines[1].kind else { panic!("a reply") };
    assert_eq!(
        reply.stage,
        [
            StageAction::Kill,
            StageAction::Cut { path: "*.jsonl".into(), bytes: 3 },
            StageAction::Restart(vec!["-r".into()]),
            StageAction::Clock(Duration::from_secs(60)),
        ]
    );
}

#[test]
fn rules_are_read_by_name_and_by_key() {
    let scene = parse(
        r#"title = "t"
main = [{ user = "go" }, { say = "x", stop = "pause_turn" }, { say = "y" }]
[verify]
answer = ["a", "b"]
requests = 3
kept = { file = "x", unchanged = true, says = "it is kept" }
ran = { command = "cargo test", exit = 101 }
told = { request = 2, lacks = "x" }
order = { order = ["request 2", "screen of a b", "reply 2"] }
"#,
    );
    let text = |holds: &[&str]| Text {
        holds: holds.iter().map(|text| text.to_string()).collect(),
        ..Text::default()
    };
    let checks: Vec<Check> = scene.verify.iter().map(|rule| rule.check.clone()).collect();
    assert_eq!(
        checks,
        [
            Check::Answer(text(&["a", "b"])),
            Check::Requests { at_least: 3, at_most: 3 },
            Check::File { path: "x".into(), file: FileCheck::Unchanged },
            Check::Command {
                words: vec!["cargo".into(), "test".into()],
                exit: 101,
                output: Text::default()
            },
            Check::Request {
                which: Which::Number(2),
                part: "main".into(),
                text: Text { lacks: vec!["x".into()], ..Text::default() }
            },
            Check::Order(vec![
                Moment::Request(2),
                Moment::Screen("of a b".into()),
                Moment::Reply(2)
            ]),
        ]
    );
    assert_eq!((scene.verify[2].at, scene.verify[2].says.as_deref()), (6, Some("it is kept")));
}

/// Everything that is wrong with this scene.
fn wrong(text: &str) -> String {
    let path = PathBuf::from("scene.toml");
    Scene::parse(text, &path).expect_err("the scene is refused").to_string()
}

#[test]
fn everything_that_is_wrong_is_named_at_once_with_its_line() {
    let said = wrong(
        r#"title = "t"
proves = "anwser"
fill = ["gone.conf"]
colour = "red"
[random]
port = "int:9..3"
[parts]
judge = "Is it done?"
[[main]]
user = "go on"
[[main]]
sy = "<<prot>>"
[[main]]
user = "go on, please"
[[main]]
[[main.call]]
read_file.path = "x"
write_file.path = "y"
[[main]]
say = "x"
fault.stauts = 500
capture.a = '('
[verify]
answer = "x"
kept = { fil = "x" }
"#,
    );
    let expected = [
        "scene.toml:2: `proves` names no rule of [verify]: `anwser`; there are: answer",
        "scene.toml:3: `fill` names a file that cannot be read: workspace/gone.conf",
        "scene.toml:4: unknown key `colour`; here may stand: title, proves, args",
        "scene.toml:6: `int:9..3` cannot be drawn",
        "scene.toml:8: the part `judge` has no lines: write [[judge]]",
        "scene.toml:11: this line says nothing; an empty reply is written say = \"\"",
        "scene.toml:12: unknown key `sy`",
        "scene.toml:12: nothing draws or captures `<<prot>>`; known: a, mark",
        "scene.toml:13: this user line cannot be told from the one in line 9",
        "scene.toml:16: a call names one tool, as in `read_file.path = \"a.txt\"`",
        "scene.toml:21: unknown key `stauts`; here may stand: status",
        "scene.toml:22: not a regular expression",
        "scene.toml:25: `kept` names nothing to look at",
        "scene.toml:25: unknown key `fil`",
    ];
    let named = |wanted: &&str| said.lines().any(|line| line.starts_with(*wanted));
    let missing: Vec<&&str> = expected.iter().filter(|wanted| !named(wanted)).collect();
    assert!(missing.is_empty(), "not named: {missing:#?}\nnamed:\n{said}");
    let faults = said.lines().filter(|line| line.starts_with("scene.toml:")).count();
    assert_eq!(faults, expected.len(), "{said}");
}

#[test]
fn a_fault_of_the_syntax_has_its_line() {
    let said = wrong("title = \"t\"\n[[main]\nuser = 1\n");
    assert!(said.starts_with("scene.toml:2: not valid TOML: "), "{said}");
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    let said = wrong("title = 3\ntime_limit = -1\n[[main]]\nuser = true\n");
    assert!(
        said.contains("scene.toml:1: `title` must be a text, but is of type integer"),
        "{said}"
    );
    assert!(
        said.contains("scene.toml:2: `time_limit` must be a whole number that is not"),
        "{said}"
    );
    assert!(said.contains("scene.toml:4: `user` must be a text, but is of type boolean"), "{said}");
}

#[test]
fn a_file_to_fill_may_quote_only_what_is_drawn() {
    let folder = folder();
    let file = folder.path().join("workspace/settings.conf");
    std::fs::write(file, "port = <<port>>\nshift = 1 << 3 >> 2\n").expect("a file");
    let text = "title = \"t\"\nfill = \"settings.conf\"\n[[main]]\nuser = \"go\"\n";
    let path = folder.path().join("scene.toml");
    let said = Scene::parse(text, &path).expect_err("refused").to_string();
    assert!(said.ends_with(":2: settings.conf quotes `<<port>>`, which [random] does not draw"));
}

#[test]
fn a_captured_value_cannot_be_quoted_before_it_is_captured() {
    let said = wrong(
        r#"title = "t"
[[main]]
user = "go"
[[main]]
say = "It is <<seen>>."
call.read_file.path = "a"
call.capture.seen = 'x'
"#,
    );
    assert_eq!(said, "scene.toml:4: `<<seen>>` is quoted before anything captures it (line 4)");
}

#[test]
fn a_scene_that_is_not_there_is_named() {
    let said = Scene::read(Path::new("no/such.toml")).expect_err("refused").to_string();
    assert_eq!(said, "cannot read the scene no/such.toml");
}

/// A scene of one turn, with this added to its reply (line 4) and these rules (from line 7 on).
fn one_turn(reply: &str, rules: &str) -> String {
    format!(
        "title = \"t\"\n[[main]]\nuser = \"go\"\n[[main]]\nsay = \"x\"\n{reply}\n[verify]\n{rules}\n"
    )
}

#[test]
fn what_a_reply_cannot_mean_is_named_with_its_line() {
    let cases = [
        ("stage.write = { path = \"../a\", text = \"\" }", "`../a` is no path of the story: `..`"),
        ("stage.write = { path = \"/a\", text = \"\" }", "`/a` is no path of the story: it must"),
        ("stage.write = { path = \"\", text = \"\" }", "`` is no path of the story: it is empty"),
        ("stage.write = { path = \"a\" }", "`write` needs text"),
        ("stage.write = { text = \"a\" }", "`write` needs path"),
        ("stage.remove = \"a/../../b\"", "`a/../../b` is no path of the story"),
        ("stage.remove = { path = \"..\" }", "`..` is no path of the story"),
        ("stage.cut = { path = \"~/../*\", bytes = 1 }", "`~/../*` is no path of the story"),
        ("stage.cut = { path = \"a\" }", "`cut` needs bytes"),
        ("stage = {}", "this says nothing; here may stand: write"),
        ("stage.clock = 18446744073709551615", "`clock` must be from 1 to 315360000"),
        ("stage.interrupt = \"\"", "`interrupt` holds an empty text"),
        ("otherwise = {}", "this says nothing; here may stand: say"),
        ("expect = {}", "this says nothing; here may stand: holds"),
        ("capture = {}", "this says nothing; here may stand: NAME"),
        ("fault = {}", "this says nothing; here may stand: status"),
        ("expect.holds = \"\"", "`holds` holds an empty text"),
        ("expect.lacks = []", "`lacks` holds an empty text, or none at all"),
        ("capture.a = ''", "an empty pattern captures nothing"),
        ("fault.stall = { after = 1 }", "a stall needs ms"),
        ("fault.stall = { ms = 18446744073709551615 }", "`ms` must be from 1 to 3600000"),
        ("fault.error_event = \"overload\"", "`overload` is no error of the API"),
        ("fault.status = 65936", "`status` must be from 400 to 599, but is 65936"),
        ("fault.attempts = 0", "`attempts` must be from 1"),
        ("pace = 18446744073709551615", "`pace` must be from 0 to 3600000"),
        ("[[main.call]]\n\"read file\".path = \"a\"", "no tool can be named `read file`"),
        ("[[main.call]]\nread_file.path = \"a\"\nreturns = \"\"", "`returns` holds an empty"),
    ];
    for (reply, expected) in cases {
        let line = 6 + usize::from(reply.starts_with("[[")) + reply.matches("returns").count();
        let expected = format!("scene.toml:{line}: {expected}");
        let said = wrong(&one_turn(reply, "answer = \"x\""));
        assert!(said.lines().all(|line| line.starts_with(&expected)), "{reply}\n{said}");
    }
    let torn = wrong(&one_turn("fault.malformed = true", "answer = \"x\""));
    assert!(torn.starts_with("scene.toml:4: `fault.malformed` tears"), "{torn}");
}

#[test]
fn what_a_rule_cannot_mean_is_named_with_its_line() {
    let cases = [
        ("a = { file = \"../a\", absent = true }", "`../a` is no path of the story"),
        ("a = { file = \"\", absent = true }", "`` is no path of the story"),
        ("a = { screen = \"\" }", "`screen` holds an empty text"),
        ("a = { screen = {} }", "this rule looks for nothing"),
        ("a = { screen = { holds = [\"a\", \"\"] } }", "`holds` holds an empty text"),
        ("a = { screen = { matches = '' } }", "an empty pattern matches everything"),
        ("answer = \"\"", "`answer` holds an empty text"),
        ("a = { request = 1 }", "this rule looks for nothing"),
        ("a = { request = 0, holds = \"x\" }", "`request` must be from 1"),
        ("a = { request = 99, holds = \"x\" }", "there is no request 99: main has replies for 1"),
        ("a = { order = [\"request 1\", \"reply 2\"] }", "there is no request 2"),
        ("a = { order = [\"request 1\", \"screen \"] }", "`screen ` is no moment"),
        ("a = { command = \"true\", exit = 4294967296 }", "`exit` must be from 0 to 255"),
    ];
    for (rule, expected) in cases {
        let said = wrong(&one_turn("pace = 1", rule));
        let expected = format!("scene.toml:8: {expected}");
        assert!(said.starts_with(&expected), "{rule}\n{said}");
    }
}

#[test]
fn what_is_no_conversation_is_named_with_its_line() {
    let after_title = |text: &str| wrong(&format!("title = \"t\"\n{text}"));
    let cases = [
        ("main = [{ say = \"x\" }]", "2: nothing asks for this reply"),
        ("main = [{ user = \"a\" }, { say = \"x\" }, { say = \"y\" }]", "2: nothing asks for this"),
        ("main = [{ user = \"a\" }, { user = \"b\" }]", "2: between this user line and the one"),
        ("main = [{ user = \"a\\nb\" }]", "2: what is typed is one line"),
        ("main = [{ types = \"\", until = \"x\" }]", "2: an empty line is nothing that is typed"),
        ("time_limit = 0\nmain = [{ user = \"a\" }]", "2: `time_limit` must be from 1 to 86400"),
        (
            "time_limit = 18446744073709551615\nmain = [{ user = \"a\" }]",
            "2: `time_limit` must be from 1 to 86400",
        ),
        ("model.context_window = 0\nmain = [{ user = \"a\" }]", "2: `context_window` must be"),
        ("fill = \"../a\"\nmain = [{ user = \"a\" }]", "2: `fill` names `../a`: `..` leads out"),
    ];
    for (text, expected) in cases {
        let said = after_title(text);
        assert!(said.starts_with(&format!("scene.toml:{expected}")), "{text}\n{said}");
    }
    // What asks for a reply: a call, a cut reply, a restart, what the request is known by.
    for before in ["call.list_files = {}", "stop = \"max_tokens\"", "stage.restart = []"] {
        parse(&format!(
            "{}\n",
            one_turn(before, "answer = \"x\"")
                .replace("[verify]", "[[main]]\nsay = \"y\"\n[verify]")
        ));
    }
    parse(&one_turn("[[main]]\nsay = \"y\"\nexpect.holds = \"hook\"", "answer = \"x\""));
    parse("title = \"t\"\nargs = [\"-p\", \"go\"]\n[[main]]\nsay = \"y\"\n");
}

#[test]
fn a_key_nested_too_deep_is_named_with_its_line() {
    let deep = vec!["a"; 500].join(".");
    let said =
        wrong(&format!("title = \"t\"\n[[main]]\nuser = \"go\"\n[[main]]\ncall.{deep} = 1\n"));
    assert!(said.starts_with("scene.toml:5: not valid TOML: "), "{said}");
}

#[test]
fn a_scene_that_is_not_utf_8_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scene.toml");
    std::fs::write(&path, b"title = \"t\"\n# caf\xe9\n").expect("a file");
    let said = Scene::read(&path).expect_err("refused").to_string();
    assert_eq!(said, format!("{}:2: this line is not UTF-8", path.display()));
}

#[test]
fn a_line_of_a_file_cannot_be_repeated_without_bound() {
    let folder = folder();
    std::fs::write(folder.path().join("workspace/settings.conf"), "<<n * abc>>\n").expect("a file");
    let scene = |most: &str| {
        format!(
            "title = \"t\"\nfill = \"settings.conf\"\n[random]\nn = \"int:1..{most}\"\n{TWO_REPLIES}"
        )
    };
    let path = folder.path().join("scene.toml");
    let said = Scene::parse(&scene("9000000000000000000"), &path).expect_err("refused").to_string();
    assert!(said.ends_with(":2: settings.conf repeats a line `<<n>>` times: at most 10000 may be"));
    Scene::parse(&scene("10001"), &path).expect("it is read");
    let mut values = mock_server::Values::default();
    values.set("n", "9000000000000000000".into());
    assert_eq!(values.fill_file("<<n * abc>>\n").len(), 40_000);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_to_fill() {
    let folder = folder();
    let pipe = folder.path().join("workspace/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let text = format!("title = \"t\"\nfill = \"pipe\"\n{TWO_REPLIES}");
    let said = Scene::parse(&text, &folder.path().join("scene.toml")).expect_err("refused");
    assert!(said.to_string().ends_with("workspace/pipe: it is no regular file"), "{said}");
}

#[test]
fn a_value_in_a_pattern_means_its_own_letters() {
    let mut values = mock_server::Values::default();
    values.set("file", "a.b(1)".to_string());
    assert_eq!(values.fill_pattern(r"^<<file>>: (\d+)"), r"^a\.b\(1\): (\d+)");
}
