//! The library behind the program `doc-sync`.

pub mod blocks;
pub mod book;
pub mod build;
pub mod carry;
pub mod catalog;
pub mod changes;
pub mod check;
pub mod cli;
pub mod code;
pub mod exercises;
pub mod fault;
pub mod front;
pub mod generate;
pub mod markdown;
mod near;
pub mod origin;
pub mod page;
pub mod pictures;
mod press;
pub mod regions;
pub mod repo;
pub mod runs;
pub mod serve;
pub mod sources;
pub mod stats;
pub mod sync;
pub mod tables;
