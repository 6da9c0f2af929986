//! What a page gets on its way to the browser: the faults as a strip at its top, and a script that
//! loads it again when there is a newer edition.

use super::Edition;

/// The page with both; `name` is its file's.
pub fn with_news(html: &str, name: &str, edition: &Edition) -> String {
    let script = RELOAD.replace("NUMBER", &edition.number.to_string());
    let html = insert(html, after_the_body_opens(html), &strip(&edition.faults, name));
    insert(&html, html.rfind("</body>"), &script)
}

/// What is shown where there is no page yet.
pub fn without_a_book(edition: &Edition) -> String {
    let empty = "<!DOCTYPE html><html lang=\"en\"><title>no book yet</title><body></body></html>";
    with_news(empty, "", edition)
}

const RELOAD: &str = "<script>new EventSource('/-/editions').onmessage = \
    news => { if (news.data !== 'NUMBER') location.reload(); };</script>";

const STRIP: &str = "position:sticky;top:0;z-index:1000;max-height:40vh;overflow:auto;\
    padding:6px 16px;background:#8c1d18;color:#fff;font:14px/1.5 sans-serif";
const SUMMARY: &str = "overflow:hidden;white-space:nowrap;text-overflow:ellipsis;cursor:pointer";
const FAULTS: &str = "margin:6px 0 0;white-space:pre-wrap;font:13px/1.5 monospace";

/// One line that opens to all of them; those of the page itself come first.
fn strip(faults: &[String], name: &str) -> String {
    let here = format!("/{}.md:", name.trim_end_matches(".html"));
    let mut faults = faults.to_vec();
    faults.sort_by_key(|fault| !fault.contains(&here));
    let Some(first) = faults.first() else { return String::new() };
    let (first, list) = (escaped(first), escaped(&faults.join("\n")));
    let count = match faults.len() {
        1 => "1 fault".to_string(),
        many => format!("{many} faults"),
    };
    format!(
        "<details class=\"doc-sync-faults\" style=\"{STRIP}\">\
         <summary style=\"{SUMMARY}\">{count}: {first}</summary>\
         <pre style=\"{FAULTS}\">{list}</pre></details>"
    )
}

fn after_the_body_opens(html: &str) -> Option<usize> {
    let body = html.find("<body")?;
    html[body..].find('>').map(|end| body + end + 1)
}

/// A page without the place (a fragment, say) gets it at its end.
fn insert(html: &str, place: Option<usize>, addition: &str) -> String {
    let (before, after) = html.split_at(place.unwrap_or(html.len()));
    format!("{before}{addition}{after}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(faults: &[&str]) -> Edition {
        let faults = faults.iter().map(|fault| fault.to_string()).collect();
        Edition { number: 42, pages: None, faults }
    }

    #[test]
    fn the_script_stands_at_the_end_and_knows_the_edition() {
        let page = with_news("<body class=\"x\"><p>text</p></body>", "a.html", &edition(&[]));
        assert!(page.starts_with("<body class=\"x\"><p>text</p><script>"), "{page}");
        assert!(page.contains("news.data !== '42'"), "{page}");
        assert!(page.ends_with("</script></body>"), "{page}");
    }

    #[test]
    fn faults_stand_at_the_top_counted_escaped_and_those_of_the_page_first() {
        let edition = edition(&["src/a.md:1: <b>", "src/b.md:2: & so"]);
        let page = with_news("<body><p>text</p></body>", "b.html", &edition);
        let (strip, rest) = page.split_once("<p>text</p>").expect("the page's own text");
        assert!(strip.contains(">2 faults: src/b.md:2: &amp; so</summary>"), "{strip}");
        assert!(strip.contains("src/b.md:2: &amp; so\nsrc/a.md:1: &lt;b&gt;</pre>"), "{strip}");
        assert!(!rest.contains("a.md"), "{rest}");
    }

    #[test]
    fn a_page_of_a_book_without_faults_has_no_strip() {
        assert!(!with_news("<body></body>", "a.html", &edition(&[])).contains("doc-sync-faults"));
    }

    #[test]
    fn where_there_is_no_book_the_page_says_why_and_waits_for_one() {
        let page = without_a_book(&edition(&["SUMMARY.md is missing"]));
        assert!(page.contains("1 fault: SUMMARY.md is missing"), "{page}");
        assert!(page.contains("EventSource"), "{page}");
    }
}
