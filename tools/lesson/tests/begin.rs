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
        ("a_later_scene_fails_as_it_should_and_says_so", later_scene),
        ("an_exercise_is_played_from_its_folder", exercise),
        ("a_crate_of_your_own_says_whose_story_it_plays_and_what_fits_there", own_crate),
        ("every_line_of_what_comes_next_leads_somewhere", what_next),
        ("live_names_what_is_missing_and_wants_no_brakes", live_refused),
        ("a_crate_of_your_own_wants_no_brakes_before_its_code_asks", own_crate_live),
        ("live_works_in_a_copy", live_in_a_copy),
        #[cfg(unix)]
        ("the_copy_of_a_live_run_goes_when_the_system_ends_it", live_terminated),
        #[cfg(unix)]
        ("ctrl_c_ends_everything_and_is_exit_130", ctrl_c),
        #[cfg(unix)]
        ("ctrl_c_while_verifying_is_exit_130_too", ctrl_c_while_verifying),
        ("keep_names_the_folder", keep),
        #[cfg(target_os = "linux")]
        ("a_daemon_with_an_empty_environment_ends_with_the_run", daemon),
        #[cfg(target_os = "linux")]
        ("a_child_from_before_the_run_is_spared", child_from_before),
        #[cfg(target_os = "linux")]
        ("a_tool_has_no_terminal_to_draw_on_or_to_read_from", no_terminal),
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
    assert!(shown.contains("  07-play/scene.toml:2: "), "{shown}");
}

fn bad_use() {
    let steps = a_step("07", SCENE);
    let (code, shown) = run(steps.path(), "--scene 99");
    assert_eq!((code, shown.as_str()), (2, "error: there is no scene 99: there are 07-play\n"));
    let (code, shown) = run(steps.path(), "--bogus");
    assert_eq!(code, 2);
    assert!(shown.contains("'--bogus'") && !shown.contains("-- --bogus"), "{shown}");
    let (code, shown) = run(steps.path(), "--trace no/such/folder/t.json");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.starts_with("error: the trace cannot be written to no/such/"), "{shown}");
    assert_eq!(run(steps.path(), "--version"), (0, "step07 0.1.0\n".to_string()));
}

/// A second step beside the first, with a scene.
fn a_neighbour(steps: &Path, folder: &str, scene: &str) {
    let step = steps.join(folder);
    std::fs::create_dir_all(step.join("workspace")).expect("made");
    std::fs::write(step.join("scene.toml"), scene).expect("written");
    std::fs::write(step.join("workspace/b.txt"), "port = <<port>>\n").expect("written");
    std::fs::write(step.join("Cargo.toml"), "[package]\ndescription = \"it knows\"\n")
        .expect("written");
}

fn later_scene() {
    let steps = a_step("07", SCENE);
    let wrong =
        SCENE.replace("title = ", "proves = \"answer\"\ntitle = ").replace("<<port>>.", "there.");
    a_neighbour(steps.path(), "08-next", &wrong);
    let (code, shown) = run(steps.path(), "--scene 8");
    assert_eq!(code, 1, "{shown}");
    let told = "\nas it should be: step07 lacks what step08 adds (rule `answer`)\n";
    assert!(shown.contains(told), "{shown}");
    assert!(shown.contains("\nnew in this step: it knows\n"), "{shown}");
    let (_, shown) = run(steps.path(), "");
    assert!(!shown.contains("as it should be") && !shown.contains("new in this step"), "{shown}");
}

fn exercise() {
    let steps = a_step("07", SCENE);
    let book = tempfile::tempdir().expect("a temporary folder");
    let wrong =
        SCENE.replace("title = ", "proves = \"answer\"\ntitle = ").replace("<<port>>.", "there.");
    a_neighbour(book.path(), "07-exercise", &wrong);
    let folder = book.path().join("07-exercise");
    let (code, shown) = run(steps.path(), &format!("--scene {}", folder.display()));
    assert_eq!(code, 1, "{shown}");
    let head = format!("step07 plays the scene in {}\n", folder.display());
    assert!(shown.starts_with(&head), "{shown}");
    let told = "\nas it should be until the exercise is solved (rule `answer`)\n";
    assert!(shown.contains(told), "{shown}");
}

