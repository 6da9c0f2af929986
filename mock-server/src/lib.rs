#![doc = include_str!("../README.md")]

mod delivery;
mod event;
mod expect;
mod front;
mod gate;
mod inner;
mod intake;
mod journal;
mod judge;
mod keys;
mod place;
mod play;
mod read;
mod reply;
mod request;
mod respond;
pub mod scene;
mod server;
mod sse;
mod strict;
mod usage;
mod values;

pub use event::{Event, Exchange, Fault, FaultKind, Next};
pub use gate::Gate;
pub use judge::judge;
pub use scene::Scene;
pub use server::{Options, ScriptedModel};
pub use values::Values;
