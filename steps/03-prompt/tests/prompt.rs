use mock_server::{Options, Scene, ScriptedModel, Values};
use proptest::prelude::*;

use super::*;
use crate::model::Usage;
use crate::tools::Tools;

/// A repository with a folder two deep, and a home beside it.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = place.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(place.path("outer/inner")).unwrap();
        fs::create_dir_all(place.path(".git")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Instructions and complaints, without the folder's own path.
    fn read(&self) -> (String, Vec<String>) {
        let (text, _, complaints) =
            instructions(&self.path("outer/inner"), Some(&self.path("home")));
        let root = self.root.path().display().to_string().replace('\\', "/") + "/";
        let bare = |text: String| text.replace('\\', "/").replace(&root, "");
        (bare(text), complaints.into_iter().map(bare).collect())
    }
}

fn words(text: &str) -> Vec<PathBuf> {
    includes(text, Path::new("/p/CLAUDE.md"), Some(Path::new("/h")))
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_string() }
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message { role, content }
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: id.to_string(), name: "t".to_string(), input: json!({}) }
}

fn result(id: &str, content: &str) -> Block {
    Block::ToolResult { tool_use_id: id.into(), content: content.into(), is_error: false }
}

/// Where marks stand, as (message, block).
fn marks(messages: &[Value]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        for (place, block) in message["content"].as_array().unwrap().iter().enumerate() {
            if block.get("cache_control").is_some() {
                assert_eq!(block["cache_control"], json!({ "type": "ephemeral" }));
                found.push((number, place));
            }
        }
    }
    found
}

#[test]
fn instructions_come_from_the_folder_upward_and_the_nearest_last() {
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", "near"),
        ("outer/inner/AGENTS.md", "near agents"),
        ("outer/inner/.claude/rules/b.md", "rule b"),
        ("outer/inner/.claude/rules/a.md", "rule a"),
        ("outer/inner/.claude/rules/c.txt", "no rule"),
        ("outer/CLAUDE.md", "far"),
    ]);
    let (text, complaints) = place.read();
    assert_eq!(
        text,
        "Contents of outer/CLAUDE.md:\n\nfar\n\n\
         Contents of outer/inner/CLAUDE.md:\n\nnear\n\n\
         Contents of outer/inner/AGENTS.md:\n\nnear agents\n\n\
         Contents of outer/inner/.claude/rules/a.md:\n\nrule a\n\n\
         Contents of outer/inner/.claude/rules/b.md:\n\nrule b"
    );
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn above_the_repository_nothing_is_read() {
    let place = Place::with(&[("CLAUDE.md", "above"), ("outer/CLAUDE.md", "root")]);
    // In a worktree it is a file.
    fs::write(place.path("outer/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(place.read().0, "Contents of outer/CLAUDE.md:\n\nroot");
}

#[test]
fn above_the_home_folder_nothing_is_read() {
    let place = Place::with(&[
        ("CLAUDE.md", "above"),
        ("outer/CLAUDE.md", "home"),
        ("outer/inner/CLAUDE.md", "near"),
    ]);
    let (_, files, _) = instructions(&place.path("outer/inner"), Some(&place.path("outer")));
    assert_eq!(files, [place.path("outer/CLAUDE.md"), place.path("outer/inner/CLAUDE.md")]);
}

#[test]
fn outside_of_home_and_repository_the_folder_alone_is_read() {
    let place = Place::with(&[("outer/CLAUDE.md", "above"), ("outer/inner/CLAUDE.md", "near")]);
    fs::remove_dir(place.path(".git")).unwrap();
    assert_eq!(place.read().0, "Contents of outer/inner/CLAUDE.md:\n\nnear");
}

#[test]
fn an_included_file_follows_the_one_that_names_it() {
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", "See @./docs/style.md, and @~/mine.md."),
        ("outer/inner/docs/style.md", "style, more in @./names.md"),
        ("outer/inner/docs/names.md", "names"),
        ("home/mine.md", "mine"),
    ]);
    let (text, complaints) = place.read();
    assert_eq!(
        text,
        "Contents of outer/inner/CLAUDE.md:\n\nSee @./docs/style.md, and @~/mine.md.\n\n\
         Contents of outer/inner/docs/style.md:\n\nstyle, more in @./names.md\n\n\
         Contents of outer/inner/docs/names.md:\n\nnames\n\n\
         Contents of home/mine.md:\n\nmine"
    );
    assert_eq!(complaints, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn an_absolute_include_is_read() {
    let place = Place::with(&[("else.md", "elsewhere")]);
    let include = format!("@{}", place.path("else.md").display());
    fs::write(place.path("outer/inner/CLAUDE.md"), include).unwrap();
    assert!(place.read().0.ends_with("Contents of else.md:\n\nelsewhere"));
}

#[test]
fn a_circle_of_includes_is_named_and_ends() {
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", "@./a.md"),
        ("outer/inner/a.md", "a @./b.md"),
        ("outer/inner/b.md", "b @./a.md"),
    ]);
    let (text, complaints) = place.read();
    assert_eq!(text.matches("a @./b.md").count(), 1);
    assert_eq!(
        complaints,
        ["outer/inner/a.md (included by outer/inner/b.md) was left out: the includes go in a \
         circle: outer/inner/a.md → outer/inner/b.md → outer/inner/a.md"]
    );
}