/// `my-agent` beside a step, as `lesson start` makes it, and the command that runs it.
fn an_own_crate(steps: &Path, story: &str, args: &str) -> Command {
    a_neighbour(steps, "my-agent", SCENE);
    let manifest = format!(
        "[package]\ndescription = \"it knows\"\n[package.metadata.lesson]\nstory = \"{story}\"\n"
    );
    std::fs::write(steps.join("my-agent/Cargo.toml"), manifest).expect("written");
    let mut command = command(steps, args);
    command.env("MINI_STEP", steps.join("my-agent"));
    command
}

fn own_crate_live() {
    let steps = a_step("07", SCENE);
    for (story, wants) in [("02", true), ("06", true), ("07", false)] {
        let mut command = an_own_crate(steps.path(), story, "--live");
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
        command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        let (_, shown) = told(command.output().expect("it runs"));
        assert_eq!(shown.contains("add --no-brakes"), wants, "{story}: {shown}");
    }
}

fn own_crate() {
    let steps = a_step("07", SCENE);
    let mut own = an_own_crate(steps.path(), "02", "--seed 7");
    let (code, shown) = told(own.output().expect("it runs"));
    assert_eq!(code, 0, "{shown}");
    let head = "my-agent · in the story of step 02 · Find the port\nnew in this step: it knows\n";
    assert!(shown.starts_with(head), "{shown}");
    let program = std::env::current_exe().expect("this program");
    let check = format!("  cargo run -p lesson -- check 02 -- {}\n", program.display());
    assert!(shown.contains(&check), "{shown}");
    assert!(shown.contains("  cargo run -p lesson -- start 03 FOLDER\n"), "{shown}");
    assert!(!shown.contains("delete a line"), "what to try speaks of our own step: {shown}");
}

fn what_next() {
    let steps = a_step("07", SCENE);
    let (_, shown) = run(steps.path(), "");
    assert!(!shown.contains("--diff"), "there is nothing before it: {shown}");
    a_neighbour(steps.path(), "09-next", SCENE);
    let mut later = command(steps.path(), "");
    later.env("MINI_STEP", steps.path().join("09-next"));
    let (code, shown) = told(later.output().expect("it runs"));
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("cargo run -p step09 -- --diff "), "{shown}");
    let same = "cargo run -p step07 -- --scene 09   the same story without it";
    assert!(shown.contains(same), "{shown}");
}

