//! The bound on the cost of an evaluation. Pure.

/// Steps for one byte that a regular expression reads: it may be in many states at once.
const MATCHED: usize = 16;

/// The remaining steps; a step takes some ten nanoseconds.
#[derive(Debug)]
pub struct Budget(usize);

impl Budget {
    /// Returns a budget of so many steps.
    #[must_use]
    pub fn of(steps: usize) -> Self {
        Self(steps)
    }

    /// Spends steps.
    ///
    /// # Errors
    /// `TooMuch` when fewer are left.
    pub fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(steps).ok_or(Stop::TooMuch)?;
        Ok(())
    }

    /// Spends the cost of a regular expression over a text.
    ///
    /// # Errors
    /// `TooMuch` when less is left.
    pub fn spend_match(&mut self, text: &str) -> Result<(), Stop> {
        self.spend(text.len().saturating_mul(MATCHED).saturating_add(1))
    }
}

/// Why an evaluation ends before all values were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The caller needs no further values.
    Enough,
    /// The budget is used up.
    TooMuch,
}