#[test]
fn a_file_that_includes_itself_is_a_circle() {
    let place = Place::with(&[("outer/inner/CLAUDE.md", "@./CLAUDE.md")]);
    assert_eq!(
        place.read().1,
        [
            "outer/inner/CLAUDE.md (included by outer/inner/CLAUDE.md) was left out: the includes go \
         in a circle: outer/inner/CLAUDE.md → outer/inner/CLAUDE.md"
        ]
    );
}

#[test]
fn includes_go_five_deep_and_the_sixth_is_said() {
    let place = Place::with(&[("outer/inner/CLAUDE.md", "@./1.md")]);
    for depth in 1..=7 {
        let name = format!("outer/inner/{depth}.md");
        fs::write(place.path(&name), format!("level {depth} @./{}.md", depth + 1)).unwrap();
    }
    let (text, complaints) = place.read();
    assert!(text.contains("level 5") && !text.contains("level 6 "), "{text}");
    assert_eq!(
        complaints,
        [
            "outer/inner/6.md (included by outer/inner/5.md) was left out: includes go at most 5 deep"
        ]
    );
}

#[test]
fn a_file_reached_twice_is_taken_once() {
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", "@./a.md @./a.md @./x/../a.md"),
        ("outer/inner/AGENTS.md", "@./a.md"),
        ("outer/inner/a.md", "once"),
        ("outer/inner/x/y", ""),
    ]);
    let (text, complaints) = place.read();
    assert_eq!((text.matches("once").count(), complaints.len()), (1, 0));
}

#[cfg(unix)]
#[test]
fn two_names_for_one_file_are_one_file() {
    let place = Place::with(&[("outer/inner/CLAUDE.md", "the same")]);
    std::os::unix::fs::symlink("CLAUDE.md", place.path("outer/inner/AGENTS.md")).unwrap();
    assert_eq!(place.read().0.matches("the same").count(), 1);
}

#[test]
fn what_cannot_be_included_is_said() {
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", "@./gone.md @./folder @./image.png"),
        ("outer/inner/folder/x", ""),
        ("outer/inner/image.png", "\u{89}PNG\0"),
    ]);
    let (_, complaints) = place.read();
    assert_eq!(complaints.len(), 3);
    assert!(complaints[0].starts_with("outer/inner/gone.md (included by outer/inner/CLAUDE.md)"));
    assert!(complaints[1].ends_with("was left out: it is not a file"));
    assert!(complaints[2].ends_with("was left out: it is not text"));
}

#[test]
fn all_together_are_bounded_and_the_nearest_has_the_room() {
    let near = "near ".repeat(7_000) + "the end";
    let far = "é".repeat(20_000);
    let place = Place::with(&[
        ("outer/inner/CLAUDE.md", near.as_str()),
        ("outer/CLAUDE.md", far.as_str()),
        ("CLAUDE.md", "éloigné"),
    ]);
    let (text, complaints) = place.read();
    assert!(text.contains("the end"));
    assert!(text.len() < LIMIT + 500, "{}", text.len());
    assert_eq!(
        complaints,
        [
            "only the first 4992 bytes of outer/CLAUDE.md are here",
            "only the first 0 bytes of CLAUDE.md are here"
        ]
    );
    assert!(text.contains("é\n[only the first 4992 bytes of outer/CLAUDE.md are here]"));
}

