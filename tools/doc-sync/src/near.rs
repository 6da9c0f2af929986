//! Names near to one that is not there.

/// How alike two names must be, from 0 to 1, for one to be meant by the other.
const ALIKE: f32 = 0.6;

/// Names that are listed at most.
const MOST: usize = 12;

/// `; did you mean a or b?`, or, where nothing is near, `; there are a, b, c`.
pub fn hint(name: &str, known: &[&str]) -> String {
    let near = similar::get_close_matches(name, known, 3, ALIKE);
    if !near.is_empty() {
        return format!("; did you mean {}?", quoted(&near, " or "));
    }
    match known.len() {
        0 => String::new(),
        1..=MOST => format!("; there are {}", quoted(known, ", ")),
        _ => format!("; there are {}, …", quoted(&known[..MOST], ", ")),
    }
}

fn quoted(names: &[&str], between: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(between)
}
