//! The bound on the cost of an evaluation. Pure.

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
}

/// Why an evaluation ends before all values were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The caller needs no further values.
    Enough,
    /// The budget is used up.
    TooMuch,
}
