//! The stage, with a real program on it and a real (scripted) model behind it.

mod little;

use lesson::stage::{Interrupted, play};
use little::{a_play, played, scene_dir, wrong};

const TWO_HOPS: &str = r#"
title = "Find the port"
proves = "answer"
fill = ["b.txt"]

[random]
port = "int:1024..65535"

[[main]]
user = "Which port?"

[[main]]
say = "I look into a.txt."
[[main.call]]
read_file.path = "a.txt"
returns = "b.txt"

[[main]]
[[main.call]]
read_file.path = "b.txt"
capture.seen = 'port = (\d+)'

[[main]]
say = "It is <<seen>>."

[verify]
answer = "It is <<port>>."
requests = 3
kept = { file = "b.txt", unchanged = true }
shown = { screen = "I look into a.txt." }
order = { order = ["request 1", "screen I look", "request 2", "reply 3", "screen It is"] }
"#;

fn two_hops() -> tempfile::TempDir {
    scene_dir(&[("workspace/a.txt", "see b.txt\n"), ("workspace/b.txt", "port = <<port>>\n")])
}

/// Not a test: the program on the stage.
#[tokio::test]
#[ignore = "this is the little agent, started by the other tests"]
async fn agent() {
    if std::env::var_os("LESSON_AGENT").is_none() {
        return;
    }
    // The test harness has begun a line.
    println!();
    little::live().await;
}

#[tokio::test]
async fn a_story_is_played_to_its_end_and_verified() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "none").await;
    let failed: Vec<_> = outcome.rules.iter().filter(|rule| rule.verdict.is_err()).collect();
    assert!(outcome.holds(), "{failed:#?}\n{}", outcome.output);
    let names: Vec<&str> = outcome.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["answer", "requests", "kept", "shown", "order", "script", "protocol"]);
    assert!(outcome.output.contains("● I look into a.txt."), "{}", outcome.output);
}

#[tokio::test]
async fn the_same_seed_gives_the_same_run() {
    let dir = two_hops();
    let one = played(dir.path(), TWO_HOPS, "none").await.output;
    assert_eq!(played(dir.path(), TWO_HOPS, "none").await.output, one);
}

#[tokio::test]
async fn rules_about_the_screen_are_left_out_for_other_programs() {
    let dir = two_hops();
    let mut other = a_play(dir.path(), TWO_HOPS, "none");
    other.ours = false;
    let outcome = play(other).await.expect("played");
    assert_eq!(outcome.left_out, ["shown"]);
    assert!(outcome.rules.iter().all(|rule| rule.name != "shown"));
}

#[tokio::test]
async fn a_program_that_ends_early_is_told_with_its_last_words() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "ends at once").await;
    let wrong = wrong(&outcome, "script");
    let scene = dir.path().join("scene.toml").display().to_string();
    let told = format!(
        "the program ended with exit code 3; it said last: I do not feel like it\n\
         {scene}:12 was never reached: the model says “I look into a.txt.” (nor were 2 more)"
    );
    assert_eq!(wrong, told);
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_at_the_time_limit() {
    let dir = two_hops();
    let scene = format!("time_limit = 1\n{TWO_HOPS}");
    let outcome = played(dir.path(), &scene, "hangs").await;
    let wrong = wrong(&outcome, "script");
    assert!(wrong.starts_with("no request came within 1 s, and the program was ended"), "{wrong}");
    assert_eq!(self::wrong(&outcome, "protocol"), "no request came at all");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_does_nothing_is_not_waited_for_to_the_time_limit() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "hangs").await;
    let wrong = wrong(&outcome, "script");
    let told = "no request came; the program was quiet for 10 s, and was ended";
    assert!(wrong.starts_with(told), "{wrong}");
}

#[tokio::test]
async fn a_program_that_prints_for_ever_is_ended() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "prints for ever").await;
    let wrong = wrong(&outcome, "script");
    assert!(wrong.starts_with("the program writes without end, and was ended"), "{wrong}");
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_fail_the_script_and_nothing_else() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "prints bytes").await;
    assert_eq!(wrong(&outcome, "script"), "the program wrote bytes that are not UTF-8");
    assert_eq!(wrong(&outcome, "answer"), "");
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_shows_nothing_plays_on_and_has_no_answer() {
    let dir = two_hops();
    let outcome = played(dir.path(), TWO_HOPS, "closes its output").await;
    assert_eq!(wrong(&outcome, "requests"), "");
    assert_eq!(wrong(&outcome, "answer").split(", and").last(), Some(" is empty"));
}

