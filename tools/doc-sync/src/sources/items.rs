//! The items of a Rust file and the lines they fill. syn finds them; the text is never printed
//! from syn's tree, only cut from the file.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::{Attribute, ImplItem, TraitItem};

use crate::code::is_test;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The `//!` lines.
    Head,
    Use,
    /// `mod name;`
    ModLine,
    /// `mod name { … }`
    Mod,
    Impl,
    Trait,
    Fn,
    /// A struct, enum, union or alias.
    Type,
    /// A `const` or `static`.
    Value,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub kind: Kind,
    /// `run`, `Agent`, `impl Agent`, `impl Display for Agent`.
    pub name: String,
    /// The type, trait or module it stands in: `Agent::run` is its full name then.
    pub owner: Option<String>,
    /// Whether it stands in `impl Trait for Type`, where other traits may have its name too.
    pub of_trait: bool,
    pub is_test: bool,
    /// Its lines, from 0, with the comments and attributes above it.
    pub lines: Range<usize>,
    /// What stands in an `impl`, `trait` or `mod { }`.
    pub inner: Vec<Item>,
}

impl Item {
    /// The name that an origin calls it by.
    pub fn full_name(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }

    /// The lines of an `impl`, `trait` or `mod { }` from its first word to its first member.
    pub fn header(&self, lines: &[&str]) -> Range<usize> {
        let is_code = |line: &usize| !lines[*line].trim_start().starts_with(['/', '#']);
        let first = self.lines.clone().find(is_code).unwrap_or(self.lines.start);
        let end = self.inner.first().map_or(self.lines.end, |member| member.lines.start);
        first..end.max(first)
    }

    pub fn is_container(&self) -> bool {
        matches!(self.kind, Kind::Impl | Kind::Trait | Kind::Mod)
    }
}

/// All items of a file, in order.
pub fn of(text: &str, file: &syn::File) -> Vec<Item> {
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader { lines, floor: 0 };
    let mut items = reader.head();
    for item in &file.items {
        items.push(reader.item(item, None));
    }
    items
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    /// Where the item before ended: no comment above it belongs to the next one.
    floor: usize,
}

impl Reader<'_> {
    fn head(&mut self) -> Vec<Item> {
        let length = self.lines.iter().take_while(|line| line.starts_with("//!")).count();
        if length == 0 {
            return Vec::new();
        }
        self.floor = length;
        let mut head = item(Kind::Head, "head".into(), None);
        head.lines = 0..length;
        vec![head]
    }

    fn item(&mut self, found: &syn::Item, owner: Option<&str>) -> Item {
        let (kind, name, attributes) = describe(found);
        let mut item = item(kind, name, owner);
        item.is_test = is_test(attributes);
        item.lines = self.lines_of(found.span());
        let floor = std::mem::replace(&mut self.floor, item.lines.start + 1);
        item.inner = match found {
            syn::Item::Impl(block) => self.of_impl(block),
            syn::Item::Trait(block) => self.of_trait(block),
            syn::Item::Mod(module) => {
                let content = module.content.iter().flat_map(|(_, items)| items);
                content.map(|inner| self.item(inner, Some(&item.name))).collect()
            }
            _ => Vec::new(),
        };
        self.floor = floor.max(item.lines.end);
        item
    }

    fn of_impl(&mut self, block: &syn::ItemImpl) -> Vec<Item> {
        let owner = last_name(&block.self_ty);
        let mut inner = Vec::new();
        for found in &block.items {
            let (kind, name, attributes) = match found {
                ImplItem::Fn(method) => (Kind::Fn, method.sig.ident.to_string(), &method.attrs),
                ImplItem::Const(value) => (Kind::Value, value.ident.to_string(), &value.attrs),
                ImplItem::Type(alias) => (Kind::Type, alias.ident.to_string(), &alias.attrs),
                _ => continue,
            };
            inner.push(self.member(kind, name, attributes, found.span(), &owner));
        }
        for member in &mut inner {
            member.of_trait = block.trait_.is_some();
        }
        inner
    }

    fn of_trait(&mut self, block: &syn::ItemTrait) -> Vec<Item> {
        let owner = block.ident.to_string();
        let mut inner = Vec::new();
        for found in &block.items {
            let (kind, name, attributes) = match found {
                TraitItem::Fn(method) => (Kind::Fn, method.sig.ident.to_string(), &method.attrs),
                TraitItem::Const(value) => (Kind::Value, value.ident.to_string(), &value.attrs),
                TraitItem::Type(alias) => (Kind::Type, alias.ident.to_string(), &alias.attrs),
                _ => continue,
            };
            inner.push(self.member(kind, name, attributes, found.span(), &owner));
        }
        inner
    }

    fn member(
        &mut self,
        kind: Kind,
        name: String,
        attributes: &[Attribute],
        span: proc_macro2::Span,
        owner: &str,
    ) -> Item {
        let mut member = item(kind, name, Some(owner));
        member.is_test = is_test(attributes);
        member.lines = self.lines_of(span);
        self.floor = member.lines.end;
        member
    }

    /// A span's lines, with the `//` comments above, which syn does not see. One that stands alone,
    /// over several items, goes with the first of them.
    fn lines_of(&self, span: proc_macro2::Span) -> Range<usize> {
        let mut first = span.start().line - 1;
        for line in (self.floor..first).rev() {
            match self.lines[line].trim_start() {
                text if text.starts_with("//") => first = line,
                "" => {}
                _ => break,
            }
        }
        first..span.end().line
    }
}

