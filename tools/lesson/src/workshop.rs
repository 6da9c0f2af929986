//! What the program `lesson` and the book's tools share: the repository and its steps, a copy of it
//! that may be broken, and the mutations that break it.
//!
//! A learner's run needs none of it.

pub mod bench;
pub mod copy;
pub mod mutations;
pub mod repo;
