//! What counts as code in a Rust file: no blanks, comments, `use` and `mod`, tests, data tables.
//!
//! syn finds the items that do not count; what is left is looked at line by line. A line inside a
//! string that begins with `//` is taken for a comment: rare enough to live with.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item};

/// The code of one file.
#[derive(Debug, Default, PartialEq)]
pub struct Code {
    /// Trimmed text of each code line, in order.
    pub lines: Vec<String>,
    pub functions: Vec<Function>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// `run`, or `Agent::run` in an `impl`.
    pub name: String,
    /// Code lines from the signature to the closing brace.
    pub lines: usize,
}

/// The code of a file that is parsed already.
pub fn of(source: &str, file: &syn::File) -> Code {
    let mut finder = Finder::default();
    finder.visit_file(file);
    let left_out = |number: usize| finder.left_out.iter().any(|(a, b)| (*a..=*b).contains(&number));
    let numbered: Vec<(usize, &str)> = source
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(number, line)| !line.is_empty() && !line.starts_with("//") && !left_out(*number))
        .collect();
    let functions = finder
        .functions
        .iter()
        .filter(|(_, first, _)| !left_out(*first))
        .map(|(name, first, last)| Function {
            name: name.clone(),
            lines: numbered.iter().filter(|(number, _)| (*first..=*last).contains(number)).count(),
        })
        .collect();
    Code { lines: numbered.into_iter().map(|(_, line)| line.to_string()).collect(), functions }
}

/// Line ranges, first and last included, counted from 1.
#[derive(Default)]
struct Finder {
    left_out: Vec<(usize, usize)>,
    functions: Vec<(String, usize, usize)>,
    /// The type whose `impl` is being read.
    within: Option<String>,
}

impl Finder {
    fn leave_out(&mut self, item: &impl Spanned) {
        let span = item.span();
        self.left_out.push((span.start().line, span.end().line));
    }

    fn function(&mut self, name: &syn::Ident, signature: &syn::Signature, block: &syn::Block) {
        let name = match &self.within {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_string(),
        };
        let (first, last) = (signature.span().start().line, block.span().end().line);
        self.functions.push((name, first, last));
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_item(&mut self, item: &'a Item) {
        let is_left_out = match item {
            Item::Use(_) => true,
            Item::Mod(module) => module.content.is_none() || is_test(&module.attrs),
            Item::Fn(function) => is_test(&function.attrs),
            Item::Const(constant) => is_table(&constant.expr),
            Item::Static(constant) => is_table(&constant.expr),
            Item::Impl(block) => is_test(&block.attrs),
            _ => false,
        };
        match is_left_out {
            true => self.leave_out(item),
            false => visit::visit_item(self, item),
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.function(&function.sig.ident, &function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, block: &'a syn::ItemImpl) {
        let name = match block.self_ty.as_ref() {
            syn::Type::Path(path) => path.path.segments.last().map(|part| part.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.within, name);
        visit::visit_item_impl(self, block);
        self.within = outer;
    }

    fn visit_impl_item_fn(&mut self, method: &'a syn::ImplItemFn) {
        self.function(&method.sig.ident, &method.sig, &method.block);
        visit::visit_impl_item_fn(self, method);
    }
}

/// `#[test]`, `#[tokio::test]` or `#[cfg(test)]`.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.segments.last().is_some_and(|part| part.ident == "test")
            || path.is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// A list, or text, over several lines.
fn is_table(value: &Expr) -> bool {
    let span = value.span();
    let is_long = span.end().line > span.start().line;
    match value {
        Expr::Reference(reference) => is_table(&reference.expr),
        Expr::Array(_) => is_long,
        Expr::Lit(literal) => is_long && matches!(literal.lit, syn::Lit::Str(_)),
        Expr::Macro(call) => is_long && call.mac.path.is_ident("concat"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"//! Head.

use std::fs;

mod other;

/// What it is.
const TABLE: &[&str] = &[
    "a",
    "b",
];
const LIMIT: usize = 5;

impl Agent {
    // Why.
    fn run(&self) -> usize {

        LIMIT // at the end
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a() {}
}
"#;

    #[test]
    fn only_code_counts() {
        let code = of(SOURCE, &syn::parse_file(SOURCE).unwrap());
        assert_eq!(
            code,
            Code {
                lines: [
                    "const LIMIT: usize = 5;",
                    "impl Agent {",
                    "fn run(&self) -> usize {",
                    "LIMIT // at the end",
                    "}",
                    "}"
                ]
                .map(String::from)
                .to_vec(),
                functions: vec![Function { name: "Agent::run".into(), lines: 3 }],
            }
        );
    }
}
