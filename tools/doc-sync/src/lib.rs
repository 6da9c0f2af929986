//! The library behind the program `doc-sync`.

pub mod carry;
pub mod code;
pub mod repo;
pub mod stats;
