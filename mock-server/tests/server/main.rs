//! The scripted model over HTTP, as a program meets it.

mod crowd;
mod faults;
mod http;
mod parts;
mod play;
mod shape;
mod strict;
mod talk;
mod usage;
