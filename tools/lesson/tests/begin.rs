//! A step as a learner starts it. This test program is the step: it starts itself, as the stage
//! does, so it has a `main` of its own and prints like the usual harness.

#[allow(dead_code, reason = "this file uses the agent and not the plays")]
mod little;

use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENE: &str = r#"
title = "Find the port"
fill = ["b.txt"]
next = ["In agent.rs, delete a line and run again: the port is not found any more, since nothing is."]

[random]
port = "int:1024..65535"

[[main]]
user = "Which port does the lighthouse listen on, and is it the one that the notes say it is?"

[[main]]
say = "I look into b.txt, where such things stand. 灯台の記録も見る。"
[[main.call]]
read_file.path = "b.txt"
capture.seen = 'port = (\d+)'
[[main.call]]
read_file.path = "missing/with/a/long/name/that/does/not/fit/into/a/narrow/terminal.txt"
[[main.call]]
sh.line = "printf '\\033[2Jcleared\\033]0;title\\007\\none\\ttwo\\n'"

[[main]]
say = "It is <<seen>>."

[verify]
answer = "It is <<port>>."
"#;

fn main() {
    if std::env::var_os("MINI_STEP").is_some() || std::env::var_os("LESSON_AGENT").is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            lesson::begin(&std::env::var("MINI_STEP").unwrap_or_default()).await;
            little::live().await
        });
    }
    let tests: &[(&str, fn())] = &[
        ("a_step_plays_without_cargo_and_behind_a_proxy", without_cargo),
        ("screens_look_as_they_should", screens),
        ("a_failed_rule_is_exit_1_and_says_how_to_look", failed_rule),
        ("a_scene_with_faults_is_told_by_file_and_line", bad_scene),
        ("bad_use_is_exit_2", bad_use),
        ("live_names_what_is_missing_and_wants_no_brakes", live_refused),
        ("live_works_in_a_copy", live_in_a_copy),
        #[cfg(unix)]
        ("ctrl_c_ends_everything_and_is_exit_130", ctrl_c),
        #[cfg(unix)]
        ("ctrl_c_while_verifying_is_exit_130_too", ctrl_c_while_verifying),
        ("keep_names_the_folder", keep),
    ];
    let wanted = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, test) in tests.iter().filter(|(name, _)| name.contains(&wanted)) {
        test();
        println!("test {name} ... ok");
    }
}

/// `steps/NN-…` with the scene, below a folder of its own.
fn a_step(number: &str, scene: &str) -> tempfile::TempDir {
    let steps = little::scene_dir(&[]);
    let step = steps.path().join(format!("{number}-play"));
    std::fs::create_dir_all(step.join("workspace")).expect("made");
    std::fs::write(step.join("scene.toml"), scene).expect("written");
    std::fs::write(step.join("workspace/b.txt"), "port = <<port>>\n").expect("written");
    steps
}

/// The step's command with nothing in its environment but the PATH.
fn command(steps: &Path, args: &str) -> Command {
    let step = std::fs::read_dir(steps).expect("there").flatten().map(|entry| entry.path());
    let step = step.filter(|path| path.join("scene.toml").is_file()).min().expect("a step");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env_clear().env("MINI_STEP", step).args(args.split_whitespace());
    command.env("PATH", std::env::var_os("PATH").expect("there is a PATH"));
    command.env("TMPDIR", steps).current_dir(steps).stdin(Stdio::null());
    command
}

fn run(steps: &Path, args: &str) -> (i32, String) {
    told(command(steps, args).output().expect("it runs"))
}

fn told(output: Output) -> (i32, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

fn without_cargo() {
    let steps = a_step("07", SCENE);
    let mut command = command(steps.path(), "");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        // Nobody listens there.
        command.env(name, "http://127.0.0.1:9");
    }
    command.env("CARGO_HOME", "/nowhere").env("RUSTFLAGS", "--no-such-flag");
    let (code, shown) = told(command.output().expect("it runs"));
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("✓ the answer holds"), "{shown}");
    let left: Vec<_> = std::fs::read_dir(steps.path()).expect("there").flatten().collect();
    let lantern = left.iter().any(|e| e.file_name().to_string_lossy().starts_with("lantern-"));
    assert!(!lantern, "the temporary folder stays: {left:?}");
}

fn screens() {
    let steps = a_step("07", SCENE);
    for (name, width, colour) in [("usual", "80", "0"), ("narrow", "40", "0"), ("wide", "120", "1")]
    {
        let mut command = command(steps.path(), "--seed 7");
        command.env("LESSON_WIDTH", width).env("LESSON_COLOR", colour);
        let (code, shown) = told(command.output().expect("it runs"));
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains("\x1b[2J"), "an escape sequence of a tool reached the terminal");
        insta::assert_snapshot!(name, shown.replace('\x1b', "ESC"));
    }
    let mut command = command(steps.path(), "--seed 7");
    command.env("LESSON_COLOR", "1").env("NO_COLOR", "1");
    let (_, shown) = told(command.output().expect("it runs"));
    assert!(!shown.contains('\x1b'), "NO_COLOR is not obeyed: {shown}");
}

