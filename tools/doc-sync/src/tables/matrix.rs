//! The matrix: every scene on every step, as `lesson matrix` shows it.

use anyhow::{Result, bail};

use super::{Side, markdown};
use crate::book::Book;
use crate::runs::{What, transcript};

pub fn table(book: &Book) -> Result<String> {
    let table = read(&transcript(&What::Matrix, book)?)?;
    let heads: Vec<&str> = table[0].iter().map(String::as_str).collect();
    Ok(markdown(&heads, &vec![Side::Left; heads.len()], &table[1..]))
}

/// The rows of the table on the screen, its heads first. Two blanks end a cell.
fn read(screen: &str) -> Result<Vec<Vec<String>>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in screen.lines().take_while(|line| !line.is_empty()) {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let mut cells: Vec<String> = cells.map(code).collect();
        if let (Some(scene), false) = (cells.first_mut(), rows.is_empty()) {
            *scene = format!("scene {scene}");
        }
        rows.push(cells);
    }
    let width = rows.first().map_or(0, Vec::len);
    if width < 2 || rows.iter().any(|row| row.len() != width) {
        bail!("`lesson matrix` wrote no table that can be read:\n{screen}");
    }
    rows[0][0] = String::new();
    Ok(rows)
}

/// The rule in `✗ rule` as code.
fn code(cell: &str) -> String {
    match cell.split_once(' ') {
        Some((mark, rule)) => format!("{mark} `{rule}`"),
        None => cell.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screens_table_becomes_one_of_the_book() {
        let screen = "scene             step00    step01\n00-loop           ✓         ✓\n\
                      01-tools          ✗ report  ✓\n\n✓ holds   ✗ fails\n";
        let rows = read(screen).unwrap();
        assert_eq!(
            rows,
            [
                vec!["", "step00", "step01"],
                vec!["scene 00-loop", "✓", "✓"],
                vec!["scene 01-tools", "✗ `report`", "✓"],
            ]
        );
        assert!(read("error: no").is_err());
    }
}
