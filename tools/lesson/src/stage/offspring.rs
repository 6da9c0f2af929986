//! Which processes belong to a run: they end with it.

use super::rooms::Rooms;
use crate::process;

/// What a run's processes are known by.
pub struct Offspring {
    /// `NAME=value` in the environment of whatever the run starts.
    mark: String,
    alone: bool,
}

impl Offspring {
    /// `alone`: the run is all that this process does. Then everything below it is the run's, also
    /// what has cleared its environment.
    pub fn new(rooms: &Rooms, alone: bool) -> Self {
        Self { mark: format!("{}={}", process::ON_STAGE, rooms.base().display()), alone }
    }

    /// The variable that marks what the run starts.
    pub fn variable(&self) -> (&str, &str) {
        self.mark.split_once('=').unwrap_or((&self.mark, ""))
    }

    /// Ends them all.
    pub fn end(&self) {
        process::end_descendants(self.sought());
    }

    /// How many live, and the processor time that they have used: see `process::activity`.
    pub fn activity(&self) -> Option<(usize, u64)> {
        process::activity(self.sought())
    }

    /// The mark to look for, where not all are meant.
    fn sought(&self) -> Option<&str> {
        Some(self.mark.as_str()).filter(|_| !self.alone)
    }
}
