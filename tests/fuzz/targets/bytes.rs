//! Bytes as choices: a structured value is built by making one choice after the other. After the last byte every choice
//! is the first one, so that short inputs are small cases.

/// The remaining bytes.
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

    /// Chooses one of these.
    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()].clone()
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// Returns any 64-bit number, small ones as often as large ones.
    pub(crate) fn number(&mut self) -> i64 {
        let length = self.byte() % 9;
        let number = (0..length).fold(0_u64, |number, _| number << 8 | u64::from(self.byte()));
        if length == 8 || self.flag() { number.cast_signed() } else { number.cast_signed().wrapping_neg() }
    }

    /// Returns up to that many of the bytes, as text.
    pub(crate) fn text(&mut self, longest: usize) -> String {
        let length = (usize::from(self.byte()) % (longest + 1)).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// Returns all remaining bytes.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}
