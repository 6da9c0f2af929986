//! Writes down when the lamp burned, and knows how often each light flashes.

pub mod stations;
pub mod watch;

#[cfg(test)]
mod tests;
