//! `start`: a crate of the learner's own, in which to grow the step before into a step.
//!
//! It holds the code of the step before, and the story of the step to come. So its first run is
//! red, by the rule that the story names; that is said, and is no fault. The crate builds into the
//! clone's target folder, where everything that it needs is built already. Its manifest notes whose
//! story it plays, for the head of the screen and for what comes next.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::say;
use lesson::manifest;
use lesson::screen::Paint;
use lesson::workshop::repo::{Repo, Step};
use mock_server::Scene;
use regex::Regex;

/// What comes from the step before, and what from the step itself.
const OF_THE_STEP_BEFORE: [&str; 2] = ["src", "tests"];
const OF_THE_STEP: [&str; 3] = ["scene.toml", "workspace", "home"];

/// `target` is where cargo puts what it builds of the clone.
pub fn run(repo: &Repo, name: &str, folder: &Path, target: &Path) -> Result<bool> {
    let step = repo.step(name)?;
    let before = repo.steps.iter().rev().find(|other| other.folder < step.folder);
    let Some(before) = before else {
        bail!(
            "{} is the first step, with nothing before it to grow: start from an empty file, and \
             judge it by `lesson check {} -- PROGRAM`",
            step.package(),
            step.digits()
        );
    };
    let folder = std::path::absolute(folder).context("the folder's path cannot be read")?;
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        bail!(
            "{} is not empty: name a new folder, so that nothing of yours is lost",
            shown(&folder)
        );
    }
    make(repo, step, before, &folder, target)
        .with_context(|| format!("making the crate in {}", shown(&folder)))?;
    say(&what_next(repo, step, before, &folder, target)?);
    Ok(true)
}

fn make(repo: &Repo, step: &Step, before: &Step, folder: &Path, target: &Path) -> Result<()> {
    for (from, names) in [(before, &OF_THE_STEP_BEFORE[..]), (step, &OF_THE_STEP[..])] {
        for name in names {
            copy(&from.dir.join(name), &folder.join(name))?;
        }
    }
    write_manifest(repo, step, before, folder)?;
    fs::copy(repo.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let target = Value::from(target.to_string_lossy().into_owned());
    let build = Table::from_iter([("target-dir".to_string(), target)]);
    let config = Table::from_iter([("build".to_string(), Value::from(build))]);
    fs::create_dir_all(folder.join(".cargo"))?;
    fs::write(folder.join(".cargo").join("config.toml"), toml::to_string(&config)?)?;
    Ok(())
}

/// A file, or a folder with all that is in it. What a step does not have is left out.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    } else if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn shown(folder: &Path) -> String {
    folder.display().to_string()
}

/// The manifest: that of the step, with all that it has from our workspace written out, since the
/// learner's crate stands outside of it.
fn write_manifest(repo: &Repo, step: &Step, before: &Step, folder: &Path) -> Result<()> {
    let root = read(&repo.root.join("Cargo.toml"))?;
    let workspace = root["workspace"].as_table().context("the root manifest has a workspace")?;
    let mut manifest = read(&step.dir.join("Cargo.toml"))?;
    let package = manifest["package"].as_table_mut().context("a step is a package")?;
    package.insert("name".into(), Value::from(format!("my-{}", step.package())));
    for (key, value) in package.iter_mut() {
        if is_inherited(value) {
            *value = workspace["package"][key.as_str()].clone();
        }
    }
    manifest::note_story(package, step.digits());
    write_out(&mut manifest, &workspace["dependencies"], &repo.root);
    manifest.remove("lints");
    // Tests of whole programs belong to the step that has them.
    if !before.dir.join("tests").join("program.rs").is_file() {
        manifest.remove("test");
    }
    manifest.insert("workspace".into(), Value::Table(Table::new()));
    if let Some(profile) = root.get("profile") {
        manifest.insert("profile".into(), profile.clone());
    }
    fs::write(folder.join("Cargo.toml"), toml::to_string(&manifest)?)?;
    Ok(())
}

fn read(path: &Path) -> Result<Table> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    text.parse().with_context(|| format!("{} is not valid TOML", path.display()))
}

/// `key.workspace = true`
fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Writes out every dependency that is inherited, in this table and in those of platforms.
fn write_out(table: &mut Table, ours: &Value, root: &Path) {
    for (key, value) in table.iter_mut() {
        let Some(inner) = value.as_table_mut() else { continue };
        if !key.ends_with("dependencies") {
            write_out(inner, ours, root);
            continue;
        }
        for (name, value) in inner.iter_mut().filter(|(_, value)| is_inherited(value)) {
            *value = ours[name.as_str()].clone();
            if let Some(path) = value.get_mut("path") {
                let whole = root.join(path.as_str().unwrap_or_default());
                *path = Value::from(whole.to_string_lossy().into_owned());
            }
        }
    }
}

