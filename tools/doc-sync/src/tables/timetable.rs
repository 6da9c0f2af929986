//! A day's workshop: the pages that give their minutes, one after the other, with breaks.

use anyhow::{Result, bail};

use super::{Side, markdown, title};
use crate::book::{Book, Page};

/// All times are minutes since midnight, or lengths in minutes.
const BEGIN: usize = 9 * 60;
/// Nobody sits for longer than this without a break, if a page ends before.
const WITHOUT_BREAK: usize = 100;
const BREAK: usize = 15;
const LUNCH: usize = 60;
/// Lunch is before the page that would end later than this.
const LUNCH_BY: usize = 13 * 60;

pub fn table(book: &Book) -> Result<String> {
    let pages: Vec<(&Page, usize)> = in_order(book);
    if pages.is_empty() {
        bail!("no page says how long it takes; write `minutes:` into their front matter");
    }
    let minutes: Vec<usize> = pages.iter().map(|(_, minutes)| *minutes).collect();
    let mut rows = Vec::new();
    let mut end = BEGIN;
    for slot in day(&minutes) {
        let what = match slot.what {
            What::Page(at) => format!("[{}]({})", title(pages[at].0), pages[at].0.name),
            What::Break => "*break*".to_string(),
            What::Lunch => "*lunch*".to_string(),
        };
        rows.push(vec![clock(slot.begin), what, slot.minutes.to_string()]);
        end = slot.begin + slot.minutes;
    }
    rows.push(vec![clock(end), "*end*".to_string(), String::new()]);
    Ok(markdown(&["time", "what", "minutes"], &[Side::Left, Side::Left, Side::Right], &rows))
}

/// What belongs to no step comes first, then the chapters.
fn in_order(book: &Book) -> Vec<(&Page, usize)> {
    let timed = book.pages.iter().filter_map(|page| Some((page, page.front.minutes?)));
    let mut pages: Vec<(&Page, usize)> = timed.collect();
    pages.sort_by_key(|(page, _)| page.front.step);
    pages
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    /// By its place in the list.
    Page(usize),
    Break,
    Lunch,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot {
    begin: usize,
    minutes: usize,
    what: What,
}

fn day(pages: &[usize]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let (mut now, mut sat, mut has_eaten) = (BEGIN, 0, false);
    for (at, minutes) in pages.iter().enumerate() {
        let is_late = now + minutes > LUNCH_BY;
        let rest = if !has_eaten && is_late && at > 0 {
            has_eaten = true;
            Some((LUNCH, What::Lunch))
        } else if sat > 0 && sat + minutes > WITHOUT_BREAK {
            Some((BREAK, What::Break))
        } else {
            None
        };
        if let Some((length, what)) = rest {
            slots.push(Slot { begin: now, minutes: length, what });
            (now, sat) = (now + length, 0);
        }
        slots.push(Slot { begin: now, minutes: *minutes, what: What::Page(at) });
        (now, sat) = (now + minutes, sat + minutes);
    }
    slots
}

fn clock(minutes: usize) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_breaks_and_one_lunch() {
        let day = day(&[20, 50, 45, 45, 50, 40, 40]);
        let shown: Vec<String> = day
            .iter()
            .map(|slot| format!("{} {:?} {}", clock(slot.begin), slot.what, slot.minutes))
            .collect();
        assert_eq!(
            shown,
            [
                "09:00 Page(0) 20",
                "09:20 Page(1) 50",
                "10:10 Break 15",
                "10:25 Page(2) 45",
                "11:10 Page(3) 45",
                "11:55 Break 15",
                "12:10 Page(4) 50",
                "13:00 Lunch 60",
                "14:00 Page(5) 40",
                "14:40 Page(6) 40",
            ]
        );
    }

    #[test]
    fn a_page_longer_than_a_morning_is_not_cut() {
        let day = day(&[300, 10]);
        assert_eq!(day.len(), 3);
        assert_eq!(day[1], Slot { begin: 14 * 60, minutes: LUNCH, what: What::Lunch });
    }
}
