//! The rule `link`: a link or an image leads somewhere.
//!
//! Links to other sites are not followed: a page must not fail because a network does.

use std::path::{Component, Path, PathBuf};

use super::Checked;
use crate::book::Book;
use crate::fault::Fault;
use crate::markdown::Link;
use crate::{near, repo};

pub fn faults(page: &Checked, pages: &[Checked], book: &Book) -> Vec<Fault> {
    let links = page.outline.links.iter();
    links
        .filter_map(|link| Some(page.fault_at(link.at, "link", wrong(link, page, pages, book)?)))
        .collect()
}

/// What is wrong with the link.
fn wrong(link: &Link, page: &Checked, pages: &[Checked], book: &Book) -> Option<String> {
    let target = link.target.as_str();
    let is_elsewhere = target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign))
    });
    if is_elsewhere {
        return None;
    }
    let (path, anchor) =
        target.split_once('#').map_or((target, None), |(path, id)| (path, Some(id)));
    let path = path.replace("%20", " ");
    let name = match path.as_str() {
        "" => page.page.name.clone(),
        _ => match inside(Path::new(&page.page.name), Path::new(&path)) {
            Some(name) => name,
            None => {
                return Some(format!(
                    "`{target}` leads out of the book's pages, where the built book has nothing; \
                     name the file in `code` instead"
                ));
            }
        },
    };
    let Some(found) = pages.iter().find(|page| page.page.name == name) else {
        let is_file = book.src.join(&name).is_file();
        return (!is_file).then(|| no_file(link, target, pages));
    };
    let anchor = anchor.filter(|id| !id.is_empty())?;
    let known: Vec<&str> = found.outline.anchors.iter().map(String::as_str).collect();
    if known.contains(&anchor) {
        return None;
    }
    Some(format!("{name} has no heading `#{anchor}`{}", near::hint(anchor, &known)))
}

fn no_file(link: &Link, target: &str, pages: &[Checked]) -> String {
    if link.is_image {
        return format!("there is no image `{target}`; `<!-- doc-sync picture … -->` makes one");
    }
    let names: Vec<&str> = pages.iter().map(|page| page.page.name.as_str()).collect();
    format!("there is no page `{target}`{}", near::hint(target, &names))
}

/// Where a relative path leads from a page, as a name within the pages' folder. `None` where it
/// leads out of it.
fn inside(page: &Path, path: &Path) -> Option<String> {
    let mut place = page.parent().map(PathBuf::from).unwrap_or_default();
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !place.pop() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(repo::slashed(&place))
}