fn failed_rule() {
    let steps =
        a_step("07", &SCENE.replace("say = \"It is <<seen>>.\"", "say = \"I do not know.\""));
    let (code, shown) = run(steps.path(), "--seed 7");
    assert_eq!(code, 1, "{shown}");
    insta::assert_snapshot!("failed", shown);
}

fn bad_scene() {
    let steps = a_step("07", &SCENE.replace("title", "titel"));
    let (code, shown) = run(steps.path(), "");
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("scene.toml:2: "), "{shown}");
}

fn bad_use() {
    let steps = a_step("07", SCENE);
    let (code, shown) = run(steps.path(), "--scene 99");
    assert_eq!((code, shown.as_str()), (2, "error: there is no scene `99`; there are: 07-play\n"));
    assert_eq!(run(steps.path(), "--no-such-switch").0, 2);
    assert_eq!(run(steps.path(), "--version"), (0, "step07 0.1.0\n".to_string()));
}

fn live_refused() {
    let steps = a_step("02", SCENE);
    let (code, shown) = run(steps.path(), "--live");
    assert_eq!(code, 2, "{shown}");
    insta::assert_snapshot!("live_without_variables", shown);
    let mut command = command(steps.path(), "--live");
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
    let (code, shown) = told(command.output().expect("it runs"));
    assert_eq!(code, 2, "{shown}");
    insta::assert_snapshot!("live_without_no_brakes", shown);
}

fn live_in_a_copy() {
    let steps = a_step("02", SCENE);
    let scene = mock_server::Scene::parse(
        "title = \"Live\"\n[[main]]\nuser = \"Go.\"\n[[main]]\n[[main.call]]\nsh.line = \"pwd; ls; echo x > new\"\n\
         [[main]]\nsay = \"Done.\"\n[verify]\nanswer = \"Done.\"\n",
        Path::new("scene.toml"),
    );
    let options = mock_server::Options {
        port: 0,
        values: mock_server::Values::default(),
        pace: None,
        events: None,
        rooms: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let model = mock_server::ScriptedModel::start(scene.expect("a good scene"), options);
    let model = runtime.block_on(model).expect("it starts");
    let mut command = command(steps.path(), "--live --no-brakes");
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
    command.env("ANTHROPIC_BASE_URL", model.url()).env("NO_PROXY", "127.0.0.1");
    let input = steps.path().join("input");
    std::fs::write(&input, "Go.\n").expect("written");
    command.stdin(std::fs::File::open(input).expect("there"));
    let (code, shown) = told(command.output().expect("it runs"));
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("b.txt") && shown.contains("● Done."), "{shown}");
    assert!(shown.contains("lantern-"), "the copy is not named: {shown}");
    assert!(!steps.path().join("02-play/workspace/new").exists());
}

#[cfg(unix)]
fn ctrl_c() {
    use std::io::{BufRead, BufReader};
    let line = "sh.line = \"sleep 613 & echo $! > pid; wait\"";
    let steps = a_step(
        "07",
        &SCENE
            .replace("read_file.path = \"b.txt\"\ncapture.seen = 'port = (\\d+)'", line)
            .replace("<<seen>>", "here"),
    );
    let mut stage = command(steps.path(), "").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(stage.stdout.take().expect("piped")).lines();
    lines
        .find(|line| line.as_ref().is_ok_and(|line| line.contains("→ sh")))
        .expect("the call")
        .expect("a line");
    let room = std::fs::read_dir(steps.path()).expect("there").flatten().map(|entry| entry.path());
    let room = room.filter(|path| path.join("workspace").is_dir() && path.join("home").is_dir());
    let room = room.max().expect("the run's folder");
    let sleeper = loop {
        // The shell writes it a moment after the call is shown.
        if let Ok(id) =
            std::fs::read_to_string(room.join("workspace/pid")).map(|id| id.trim().to_string())
            && !id.is_empty()
        {
            break id;
        }
        std::thread::yield_now();
    };
    let kill = |id: &str, signal: &str| {
        Command::new("kill").args([signal, id]).stderr(Stdio::null()).status()
    };
    kill(&stage.id().to_string(), "-INT").expect("kill runs");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let status = stage.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{rest:?}");
    assert!(!kill(&sleeper, "-0").expect("kill runs").success(), "the sleeper lives on");
    assert!(!room.exists(), "the temporary folder stays");
}

#[cfg(unix)]
fn ctrl_c_while_verifying() {
    use std::io::{BufRead, BufReader};
    let steps = a_step("07", &format!("{SCENE}slow = {{ command = \"sleep 614\" }}\n"));
    let mut stage = command(steps.path(), "").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(stage.stdout.take().expect("piped")).lines();
    let answer = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|l| l.contains("It is"));
    lines.find(answer).expect("the answer").expect("a line");
    let id = stage.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(stage.wait().expect("it ends").code(), Some(130), "{rest:?}");
}

fn keep() {
    let steps = a_step("07", SCENE);
    let (code, shown) = run(steps.path(), "--keep");
    assert_eq!(code, 0, "{shown}");
    let kept = shown.lines().find_map(|line| line.strip_prefix("kept: ")).expect("it is named");
    let text =
        std::fs::read_to_string(Path::new(kept).join("workspace/b.txt")).expect("it is kept");
    assert!(text.starts_with("port = ") && !text.contains('<'), "{text}");
}
