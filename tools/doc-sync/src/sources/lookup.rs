//! From the name that an origin gives to the items that have it.

use anyhow::{Result, bail};

use super::{Item, Kind, Source};
use crate::near;

impl Source {
    /// The items called `name`, in the order of the file: one, but for `impl Agent`, which may
    /// stand in several pieces. `file` is for the error.
    pub fn find(&self, name: &str, file: &str) -> Result<Vec<&Item>> {
        let found = self.find_any(name);
        if !found.is_empty() {
            return Ok(found);
        }
        let names: Vec<String> =
            self.all().iter().filter(|item| is_named(item)).map(|item| item.full_name()).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.dedup();
        bail!("{file} has no item `{name}`{}", near::hint(name, &names))
    }

    /// The same; nothing where there is none.
    pub fn find_any(&self, name: &str) -> Vec<&Item> {
        let wanted = plain(name);
        let all = self.all();
        let called: Vec<&Item> =
            all.into_iter().filter(|item| is_named(item) && item.full_name() == wanted).collect();
        if wanted.starts_with("impl ") {
            return called;
        }
        // A method of the type itself goes before one of a trait.
        let own = called.iter().position(|item| !item.of_trait).unwrap_or(0);
        called.get(own).map(|item| vec![*item]).unwrap_or_default()
    }

    /// All items, those inside of others behind their holder.
    pub fn all(&self) -> Vec<&Item> {
        let mut all = Vec::new();
        collect(&self.items, &mut all);
        all
    }

    /// The items that hold the line, from 0, from outside in.
    pub fn around(&self, line: usize) -> Vec<&Item> {
        self.all().into_iter().filter(|item| item.lines.contains(&line)).collect()
    }

    /// The `impl`, `trait` or `mod { }` that an item stands in.
    pub fn holder(&self, item: &Item) -> Option<&Item> {
        let holds = |holder: &&Item| holder.inner.iter().any(|inner| inner.lines == item.lines);
        self.all().into_iter().find(holds)
    }

    /// The item that stands before this one in the same file or holder; imports are passed over.
    pub fn before(&self, item: &Item) -> Option<&Item> {
        let siblings = siblings(&self.items, item)?;
        let at = siblings.iter().position(|other| other.lines == item.lines)?;
        siblings[..at].iter().rfind(|before| is_named(before))
    }
}

fn collect<'a>(items: &'a [Item], all: &mut Vec<&'a Item>) {
    for item in items {
        all.push(item);
        collect(&item.inner, all);
    }
}

fn siblings<'a>(items: &'a [Item], wanted: &Item) -> Option<&'a [Item]> {
    if items.iter().any(|item| item.lines == wanted.lines && item.name == wanted.name) {
        return Some(items);
    }
    items.iter().find_map(|item| siblings(&item.inner, wanted))
}

fn is_named(item: &Item) -> bool {
    !matches!(item.kind, Kind::Use | Kind::ModLine | Kind::Other)
}

/// A name without the word for its kind, and an `impl` without generics and paths.
fn plain(name: &str) -> String {
    for word in ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "mod "] {
        if let Some(rest) = name.strip_prefix(word) {
            return rest.trim().to_string();
        }
    }
    let Some(rest) = name.strip_prefix("impl") else { return name.to_string() };
    let rest = rest.strip_prefix('<').map_or(rest, |inside| after_generics(inside));
    let parts: Vec<&str> = rest.split(" for ").map(last_name).collect();
    format!("impl {}", parts.join(" for "))
}

/// What follows the `>` that ends generics.
fn after_generics(inside: &str) -> &str {
    let mut depth = 1;
    for (at, sign) in inside.char_indices() {
        match sign {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &inside[at + 1..];
        }
    }
    ""
}

fn last_name(path: &str) -> &str {
    let path = path.split('<').next().unwrap_or(path).trim();
    path.rsplit("::").next().unwrap_or(path)
}