#[test]
fn a_byte_order_mark_is_no_instruction() {
    let place = Place::with(&[("outer/inner/CLAUDE.md", "\u{feff}text")]);
    assert_eq!(place.read().0, "Contents of outer/inner/CLAUDE.md:\n\ntext");
}

#[test]
fn includes_are_words_with_a_path() {
    let found = words("@./a @~/b @/c (@./no) x@./no @no @components/x mail@/no\n- @./d.md, @./e!");
    assert_eq!(found, ["/p/a", "/h/b", "/c", "/p/d.md", "/p/e"].map(PathBuf::from));
}

#[test]
fn in_code_an_include_is_just_text() {
    assert_eq!(words("`@./no` @./yes `no @./no`"), [PathBuf::from("/p/yes")]);
    assert_eq!(words("```\n@./no\n```\n@./yes"), [PathBuf::from("/p/yes")]);
    assert_eq!(words("- x\n  ```rust\n  @./no\n  ```\n@./yes"), [PathBuf::from("/p/yes")]);
    assert_eq!(words("```\n@./no\n"), Vec::<PathBuf>::new());
    assert_eq!(words("~~~\n@./no ```\n~~~\n@./yes"), [PathBuf::from("/p/yes")]);
    assert_eq!(words("``@./no ` @./no`` @./yes"), [PathBuf::from("/p/yes")]);
    assert_eq!(words("```@./no``` @./yes"), [PathBuf::from("/p/yes")]);
}

#[test]
fn a_stray_backtick_opens_no_code() {
    let found = words("the key ` is odd\n@./a\nsee `@./no` @./b and `\n```\n@./no\n```\n@./c");
    assert_eq!(found, ["/p/a", "/p/b", "/p/c"].map(PathBuf::from));
}

#[test]
fn a_date_is_right_on_the_days_where_dates_go_wrong() {
    let day = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(day(0), "1970-01-01");
    assert_eq!(day(951_782_399), "2000-02-28");
    assert_eq!(day(951_782_400), "2000-02-29");
    assert_eq!(day(1_709_251_199), "2024-02-29");
    assert_eq!(day(1_709_251_200), "2024-03-01");
    assert_eq!(day(1_798_675_199), "2026-12-30");
    assert_eq!(day(1_798_761_599), "2026-12-31");
    assert_eq!(day(4_107_542_400), "2100-03-01");
    assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01");
}

#[tokio::test]
async fn without_a_repository_the_environment_is_folder_platform_and_date() {
    let place = Place::with(&[]);
    let text = environment(place.root.path(), UNIX_EPOCH).await;
    let os = std::env::consts::OS;
    let folder = place.root.path().display();
    assert_eq!(
        text,
        format!("# Environment\nWorking folder: {folder}\nPlatform: {os}\nDate: 1970-01-01\n")
    );
}

#[tokio::test]
async fn in_a_repository_the_environment_names_branch_and_last_commits() {
    let place = Place::with(&[]);
    let run = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgSign=false"]);
        assert!(git.args(arguments).current_dir(place.root.path()).status().unwrap().success());
    };
    run(&["init", "-q", "-b", "lamp"]);
    let unborn = environment(place.root.path(), UNIX_EPOCH).await;
    assert!(unborn.ends_with("Git branch: lamp\n"), "{unborn}");
    for number in 1..=6 {
        run(&["commit", "-q", "--allow-empty", "-m", &format!("commit {number}")]);
    }
    let text = environment(place.root.path(), UNIX_EPOCH).await;
    let subjects: Vec<&str> = text.lines().skip(6).map(|line| &line[8..]).collect();
    assert!(text.contains("Git branch: lamp\nLast commits:\n"), "{text}");
    assert_eq!(subjects, ["commit 6", "commit 5", "commit 4", "commit 3", "commit 2"]);
}

