//! The rules `front` and `chapter`: each step has a chapter, each chapter a step and its minutes.

use super::Checked;
use crate::book::Book;
use crate::fault::Fault;
use crate::near;

const SUMMARY: &str = "SUMMARY.md";

pub fn faults(pages: &[Checked], book: &Book) -> Vec<Fault> {
    let mut faults = Vec::new();
    for page in pages {
        faults.extend(of_page(page, book));
    }
    faults.extend(steps_without_chapter(pages, book));
    faults.extend(not_in_summary(pages));
    faults
}

fn of_page(page: &Checked, book: &Book) -> Vec<Fault> {
    let front = &page.page.front;
    let Some(number) = front.step.or(page.page.number()) else { return Vec::new() };
    let mut faults = Vec::new();
    if front.step.is_none() || front.minutes.is_none() {
        let missing = match (front.step, front.minutes) {
            (None, None) => "`step:` and `minutes:`",
            (None, _) => "`step:`",
            _ => "`minutes:`",
        };
        faults.push(page.fault(
            1,
            "front",
            format!("{missing} missing in the chapter's front matter: a comment at the very top, a line each"),
        ));
    }
    let names: Vec<&str> = book.steps.iter().map(|step| step.name.as_str()).collect();
    match book.steps.iter().find(|step| step.number == number) {
        None => faults.push(page.fault(
            1,
            "chapter",
            format!("there is no step {number:02} for this chapter{}", near::hint("", &names)),
        )),
        Some(step) if page.page.name != format!("{}.md", step.name) => faults.push(page.fault(
            1,
            "chapter",
            format!(
                "the chapter of steps/{} is called {}.md; rename this page",
                step.name, step.name
            ),
        )),
        Some(_) => {}
    }
    faults
}

fn steps_without_chapter(pages: &[Checked], book: &Book) -> Vec<Fault> {
    let has_chapter = |number| {
        pages.iter().any(|page| page.page.front.step.or(page.page.number()) == Some(number))
    };
    let bare = book.steps.iter().filter(|step| !has_chapter(step.number));
    let file = book.shown(&book.src.join(SUMMARY));
    bare.map(|step| Fault {
        file: file.clone(),
        line: 1,
        rule: "chapter",
        text: format!(
            "steps/{} has no chapter; write {}",
            step.name,
            book.shown(&book.src.join(format!("{}.md", step.name)))
        ),
    })
    .collect()
}

/// mdBook makes no page of a file that the summary does not name.
fn not_in_summary(pages: &[Checked]) -> Vec<Fault> {
    let Some(summary) = pages.iter().find(|page| page.page.name == SUMMARY) else {
        return Vec::new();
    };
    let targets = summary.outline.links.iter().map(|link| link.target.trim_start_matches("./"));
    let named: Vec<&str> = targets.collect();
    let others = pages.iter().filter(|page| page.page.name != SUMMARY);
    let missing = others.filter(|page| !named.contains(&page.page.name.as_str()));
    missing
        .map(|page| {
            let text = format!(
                "no line of SUMMARY.md names this page; add `- [Title]({})`",
                page.page.name
            );
            page.fault(1, "chapter", text)
        })
        .collect()
}
