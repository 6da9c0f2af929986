//! The stations of all districts: how often does a light flash?
//!
//! A main light has its own clock, the others follow one: `as 4021 in 05` is the light 4021 of
//! district 05, which may follow yet another.

use std::fs;
use std::path::Path;

/// A light that follows others leads to a main light within so many steps.
const FARTHEST: usize = 20;

/// Seconds between two flashes of a station. `folder` holds the districts' files.
pub fn period(folder: &Path, district: &str, number: &str) -> Result<u32, String> {
    let (mut district, mut number) = (district.to_string(), number.to_string());
    for _ in 0..FARTHEST {
        let clock = clock(folder, &district, &number)?;
        let words: Vec<&str> = clock.split_whitespace().collect();
        match words[..] {
            ["every", seconds, "s"] => {
                return seconds.parse().map_err(|_| format!("{number}: every {seconds} s"));
            }
            ["as", other, "in", there] => {
                (number, district) = (other.to_string(), there.to_string());
            }
            _ => return Err(format!("station {number}: `{clock}` is no clock")),
        }
    }
    Err(format!("station {number} follows others in a circle"))
}

/// The third field of a station's line.
fn clock(folder: &Path, district: &str, number: &str) -> Result<String, String> {
    let file = folder.join(format!("{district}.conf"));
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let line = text.lines().find(|line| line.starts_with(&format!("{number} |")));
    let clock = line.and_then(|line| line.split('|').nth(2));
    let missing = || format!("there is no station {number} in district {district}");
    clock.map(|clock| clock.trim().to_string()).ok_or_else(missing)
}
