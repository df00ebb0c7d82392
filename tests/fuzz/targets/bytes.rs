//! Bytes as choices: a structured value is made by asking for one choice after the other. At the end of the bytes
//! everything is the first choice, so that short inputs are small cases.

/// The bytes that are left.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// One of these.
    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()].clone()
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// Any number of 64 bits, small ones as often as large ones.
    pub(crate) fn number(&mut self) -> i64 {
        let length = self.byte() % 9;
        let number = (0..length).fold(0_u64, |number, _| number << 8 | u64::from(self.byte()));
        if length == 8 || self.flag() { number.cast_signed() } else { number.cast_signed().wrapping_neg() }
    }

    /// Up to so many of the bytes, as text.
    pub(crate) fn text(&mut self, longest: usize) -> String {
        let length = (usize::from(self.byte()) % (longest + 1)).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}