fn live_refused() {
    let steps = a_step("02", SCENE);
    let (code, shown) = run(steps.path(), "--live");
    assert_eq!(code, 2, "{shown}");
    insta::assert_snapshot!("live_without_variables", shown);
    assert_eq!(shown.lines().find(|line| line.chars().count() > 80), None);
    let mut command = command(steps.path(), "--live");
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
    let (code, shown) = told(command.output().expect("it runs"));
    assert_eq!(code, 2, "{shown}");
    insta::assert_snapshot!("live_without_no_brakes", shown);
    let wide = |line: &&str| line.chars().count() > 80;
    assert_eq!(shown.lines().find(wide), None);
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
fn live_terminated() {
    use std::io::{BufRead, BufReader};
    let steps = a_step("02", SCENE);
    let mut command = command(steps.path(), "--live --no-brakes");
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_MODEL", "m");
    command.env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    // The agent waits for a line that does not come.
    let mut stage = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(stage.stdout.take().expect("piped")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), "live · step02 · m · http://127.0.0.1:9");
    let room = line().strip_prefix("works in ").expect("its folder").to_string();
    let is_told = |line: String| line == "type a line, end with Ctrl+D";
    while !is_told(line()) {}
    assert!(Path::new(&room).is_dir(), "{room}");
    let id = stage.id().to_string();
    // It listens for the signal once the agent is started.
    let children = format!("/proc/{id}/task/{id}/children");
    while std::fs::read_to_string(&children).is_ok_and(|ids| ids.trim().is_empty()) {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    Command::new("kill").args(["-TERM", &id]).status().expect("kill runs");
    stage.wait().expect("it ends");
    assert!(!Path::new(&room).exists(), "{room} stays");
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

/// `SCENE` with a command line instead of its first call.
#[cfg(target_os = "linux")]
fn a_step_with_line(line: &str) -> tempfile::TempDir {
    let call = "read_file.path = \"b.txt\"\ncapture.seen = 'port = (\\d+)'";
    assert!(SCENE.contains(call));
    let scene = SCENE.replace(call, &format!("sh.line = '''{line}'''"));
    a_step("07", &scene.replace("It is <<seen>>.", "Done.").replace("It is <<port>>.", "Done."))
}

#[cfg(target_os = "linux")]
fn lives(id: &str) -> bool {
    Path::new("/proc").join(id).exists()
}

#[cfg(target_os = "linux")]
fn daemon() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = dir.path().join("pid");
    let sleeper = format!("sleep 7779 >/dev/null 2>&1 & echo \\$! > {}", file.display());
    let steps = a_step_with_line(&format!("env -i setsid sh -c \"{sleeper}\""));
    let (code, shown) = run(steps.path(), "");
    assert_eq!(code, 0, "{shown}");
    let id = std::fs::read_to_string(file).expect("the daemon was started");
    assert!(!lives(id.trim()), "the daemon {id} lives on");
}

/// The step's command, started by another program with these words before it.
#[cfg(target_os = "linux")]
fn command_by(program: &str, words: &[&str], steps: &Path) -> Command {
    let step = command(steps, "");
    let mut by = Command::new(program);
    by.env_clear().args(words).current_dir(steps).stdin(Stdio::null());
    by.envs(step.get_envs().filter_map(|(name, value)| Some((name, value?))));
    by.env("STEP", step.get_program());
    by
}

#[cfg(target_os = "linux")]
fn child_from_before() {
    let steps = a_step("07", SCENE);
    let file = steps.path().join("pid");
    // The shell becomes the step, which then has a child that it has not started.
    let line = format!("sleep 618 & echo $! > '{}'; exec \"$STEP\"", file.display());
    let mut shell = command_by("sh", &["-c", &line], steps.path());
    // The sleeper would hold a pipe.
    let status = shell.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it runs");
    let id = std::fs::read_to_string(file).expect("written");
    let lived = lives(id.trim());
    Command::new("kill").arg(id.trim()).stderr(Stdio::null()).status().expect("kill runs");
    assert_eq!(status.code(), Some(0));
    assert!(lived, "the child {id} was ended");
}

#[cfg(target_os = "linux")]
fn no_terminal() {
    let steps = a_step_with_line("printf DRAWN > /dev/tty; read x < /dev/tty; echo over");
    // `script` gives the stage a terminal.
    let words = ["-qec", "\"$STEP\" --pace 0", "/dev/null"];
    let Ok(output) = command_by("script", &words, steps.path()).output() else {
        eprintln!("skipped: there is no `script` that could give the stage a terminal");
        return;
    };
    let (code, shown) = told(output);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("over"), "{shown}");
    // The call is shown with the word in it; what is drawn has nothing before it.
    assert!(!shown.replace("printf DRAWN", "").contains("DRAWN"), "{shown}");
}

fn keep() {
    let steps = a_step("07", SCENE);
    let (code, shown) = run(steps.path(), "--keep --trace t.json");
    assert_eq!(code, 0, "{shown}");
    let mut last = shown.lines().rev();
    let kept = last.next().and_then(|line| line.strip_prefix("kept: ")).expect("it is named");
    assert_eq!(last.next(), Some("trace: 2 requests in t.json"));
    let text =
        std::fs::read_to_string(Path::new(kept).join("workspace/b.txt")).expect("it is kept");
    assert!(text.starts_with("port = ") && !text.contains('<'), "{text}");
}
