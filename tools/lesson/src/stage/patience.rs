//! When to stop waiting for a program that does nothing.
//!
//! A scene's time limit is long, since a step may have to build a crate. A program that has sent
//! nothing, written nothing, used no processor and has no child at work will not go on by itself,
//! and is not waited for so long. Where that cannot be told, the limit alone counts.

use std::time::{Duration, Instant};

/// How long a program may do nothing at all.
const QUIET: Duration = Duration::from_secs(10);

/// How often to say what is waited for, to one who sees nothing else.
const TELL: Duration = Duration::from_secs(5);

/// How often to look at it.
pub const LOOK: Duration = Duration::from_millis(500);

/// How long it has been quiet, by what was last seen of it.
pub struct Patience {
    since: Instant,
    ticks: u64,
    /// When something last happened, or was told.
    told: Instant,
}

impl Patience {
    pub fn new() -> Self {
        Self { since: Instant::now(), ticks: 0, told: Instant::now() }
    }

    /// Something happened.
    pub fn renew(&mut self) {
        self.since = Instant::now();
        self.told = self.since;
    }

    /// Whether it is time to say what is waited for.
    pub fn is_to_tell(&mut self) -> bool {
        let due = self.told.elapsed() >= TELL;
        if due {
            self.told = Instant::now();
        }
        due
    }

    /// It does nothing, and with reason.
    pub fn excuse(&mut self) {
        self.since = Instant::now();
    }

    /// Looks at the run's processes; how long they have been quiet, where that was too long.
    pub fn is_over(&mut self, activity: Option<(usize, u64)>) -> Option<Duration> {
        let (living, ticks) = activity?;
        if living > 1 || ticks != self.ticks {
            self.ticks = ticks;
            self.excuse();
        }
        (self.since.elapsed() >= QUIET).then_some(QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_a_minute() -> Patience {
        let since = Instant::now().checked_sub(Duration::from_secs(60)).expect("the machine is up");
        Patience { since, ticks: 7, told: since }
    }

    #[test]
    fn a_program_that_does_nothing_is_not_waited_for() {
        assert_eq!(after_a_minute().is_over(Some((1, 7))), Some(QUIET));
    }

    #[test]
    fn what_is_waited_for_is_told_now_and_then() {
        let mut patience = after_a_minute();
        assert_eq!([patience.is_to_tell(), patience.is_to_tell()], [true, false]);
    }

    #[test]
    fn one_that_computes_or_has_a_child_or_cannot_be_seen_is_waited_for() {
        for activity in [Some((1, 8)), Some((2, 7)), None] {
            assert_eq!(after_a_minute().is_over(activity), None, "{activity:?}");
        }
        assert_eq!(Patience::new().is_over(Some((1, 0))), None);
    }
}
