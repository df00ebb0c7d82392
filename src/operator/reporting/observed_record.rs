//! The record of the Connect API that a status describes. Pure.

/// The record, as one reconcile saw it.
#[derive(Debug)]
pub enum ObservedRecord<'a, R> {
    /// It was not read.
    NotRead,
    /// There is none.
    Absent,
    /// This one.
    Present(&'a R),
}

impl<R> Clone for ObservedRecord<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ObservedRecord<'_, R> {}

impl<'a, R> ObservedRecord<'a, R> {
    /// A record that was read, or its absence.
    pub fn of(record: Option<&'a R>) -> Self {
        record.map_or(Self::Absent, Self::Present)
    }

    /// The same, but somebody else's record is none.
    pub fn only(self, is_own: impl FnOnce(&R) -> bool) -> Self {
        match self {
            Self::Present(record) if !is_own(record) => Self::Absent,
            other => other,
        }
    }

    /// The record in a response; one without says nothing about it.
    pub fn answered(record: Option<&'a R>) -> Self {
        record.map_or(Self::NotRead, Self::Present)
    }
}