fn item(kind: Kind, name: String, owner: Option<&str>) -> Item {
    Item {
        kind,
        name,
        owner: owner.map(str::to_string),
        of_trait: false,
        is_test: false,
        lines: 0..0,
        inner: Vec::new(),
    }
}

fn describe(item: &syn::Item) -> (Kind, String, &[Attribute]) {
    match item {
        syn::Item::Fn(found) => (Kind::Fn, found.sig.ident.to_string(), &found.attrs),
        syn::Item::Struct(found) => (Kind::Type, found.ident.to_string(), &found.attrs),
        syn::Item::Enum(found) => (Kind::Type, found.ident.to_string(), &found.attrs),
        syn::Item::Union(found) => (Kind::Type, found.ident.to_string(), &found.attrs),
        syn::Item::Type(found) => (Kind::Type, found.ident.to_string(), &found.attrs),
        syn::Item::Trait(found) => (Kind::Trait, found.ident.to_string(), &found.attrs),
        syn::Item::Const(found) => (Kind::Value, found.ident.to_string(), &found.attrs),
        syn::Item::Static(found) => (Kind::Value, found.ident.to_string(), &found.attrs),
        syn::Item::Use(found) => (Kind::Use, "use".into(), &found.attrs),
        syn::Item::Mod(found) if found.content.is_none() => {
            (Kind::ModLine, found.ident.to_string(), &found.attrs)
        }
        syn::Item::Mod(found) => (Kind::Mod, found.ident.to_string(), &found.attrs),
        syn::Item::Impl(found) => (Kind::Impl, impl_name(found), &found.attrs),
        _ => (Kind::Other, String::new(), &[]),
    }
}

/// `impl Agent` or `impl Display for Agent`, without generics and paths.
fn impl_name(block: &syn::ItemImpl) -> String {
    let owner = last_name(&block.self_ty);
    match &block.trait_ {
        Some((_, path, _)) => {
            let name = path.segments.last().map(|part| part.ident.to_string()).unwrap_or_default();
            format!("impl {name} for {owner}")
        }
        None => format!("impl {owner}"),
    }
}

fn last_name(kind: &syn::Type) -> String {
    match kind {
        syn::Type::Path(path) => path.path.segments.last().map(|part| part.ident.to_string()),
        syn::Type::Reference(reference) => Some(last_name(&reference.elem)),
        _ => None,
    }
    .unwrap_or_default()
}