#[tokio::test]
async fn instructions_stand_in_the_first_message_and_not_in_the_prefix() {
    let place = Place::with(&[("outer/inner/CLAUDE.md", "Speak like a keeper.")]);
    let prompt = Prompt::gather(&place.path("outer/inner"), None, UNIX_EPOCH).await;
    assert!(!prompt.system().to_string().contains("keeper"));
    let first = prompt.first_message("Hello");
    assert_eq!(first.content[1], text("Hello"));
    let Block::Text { text } = &first.content[0] else { panic!("no text") };
    assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
    assert!(text.contains("Speak like a keeper."));
}

#[tokio::test]
async fn without_instructions_the_first_message_is_the_users_line() {
    let prompt =
        Prompt { environment: String::new(), instructions: String::new(), notes: Vec::new() };
    assert_eq!(prompt.first_message("Hello"), Message::from_user("Hello"));
}

#[tokio::test]
async fn the_system_prompt_begins_with_the_core_and_is_the_same_at_every_call() {
    let place = Place::with(&[]);
    let early = Prompt::gather(&place.path("outer"), None, UNIX_EPOCH).await;
    let late =
        Prompt::gather(&place.path("home"), None, UNIX_EPOCH + Duration::from_secs(1 << 30)).await;
    assert_eq!(early.system().to_string(), early.system().to_string());
    assert_eq!(early.system()[0], late.system()[0]);
    assert_ne!(early.system()[1], late.system()[1]);
    assert_eq!(early.system()[0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(early.system()[1].get("cache_control"), None);
}

/// The tokens that a cache reads and writes in each of two calls.
async fn cached(requests: [Value; 2]) -> [(u64, u64); 2] {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scene = "title = \"t\"\nproves = \"requests\"\n\
        [[main]]\nuser = \"One?\"\n[[main]]\nsay = \"One.\"\n\
        [[main]]\nuser = \"Two?\"\n[[main]]\nsay = \"Two.\"\n[verify]\nrequests = 2\n";
    let scene = Scene::parse(scene, Path::new("scene.toml")).unwrap();
    let values = Values::draw(&scene, 1);
    let options = Options { port: 0, values, pace: None, events: None, rooms: Vec::new() };
    let model = ScriptedModel::start(scene, options).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for request in requests {
        let post = http.post(format!("{}/v1/messages", model.url())).header("x-api-key", "k");
        post.header("anthropic-version", "2023-06-01").json(&request).send().await.unwrap();
    }
    let calls = model.journal();
    tokio::task::yield_now().await;
    [0, 1].map(|call| {
        let usage = Usage::from(calls[call].reply["usage"].clone());
        (usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    })
}

/// A request as the agent sends it.
fn request(system: &Value, history: &[Message]) -> Value {
    let tools = Tools::new(PathBuf::new());
    let messages = with_marks(history).unwrap();
    json!({
        "model": "m", "max_tokens": 9, "tools": tools.offered(), "system": system,
        "messages": messages,
    })
}

#[tokio::test]
async fn with_the_core_first_the_second_call_reads_the_prefix_and_with_the_date_first_nothing() {
    let place = Place::with(&[]);
    let prompt = Prompt::gather(&place.path("outer"), None, UNIX_EPOCH).await;
    let said = message(Role::Assistant, vec![text("One.")]);
    let history = [Message::from_user("One?"), said, Message::from_user("Two?")];
    let system = prompt.system();
    let [first, second] =
        cached([request(&system, &history[..1]), request(&system, &history)]).await;
    let date_first = |call: usize| {
        let mut system = prompt.system();
        system[0]["text"] = json!(format!("It is {call} o'clock.\n{CORE}"));
        system
    };
    let dated = [request(&date_first(0), &history[..1]), request(&date_first(1), &history)];
    let [first_dated, second_dated] = cached(dated).await;
    println!("core first: read and written {first:?}, {second:?}");
    println!("date first: read and written {first_dated:?}, {second_dated:?}");
    assert_eq!((first.0, first_dated.0), (0, 0));
    assert!(second.0 >= first.1 && second.0 > 1_000, "{second:?}");
    assert_eq!(second_dated.0, 0);
    assert!(second_dated.1 > first.1, "all of it is written anew: {second_dated:?}");
}

/// The tools and the core together are as long as the API wants a prefix to be.
#[tokio::test]
async fn another_session_in_another_folder_reads_the_tools_and_the_core() {
    let place = Place::with(&[]);
    let here = Prompt::gather(&place.path("outer"), None, UNIX_EPOCH).await;
    let there = Prompt::gather(&place.path("home"), None, UNIX_EPOCH).await;
    let [one, two] = ["One?", "Two?"].map(|line| [Message::from_user(line)]);
    let [first, second] =
        cached([request(&here.system(), &one), request(&there.system(), &two)]).await;
    println!("the other session: read and written {second:?}");
    assert_eq!(first.0, 0);
    assert!(second.0 >= 1_024 && second.0 < first.1, "{first:?}, {second:?}");
}

#[test]
fn marks_roll_along_the_last_two_messages_of_the_user() {
    let history = [
        Message::from_user("one"),
        message(Role::Assistant, vec![call("a"), call("b")]),
        message(Role::User, vec![result("a", "1"), result("b", "2")]),
        message(Role::Assistant, vec![text("done")]),
        Message::from_user("two"),
    ];
    let at = |count: usize| marks(&with_marks(&history[..count]).unwrap());
    assert_eq!(at(0), []);
    assert_eq!(at(1), [(0, 0)]);
    assert_eq!(at(3), [(0, 0), (2, 1)]);
    assert_eq!(at(5), [(2, 1), (4, 0)]);
}

#[test]
fn an_empty_text_holds_no_mark() {
    let history = [
        Message::from_user(""),
        message(Role::User, vec![result("a", "1"), result("b", ""), text("  \n")]),
    ];
    assert_eq!(marks(&with_marks(&history).unwrap()), [(1, 0)]);
}

#[test]
fn a_mark_that_came_in_with_an_unknown_block_does_not_count_as_one_more() {
    let odd = json!({ "type": "odd", "cache_control": { "type": "ephemeral" } });
    let history: Vec<Message> =
        (0..9).map(|_| message(Role::User, vec![text("x"), Block::Other(odd.clone())])).collect();
    assert_eq!(marks(&with_marks(&history).unwrap()), [(7, 0), (8, 0)]);
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[a ]{0,2}".prop_map(|text| Block::Text { text }),
        "[a-c]".prop_map(|id| call(&id)),
        ("[a-c]", "[a ]{0,2}").prop_map(|(id, content)| result(&id, &content)),
        Just(Block::Other(json!({ "type": "thinking", "thinking": "", "signature": "s" }))),
        Just(Block::Other(json!(5))),
        Just(Block::Other(json!({ "cache_control": null }))),
    ]
}

proptest! {
    #[test]
    fn any_history_gets_at_most_two_marks_and_else_stays_as_it_is(
        history in prop::collection::vec(
            (prop::sample::select(vec![Role::User, Role::Assistant]),
             prop::collection::vec(any_block(), 0..4))
                .prop_map(|(role, content)| Message { role, content }),
            0..8,
        )
    ) {
        let before = history.clone();
        let marked = with_marks(&history).unwrap();
        prop_assert_eq!(&history, &before);
        prop_assert!(marks(&marked).len() <= 2);
        for (number, place) in marks(&marked) {
            let block = &marked[number]["content"][place];
            let shown = block.get("text").or(block.get("content")).unwrap().as_str().unwrap();
            prop_assert!(!shown.trim().is_empty());
        }
        let mut plain = serde_json::to_value(&marked).unwrap();
        let mut first = serde_json::to_value(&history).unwrap();
        for value in [&mut plain, &mut first] {
            for block in value.as_array_mut().unwrap().iter_mut().flat_map(blocks_of) {
                block.as_object_mut().map(|block| block.remove("cache_control"));
            }
        }
        prop_assert_eq!(plain.to_string(), first.to_string());
    }

    #[test]
    fn no_text_makes_the_search_for_includes_fail(text in "[`~@./ a\né]{0,80}") {
        words(&text);
    }
}
