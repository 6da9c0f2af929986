//! What the server remembers of each API key. None of it chooses the line that speaks: attempts
//! of a place, cached prefixes, and captured values (which a compacted history no longer shows).

use std::collections::{HashMap, HashSet};

use crate::place::Place;
use crate::usage::Cache;
use crate::values::Values;

/// Keys that a long-lived server remembers; then the one longest unused is forgotten.
const KEYS: usize = 1_000;

/// Misses remembered of a key, so that a long-lived server does not grow.
const MISSES: usize = 1_000;

#[derive(Debug, Default)]
pub struct Keys {
    of: HashMap<String, Memory>,
    /// Counts uses, to tell which key is the longest unused.
    uses: u64,
}

#[derive(Debug, Default)]
pub struct Memory {
    used: u64,
    attempts: HashMap<Place, usize>,
    /// Results that were already reported as missed.
    reported: HashSet<(Place, String)>,
    pub cache: Cache,
    pub captured: Option<Values>,
}

impl Keys {
    pub fn get(&self, key: &str) -> Option<&Memory> {
        self.of.get(key)
    }

    pub fn of(&mut self, key: &str) -> &mut Memory {
        self.uses += 1;
        if !self.of.contains_key(key) && self.of.len() >= KEYS {
            let oldest = self.of.iter().min_by_key(|(_, memory)| memory.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.of.remove(&oldest);
            }
        }
        let memory = self.of.entry(key.to_string()).or_default();
        memory.used = self.uses;
        memory
    }
}

impl Memory {
    /// Which attempt of this place this is, counted from 1. `is_start`: the request opens its
    /// conversation, so that one who plays the scene again under the same key starts afresh.
    pub fn attempt(&mut self, place: Place, is_start: bool) -> usize {
        let later = |known: &Place| known.part == place.part && known.line > place.line;
        if is_start && self.attempts.keys().any(later) {
            self.attempts.retain(|known, _| known.part != place.part);
            self.reported.retain(|(known, _)| known.part != place.part);
        }
        let attempt = self.attempts.entry(place).or_default();
        *attempt += 1;
        *attempt
    }

    /// Whether this is news: a retry misses the same again.
    pub fn is_new(&mut self, place: Place, missed: &str) -> bool {
        if self.reported.len() >= MISSES {
            self.reported.clear();
        }
        self.reported.insert((place, missed.to_string()))
    }
}
