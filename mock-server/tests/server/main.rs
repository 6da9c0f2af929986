//! The scripted model over HTTP, as a program meets it.

mod play;
mod talk;
