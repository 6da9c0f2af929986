//! What a page says as Markdown: its headings, links, code and prose. The same extensions are on
//! as in mdBook, so that both take the same lines for code and for comments.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Options, Parser, Tag, TagEnd};

/// A page's text, taken apart. Ranges are bytes.
#[derive(Debug, Default, PartialEq)]
pub struct Outline {
    /// What a link behind `#` may name: headings, and `id="…"` in HTML.
    pub anchors: Vec<String>,
    pub links: Vec<Link>,
    pub code_blocks: Vec<CodeBlock>,
    /// Words in backticks, without them.
    pub code_spans: Vec<(Range<usize>, String)>,
    /// HTML, comments among it.
    pub html: Vec<Range<usize>>,
}

#[derive(Debug, PartialEq)]
pub struct Link {
    pub at: usize,
    pub target: String,
    pub is_image: bool,
}

#[derive(Debug, PartialEq)]
pub struct CodeBlock {
    pub range: Range<usize>,
    /// What stands behind the opening fence; `None` for a block that is only indented.
    pub info: Option<String>,
    pub text: String,
}

/// The events of a page.
pub fn events(text: &str) -> OffsetIter<'_> {
    let extensions = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_SMART_PUNCTUATION
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM;
    Parser::new_ext(text, extensions).into_offset_iter()
}

impl Outline {
    pub fn read(text: &str) -> Self {
        let mut reader = Reader::default();
        for (event, range) in events(text) {
            reader.take(event, range);
        }
        reader.outline
    }
}

#[derive(Default)]
struct Reader {
    outline: Outline,
    /// The heading that is being read: the id it gives itself, and its words.
    heading: Option<(Option<String>, String)>,
    in_code: bool,
}

impl Reader {
    fn take(&mut self, event: Event, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.begin(tag, range),
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Text(words) if self.in_code => {
                if let Some(block) = self.outline.code_blocks.last_mut() {
                    block.text.push_str(&words);
                }
            }
            Event::Text(words) => self.word(&words),
            Event::Code(words) => {
                self.word(&words);
                self.outline.code_spans.push((range, words.to_string()));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                self.outline.anchors.extend(values(&html, "id"));
                for (name, is_image) in [("href", false), ("src", true)] {
                    let links = values(&html, name).into_iter();
                    let at = range.start;
                    self.outline.links.extend(links.map(|target| Link { at, target, is_image }));
                }
                self.outline.html.push(range);
            }
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag, range: Range<usize>) {
        let link =
            |target: &str, is_image| Link { at: range.start, target: target.into(), is_image };
        match tag {
            Tag::Heading { id, .. } => {
                self.heading = Some((id.map(|id| id.to_string()), String::new()));
            }
            Tag::Link { dest_url, .. } => self.outline.links.push(link(&dest_url, false)),
            Tag::Image { dest_url, .. } => self.outline.links.push(link(&dest_url, true)),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => Some(info.to_string()),
                    CodeBlockKind::Indented => None,
                };
                self.in_code = true;
                self.outline.code_blocks.push(CodeBlock { range, info, text: String::new() });
            }
            _ => {}
        }
    }

    fn word(&mut self, words: &str) {
        if let Some((_, heading)) = &mut self.heading {
            heading.push_str(words);
        }
    }

    fn end_heading(&mut self) {
        let Some((id, words)) = self.heading.take() else { return };
        let id = id.unwrap_or_else(|| anchor(&words));
        let taken = |id: &String| self.outline.anchors.contains(id);
        let numbered = (1..).map(|number| format!("{id}-{number}"));
        let free = std::iter::once(id.clone()).chain(numbered).find(|id| !taken(id));
        self.outline.anchors.extend(free);
    }
}

/// What mdBook makes of a heading's words.
fn anchor(words: &str) -> String {
    let sign = |sign: char| match sign {
        _ if sign.is_alphanumeric() || sign == '_' || sign == '-' => Some(sign),
        _ if sign.is_whitespace() => Some('-'),
        _ => None,
    };
    words.trim().to_lowercase().chars().filter_map(sign).collect()
}

/// The values of an attribute, as `id="…"`; none of a comment.
fn values(html: &str, name: &str) -> Vec<String> {
    if html.trim_start().starts_with("<!--") {
        return Vec::new();
    }
    let attribute = format!(" {name}=\"");
    let behind = html.split(attribute.as_str()).skip(1);
    behind.filter_map(|rest| rest.split_once('"')).map(|(value, _)| value.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_mdbook() {
        let text = "# The loop: `run_shell`, Über's twice!\n\n## A\n\n## A\n\n## B {#own}\n\n<a id=\"x\"></a>\n";
        assert_eq!(
            Outline::read(text).anchors,
            ["the-loop-run_shell-übers-twice", "a", "a-1", "own", "x"]
        );
    }

    #[test]
    fn code_and_links_are_found() {
        let text = "See [a](b.md#c) and `x y`.\n\n```sh\ncargo\n```\n\n    in\n\n![p](i.svg)\n";
        let outline = Outline::read(text);
        let blocks: Vec<(Option<&str>, &str)> = outline
            .code_blocks
            .iter()
            .map(|block| (block.info.as_deref(), block.text.as_str()))
            .collect();
        assert_eq!(blocks, [(Some("sh"), "cargo\n"), (None, "in\n")]);
        let links: Vec<(&str, bool)> =
            outline.links.iter().map(|link| (link.target.as_str(), link.is_image)).collect();
        assert_eq!(links, [("b.md#c", false), ("i.svg", true)]);
        assert_eq!(outline.code_spans, [(20..25, "x y".to_string())]);
    }
}
