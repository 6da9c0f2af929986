//! `steps/NN-name/mutations.toml`: for each claim of a step, a small change that breaks it.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    /// What the step claims, and no longer does with the change.
    pub claim: String,
    /// From the step's folder.
    pub file: PathBuf,
    /// Stands exactly once in the file.
    pub find: String,
    pub replace: String,
    pub noticed_by: Notice,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The step's scene must fail.
    Scene,
    /// The step's tests with this in their name must fail.
    Test(String),
}

const KEYS: &[&str] = &["claim", "file", "find", "replace", "noticed_by"];

/// The mutations of the step in this folder; none where it has no such file.
pub fn read(step_dir: &Path) -> Result<Vec<Mutation>> {
    let path = step_dir.join("mutations.toml");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    parse(&text).with_context(|| format!("{}", path.display()))
}

fn parse(text: &str) -> Result<Vec<Mutation>> {
    let file: Table = text.parse().context("this is no TOML")?;
    if let Some(key) = file.keys().find(|key| *key != "mutation") {
        bail!("{key}: the file holds only [[mutation]] tables");
    }
    let tables = file.get("mutation").and_then(Value::as_array).cloned().unwrap_or_default();
    let numbered = tables.iter().enumerate();
    numbered.map(|(n, table)| one(table).with_context(|| format!("mutation {}", n + 1))).collect()
}

fn one(value: &Value) -> Result<Mutation> {
    let table = value.as_table().context("is not a table")?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        bail!("{key} is not known. Keys: {}", KEYS.join(", "));
    }
    let text = |key: &str| -> Result<String> {
        let found = table.get(key).and_then(Value::as_str);
        Ok(found.with_context(|| format!("{key} is missing, or no text"))?.to_string())
    };
    let noticed_by = text("noticed_by")?;
    let noticed_by = match noticed_by.split_once(' ') {
        None if noticed_by == "scene" => Notice::Scene,
        Some(("test", name)) => Notice::Test(name.trim().to_string()),
        _ => bail!("noticed_by is \"scene\" or \"test NAME\", not {noticed_by:?}"),
    };
    Ok(Mutation {
        claim: text("claim")?,
        file: in_the_step(&text("file")?)?,
        find: text("find")?,
        replace: text("replace")?,
        noticed_by,
    })
}

/// A path from the step's folder that stays in it: the file is written, and only in a copy.
fn in_the_step(file: &str) -> Result<PathBuf> {
    let path = Path::new(file);
    let stays = path.components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !stays {
        bail!("file is a path from the step's folder, such as src/agent.rs, not {file:?}");
    }
    Ok(path.to_path_buf())
}

impl Mutation {
    /// The file's text with the change. Errors where what it looks for does not stand exactly once.
    pub fn apply(&self, text: &str) -> Result<String> {
        let file = self.file.display();
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            0 => bail!("the text to find does not stand in {file}: {:?}", self.find),
            n => bail!(
                "the text to find stands {n} times in {file}: make it longer: {:?}",
                self.find
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"
[[mutation]]
claim = "the loop ends"
file = "src/agent.rs"
find = "return Ok(())"
replace = "continue"
noticed_by = "test the_loop_ends"
"#;

    #[test]
    fn a_mutation_is_read_whole() {
        let expected = Mutation {
            claim: "the loop ends".into(),
            file: "src/agent.rs".into(),
            find: "return Ok(())".into(),
            replace: "continue".into(),
            noticed_by: Notice::Test("the_loop_ends".into()),
        };
        assert_eq!(parse(ONE).unwrap(), [expected]);
    }

    #[test]
    fn a_fault_names_the_mutation_and_what_is_allowed() {
        let said =
            |from: &str, to: &str| format!("{:#}", parse(&ONE.replace(from, to)).unwrap_err());
        assert_eq!(
            said("claim", "clam"),
            "mutation 1: clam is not known. Keys: claim, file, find, replace, noticed_by"
        );
        assert_eq!(
            said("test the_loop_ends", "luck"),
            "mutation 1: noticed_by is \"scene\" or \"test NAME\", not \"luck\""
        );
        for file in ["/tmp/x", "../../x", "src/../../x", "./x", ""] {
            let wrong = format!(
                "mutation 1: file is a path from the step's folder, such as src/agent.rs, not {file:?}"
            );
            assert_eq!(said("src/agent.rs", file), wrong);
        }
        assert_eq!(said("find = ", "# "), "mutation 1: find is missing, or no text");
    }

    #[test]
    fn what_is_changed_must_stand_exactly_once() {
        let mutation = parse(ONE).unwrap().remove(0);
        assert_eq!(mutation.apply("a; return Ok(()); b").unwrap(), "a; continue; b");
        let twice = mutation.apply("return Ok(()) return Ok(())").unwrap_err().to_string();
        assert!(twice.contains("stands 2 times in src/agent.rs"), "{twice}");
        let never = mutation.apply("").unwrap_err().to_string();
        assert!(never.contains("does not stand in src/agent.rs"), "{never}");
    }
}