fn what_next(
    repo: &Repo,
    step: &Step,
    before: &Step,
    folder: &Path,
    target: &Path,
) -> Result<String> {
    let scene = step.scene()?;
    let program = target.join("debug").join(format!("my-{}", step.package()));
    // Seen from the clone, where the command that names it is typed.
    let program = program.strip_prefix(&repo.root).unwrap_or(&program);
    let indent = " ".repeat(17);
    let wrapped = |text: &str| Paint { colour: false, width: 80 }.wrapped(&indent, &indent, text);
    Ok(format!(
        "{folder}\n\
         holds the code of {before}, and the story of {step}: {title}\n\
         It builds into {target}, where all that it needs is built already\n\
         (`.cargo/config.toml` says so).\n\n\
         next\n\
         \x20 cd {folder}\n\
         \x20 cargo run      plays the story. It fails now. This line must turn green:\n\
         {line}\n\
         \x20 cargo test     runs what {before} could do. A test that lists all that\n\
         \x20                there is, such as the tools, needs your new one in its list.\n\n\
         in the clone\n\
         \x20 cargo run -p lesson -- check {number} -- {program}\n\
         \x20                judges your program as it would any other\n\
         \x20 cargo run -p {step} -- --diff\n\
         \x20                one way to do it\n",
        folder = folder.display(),
        before = before.package(),
        step = step.package(),
        title = scene.title,
        target = target.display(),
        line = wrapped(&format!("✗ {}", to_turn_green(&scene))),
        number = step.digits(),
        program = program.display(),
    ))
}

/// The rule that the story is about, in the words that the screen has for it. What is drawn for
/// each run is not known yet.
fn to_turn_green(scene: &Scene) -> String {
    let name = scene.proves.clone().unwrap_or_default();
    let rule = scene.verify.iter().find(|rule| rule.name == name);
    let Some(says) = rule.and_then(|rule| rule.says.clone()) else {
        return format!("the rule `{name}` of scene.toml");
    };
    let drawn = Regex::new("<<.+?>>").expect("the pattern is a fixed one, and valid");
    drawn.replace_all(&says, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn started(name: &str) -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("my agent");
        let repo = Repo::find().unwrap();
        run(&repo, name, &folder, &repo.root.join("target")).unwrap();
        (outer, folder)
    }

    #[test]
    fn the_crate_has_the_code_of_the_step_before_and_the_story_of_the_step() {
        let (_outer, folder) = started("02");
        let steps = Repo::find().unwrap().root.join("steps");
        let same = |file: &str, of: &str| {
            fs::read(folder.join(file)).unwrap() == fs::read(steps.join(of).join(file)).unwrap()
        };
        assert!(same("src/agent.rs", "01-tools") && same("tests/tools.rs", "01-tools"));
        assert!(same("scene.toml", "02-edit") && same("workspace/src/watch.rs", "02-edit"));
        assert!(!folder.join("src/edit.rs").exists());
    }

    #[test]
    fn every_step_can_be_started_as_a_crate_that_cargo_understands() {
        let repo = Repo::find().unwrap();
        for step in &repo.steps[1..] {
            let (_outer, folder) = started(step.digits());
            let output = std::process::Command::new("cargo")
                .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
                .current_dir(&folder)
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {error}", step.folder);
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            assert!(!text.contains("workspace = true"), "{}: {text}", step.folder);
        }
    }

    /// What is said of a step that is started where cargo builds into this folder.
    fn said(number: &str, target: &Path) -> String {
        let repo = Repo::find().unwrap();
        let (step, before) = (repo.step(number).unwrap(), &repo.steps[0]);
        what_next(&repo, step, before, Path::new("/my-agent"), target).unwrap()
    }

    #[test]
    fn the_line_that_must_turn_green_is_named_as_the_screen_names_it() {
        let said = said("02", Path::new("/target"));
        let line = "\n                 ✗ what someone else wrote in the meantime still stands\n";
        assert!(said.contains(line), "{said}");
        let scene = Repo::find().unwrap().step("01").unwrap().scene().unwrap();
        let drawn = "report.md holds the true numbers: … and …, drawn for this run";
        assert_eq!(to_turn_green(&scene), drawn);
    }

    #[test]
    fn the_program_is_named_where_cargo_puts_it() {
        let root = Repo::find().unwrap().root;
        let inside = Path::new("target").join("debug").join("my-step02");
        let wanted = format!("check 02 -- {}\n", inside.display());
        assert!(said("02", &root.join("target")).contains(&wanted));
        let outer = tempfile::tempdir().unwrap();
        let program = outer.path().join("debug").join("my-step02");
        let said = said("02", outer.path());
        assert!(said.contains(&format!("check 02 -- {}\n", program.display())), "{said}");
    }

    #[test]
    fn the_crate_knows_whose_story_it_plays() {
        let (_outer, folder) = started("02");
        assert_eq!(manifest::story(&folder).as_deref(), Some("02"));
    }

    #[test]
    fn a_folder_that_holds_something_and_the_first_step_are_refused() {
        let (_outer, folder) = started("01");
        let repo = Repo::find().unwrap();
        let target = repo.root.join("target");
        let error = run(&repo, "01", &folder, &target).unwrap_err().to_string();
        assert!(
            error.ends_with("is not empty: name a new folder, so that nothing of yours is lost")
        );
        let error = run(&repo, "00", &folder.join("new"), &target).unwrap_err().to_string();
        assert!(error.starts_with("step00 is the first step, with nothing before it"), "{error}");
    }
}
