//! Which programs the repository has, and what they understand.
//!
//! The subcommands and switches are read from the sources: `Command::new("check")`,
//! `.long("scene")`, `flag("diff", …)`. That is less than running each program's `--help`, and
//! needs no build.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprLit, ExprMethodCall, Lit};

/// What all programs understand.
const COMMON: [&str; 2] = ["--help", "--version"];
/// Where the steps' switches are.
const OF_STEPS: &str = "tools/lesson/src/switches.rs";

/// By package.
pub type Catalog = BTreeMap<String, Program>;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    pub is_step: bool,
    pub subcommands: Vec<String>,
    /// With their dashes.
    pub switches: Vec<String>,
}

/// The packages of the repository at `root`.
pub fn read(root: &Path) -> Result<Catalog> {
    let mut catalog = Catalog::new();
    for folder in folders(root) {
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let manifest: toml::Table =
            text.parse().with_context(|| format!("{} is not valid TOML", manifest.display()))?;
        let package = manifest.get("package").and_then(|package| package.get("name"));
        let Some(name) = package.and_then(toml::Value::as_str) else { continue };
        let is_step = folder.parent().is_some_and(|parent| parent.ends_with("steps"));
        let files = match is_step {
            true => vec![root.join(OF_STEPS)],
            false => sources(&folder, name),
        };
        let mut finder = Finder::default();
        for file in files.iter().filter(|file| file.is_file()) {
            let text = fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let parsed = syn::parse_file(&text)
                .with_context(|| format!("{} is not valid Rust", file.display()))?;
            finder.visit_file(&parsed);
        }
        let mut program = finder.0;
        program.is_step = is_step;
        program.switches.extend(COMMON.map(String::from));
        catalog.insert(name.to_string(), program);
    }
    Ok(catalog)
}

/// The folders that may be packages: those of the root, and those below `steps` and `tools`.
fn folders(root: &Path) -> Vec<PathBuf> {
    let parents = [root.to_path_buf(), root.join("steps"), root.join("tools")];
    let entries = parents.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten();
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn sources(folder: &Path, name: &str) -> Vec<PathBuf> {
    let own = ["main.rs", "cli.rs", "switches.rs"].map(|file| folder.join("src").join(file));
    let bin = folder.join("src/bin").join(name);
    own.into_iter().chain([bin.join("main.rs"), bin.join("switches.rs")]).collect()
}

#[derive(Default)]
struct Finder(Program);

impl<'a> Visit<'a> for Finder {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        if call.method == "long" {
            self.0.switches.extend(call.args.first().and_then(switch));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'a ExprCall) {
        if let Expr::Path(path) = call.func.as_ref() {
            let names: Vec<String> =
                path.path.segments.iter().map(|part| part.ident.to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            match names[..] {
                [.., "Command", "new"] => {
                    self.0.subcommands.extend(call.args.first().and_then(text));
                }
                [.., "flag"] => self.0.switches.extend(call.args.first().and_then(switch)),
                _ => {}
            }
        }
        visit::visit_expr_call(self, call);
    }
}

fn switch(value: &Expr) -> Option<String> {
    text(value).map(|name| format!("--{name}"))
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_of_this_repository_are_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalog = read(&root).unwrap();
        let knows = |package: &str, words: &[&str]| {
            let program = &catalog[package];
            let known = [program.subcommands.as_slice(), program.switches.as_slice()].concat();
            words.iter().filter(|word| !known.contains(&word.to_string())).count() == 0
        };
        assert!(knows("step00", &["--scene", "--diff", "--no-brakes", "--help"]));
        assert!(knows("lesson", &["check", "start", "matrix", "mutate", "--yes", "--list"]));
        assert!(knows(
            "doc-sync",
            &["sync", "check", "--fresh", "--explain", "carry", "--dry-run"]
        ));
        assert!(knows("mock-server", &["--port"]));
        assert!(catalog["step00"].is_step && !catalog["lesson"].is_step);
    }
}