#[tokio::test]
async fn what_stands_on_standard_error_is_shown_and_is_no_answer() {
    let dir = two_hops();
    let scene = TWO_HOPS.replace("requests = 3", "warned = { screen = \"It is 0.\" }");
    let outcome = played(dir.path(), &scene, "warns").await;
    assert_eq!(wrong(&outcome, "warned"), "");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_error() {
    let dir = two_hops();
    let mut none = a_play(dir.path(), TWO_HOPS, "none");
    none.program = vec!["no-such-program".into()];
    let error = play(none).await.expect_err("there is no such program");
    assert!(!error.is::<Interrupted>());
    assert!(format!("{error:#}").starts_with("starting `no-such-program`"), "{error:#}");
}

const TWO_QUESTIONS: &str = r#"
title = "Ask"
proves = "answer"

[[main]]
user = "Ask me."

[[main]]
[[main.call]]
ask.what = "one"
returns = "y"
[[main.call]]
ask.what = "two"
returns = "n"

[[main]]
answer = "y"

[[main]]
answer = "n"

[[main]]
say = "Good."

[[main]]
types = "/cost"
until = "cost: done"

[[main]]
user = "And now?"

[[main]]
say = "Better."

[verify]
answer = "Better."
"#;

#[tokio::test]
async fn answers_and_commands_are_handed_over_in_their_turn() {
    let dir = scene_dir(&[]);
    let outcome = played(dir.path(), TWO_QUESTIONS, "none").await;
    assert!(outcome.holds(), "{:#?}\n{}", outcome.rules, outcome.output);
}

#[tokio::test]
async fn yes_answers_every_question() {
    let dir = scene_dir(&[]);
    let scene = TWO_QUESTIONS.replace("[[main]]\nanswer = \"y\"\n\n[[main]]\nanswer = \"n\"\n", "");
    let mut yes = a_play(dir.path(), &scene.replace("returns = \"n\"", "returns = \"y\""), "none");
    yes.yes = true;
    let outcome = play(yes).await.expect("played");
    assert!(outcome.holds(), "{:#?}\n{}", outcome.rules, outcome.output);
}

#[tokio::test]
async fn a_question_without_an_answer_closes_the_input_and_fails_the_script() {
    let dir = scene_dir(&[]);
    let scene = TWO_QUESTIONS.replace("[[main]]\nanswer = \"n\"\n", "");
    let outcome = played(dir.path(), &scene, "none").await;
    let wrong = wrong(&outcome, "script");
    let told = "the program asked, and the scene has no answer: ? May I? [y/n/a]";
    assert!(wrong.starts_with(told), "{wrong}");
}

#[tokio::test]
async fn a_program_that_stays_on_after_the_end_of_its_input_is_told_to_end() {
    let dir = two_hops();
    let scene = format!("time_limit = 2\n{TWO_HOPS}");
    let outcome = played(dir.path(), &scene, "stays on").await;
    let wrong = wrong(&outcome, "script");
    assert!(wrong.starts_with("the program did not end when its input had ended"), "{wrong}");
}

/// One turn with one call of `sh`.
fn shell_scene(line: &str, more: &str) -> String {
    format!(
        "title = \"Shell\"\nproves = \"answer\"\n[[main]]\nuser = \"Go.\"\n[[main]]\n\
         [[main.call]]\nsh.line = '''{line}'''\n{more}\n[[main]]\nsay = \"Done.\"\n\
         [verify]\nanswer = \"Done.\"\n"
    )
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_program_started_ends_with_it_though_it_left_the_group() {
    let dir = scene_dir(&[]);
    let line = "setsid sleep 617 >/dev/null 2>&1 & echo $!";
    let outcome = played(dir.path(), &shell_scene(line, ""), "none").await;
    assert!(outcome.holds(), "{:#?}\n{}", outcome.rules, outcome.output);
    let shown = outcome.output.lines().find_map(|line| line.trim().strip_prefix("│ "));
    let id: u32 = shown.and_then(|id| id.parse().ok()).expect("the id is shown");
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{id} lives on");
}

#[tokio::test]
async fn the_environment_is_cleared() {
    let dir = scene_dir(&[]);
    let scene = shell_scene("", "")
        .replace("sh.line = ''''''", "env = {}\ncapture.names = '(?s).*'")
        + "names = { request = \"last\", holds = [\"ANTHROPIC_API_KEY\", \"HOME\", \"NO_PROXY\"], \
           lacks = [\"CARGO_MANIFEST_DIR\", \"CARGO_HOME\", \"USER\\n\", \"PWD\"] }\n";
    let outcome = played(dir.path(), &scene, "none").await;
    assert_eq!(wrong(&outcome, "names"), "");
}

#[tokio::test]
async fn the_stage_acts_from_outside_before_the_reply() {
    let dir = scene_dir(&[("workspace/log.txt", "one\ntwo\n"), ("workspace/old.txt", "")]);
    let stage = "stage.write = { path = \"new.txt\", text = \"written\" }\n\
                 stage.remove = \"old.txt\"\nstage.cut = { path = \"*.txt\", bytes = 1 }\n";
    let stage = stage.replace("*.txt", "log*");
    let scene = shell_scene("cat new.txt log.txt; ls old.txt 2>&1; cat \"$LESSON_CLOCK_FILE\"", "")
        .replace(
            "[[main]]\n[[main.call]]",
            &format!("[[main]]\n{stage}stage.clock = 90\n[[main.call]]"),
        )
        .replace(
            "'''\n",
            "'''\nreturns = [\"writtenone\\ntwo\", \"old.txt\", \"90\"]\nlacks = \"two\\n9\"\n",
        );
    let outcome = played(dir.path(), &scene, "none").await;
    assert_eq!(wrong(&outcome, "script"), "", "{}", outcome.output);
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_makes_pipes_of_the_scene_s_files_holds_nobody() {
    let dir = scene_dir(&[("workspace/notes.txt", "old")]);
    let scene = shell_scene("rm notes.txt; mkfifo notes.txt", "")
        + "kept = { file = \"notes.txt\", holds = \"old\" }\n";
    let outcome = played(dir.path(), &scene, "none").await;
    assert_eq!(wrong(&outcome, "kept"), "notes.txt is a pipe or a device");

    let write = "stage.write = { path = \"notes.txt\", text = \"new\" }\nsay = \"Done.\"";
    let scene = scene.replace("say = \"Done.\"", write);
    let outcome = played(dir.path(), &scene, "none").await;
    let told = "the story stopped where the scene does something from outside: \
                notes.txt cannot be written: it is a pipe or a device";
    assert!(wrong(&outcome, "script").starts_with(told), "{}", wrong(&outcome, "script"));
}

#[cfg(unix)]
#[tokio::test]
async fn what_verifies_has_the_scene_s_time() {
    let dir = scene_dir(&[]);
    let scene = format!(
        "time_limit = 2\n{}one = {{ command = \"sleep 619\" }}\ntwo = {{ command = \"true\" }}\n",
        shell_scene("true", "")
    );
    let outcome = played(dir.path(), &scene, "none").await;
    let (one, two) = (wrong(&outcome, "one"), wrong(&outcome, "two"));
    assert!(one.starts_with("`sleep 619` did not end within "), "{one}");
    assert_eq!(two, "`true` was not run: the scene's time was over before");
}

#[tokio::test]
async fn a_killed_program_is_started_again_and_goes_on() {
    let dir = scene_dir(&[]);
    let scene = r#"
title = "Kill"
proves = "answer"

[[main]]
user = "One."

[[main]]
say = "never seen"
stage.kill = true
stage.restart = ["resumed"]

[[main]]
user = "Two."

[[main]]
say = "Here again."

[verify]
answer = "Here again."
requests = 2
"#;
    let outcome = played(dir.path(), scene, "none").await;
    assert!(outcome.holds(), "{:#?}\n{}", outcome.rules, outcome.output);
    assert!(!outcome.output.contains("never seen"), "{}", outcome.output);
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupt_reaches_the_program() {
    let dir = scene_dir(&[]);
    let scene = "title = \"Stop\"\nproves = \"requests\"\n[[main]]\nuser = \"Go.\"\n[[main]]\n\
                 say = \"x\"\nstage.interrupt = true\n[verify]\nrequests = 1\n";
    let outcome = played(dir.path(), scene, "none").await;
    // The little agent does not handle it, so it is ended by it.
    let wrong = wrong(&outcome, "script");
    assert!(wrong.starts_with("the program was ended by a signal"), "{wrong}");
}

#[cfg(unix)]
#[tokio::test]
async fn after_an_interrupt_the_next_line_is_handed_over() {
    let dir = scene_dir(&[]);
    let scene = "title = \"Stop\"\nproves = \"answer\"\n[[main]]\nuser = \"One.\"\n[[main]]\n\
                 say = \"never seen\"\nstage.interrupt = true\n[[main]]\nuser = \"Two.\"\n\
                 [[main]]\nsay = \"Here again.\"\n[verify]\nanswer = \"Here again.\"\n\
                 shown = { screen = \"interrupted\" }\n";
    let outcome = played(dir.path(), scene, "survives Ctrl+C").await;
    assert!(outcome.holds(), "{:#?}\n{}", outcome.rules, outcome.output);
    assert!(!outcome.output.contains("never seen"), "{}", outcome.output);
}

#[tokio::test]
async fn the_trace_holds_every_request_and_reply() {
    let dir = two_hops();
    let file = dir.path().join("trace.json");
    let mut traced = a_play(dir.path(), TWO_HOPS, "none");
    traced.trace = Some(file.clone());
    let outcome = play(traced).await.expect("played");
    assert_eq!(outcome.remains, [format!("trace: 3 requests in {}", file.display())]);
    let trace = std::fs::read_to_string(file).expect("written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    assert_eq!(trace.as_array().map(Vec::len), Some(3));
    assert_eq!(trace[0]["request"]["messages"][0]["content"], "Which port?");
    assert_eq!(trace[2]["reply"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_trace_that_cannot_be_written_is_refused_before_the_run() {
    let dir = two_hops();
    let mut traced = a_play(dir.path(), TWO_HOPS, "hangs");
    traced.trace = Some(dir.path().join("no-such-folder").join("trace.json"));
    let error = play(traced).await.expect_err("there is no such folder");
    assert!(format!("{error:#}").starts_with("the trace cannot be written to"), "{error:#}");
}
