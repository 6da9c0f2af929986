use std::path::Path;

use crate::stations;
use crate::watch::Watch;

const WATCH: Watch = Watch { minutes: 750 };

#[test]
fn a_begun_hour_is_not_logged() {
    assert_eq!(WATCH.hours_logged(), 12);
}

#[test]
fn a_begun_hour_needs_oil() {
    assert_eq!(WATCH.hours_of_oil(), 13);
}

#[test]
fn every_light_flashes_as_the_pilots_saw_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stations");
    let seen = std::fs::read_to_string(folder.join("seen.conf")).unwrap();
    for line in seen.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let computed = stations::period(&folder, words[0], words[1]);
        assert_eq!(computed, Ok(words[2].parse().unwrap()), "district and number: {line}");
    }
}
