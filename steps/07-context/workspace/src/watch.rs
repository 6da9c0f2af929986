//! One watch: from lighting the lamp to putting it out.

pub struct Watch {
    /// Minutes that the lamp burned.
    pub minutes: u32,
}

impl Watch {
    /// Hours for the log: only full ones are written down.
    pub fn hours_logged(&self) -> u32 {
        self.minutes / 60
    }

    /// Hours of oil to carry up: a begun hour needs as much as a full one.
    pub fn hours_of_oil(&self) -> u32 {
        self.minutes.div_ceil(60)
    }
}
