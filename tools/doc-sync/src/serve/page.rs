//! What a page gets on its way to the browser: the faults as a strip at its top, and a script that
//! loads it again when there is a newer edition.

use super::Edition;

/// The page with both.
pub fn with_news(html: &str, edition: &Edition) -> String {
    let script = RELOAD.replace("NUMBER", &edition.number.to_string());
    let html = insert(html, after_the_body_opens(html), &strip(&edition.faults));
    insert(&html, html.rfind("</body>"), &script)
}

/// What is shown where there is no page yet.
pub fn without_a_book(edition: &Edition) -> String {
    with_news(
        "<!DOCTYPE html><html lang=\"en\"><title>no book yet</title><body></body></html>",
        edition,
    )
}

const RELOAD: &str = "<script>new EventSource('/-/editions').onmessage = \
    news => { if (news.data !== 'NUMBER') location.reload(); };</script>";

const STRIP: &str = "position:sticky;top:0;z-index:1000;max-height:35vh;overflow:auto;\
    padding:8px 16px;background:#8c1d18;color:#fff;font:14px/1.5 sans-serif";
const FAULTS: &str = "margin:6px 0 0;white-space:pre-wrap;font:13px/1.4 monospace";

fn strip(faults: &[String]) -> String {
    if faults.is_empty() {
        return String::new();
    }
    let count = match faults.len() {
        1 => "1 fault".to_string(),
        many => format!("{many} faults"),
    };
    let list = escaped(&faults.join("\n\n"));
    format!(
        "<details open class=\"doc-sync-faults\" style=\"{STRIP}\"><summary>{count}</summary>\
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
        let page = with_news("<body class=\"x\"><p>text</p></body>", &edition(&[]));
        assert!(page.starts_with("<body class=\"x\"><p>text</p><script>"), "{page}");
        assert!(page.contains("news.data !== '42'"), "{page}");
        assert!(page.ends_with("</script></body>"), "{page}");
    }

    #[test]
    fn faults_stand_at_the_top_counted_and_escaped() {
        let page =
            with_news("<body><p>text</p></body>", &edition(&["a.md:1: <b>", "b.md:2: & so"]));
        let (strip, rest) = page.split_once("<p>text</p>").expect("the page's own text");
        assert!(strip.contains("<summary>2 faults</summary>"), "{strip}");
        assert!(strip.contains("a.md:1: &lt;b&gt;\n\nb.md:2: &amp; so"), "{strip}");
        assert!(!rest.contains("a.md"), "{rest}");
    }

    #[test]
    fn a_page_of_a_book_without_faults_has_no_strip() {
        assert!(!with_news("<body></body>", &edition(&[])).contains("doc-sync-faults"));
    }

    #[test]
    fn where_there_is_no_book_the_page_says_why_and_waits_for_one() {
        let page = without_a_book(&edition(&["SUMMARY.md is missing"]));
        assert!(page.contains("SUMMARY.md is missing"), "{page}");
        assert!(page.contains("EventSource"), "{page}");
    }
}
