//! Writes down when the lamp burned.

pub mod watch;

#[cfg(test)]
mod tests;
