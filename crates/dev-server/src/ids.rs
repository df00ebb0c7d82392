//! Ids: UUIDs of version 4, from the machine's randomness or, in tests, from a seed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Where new ids come from.
#[derive(Debug)]
pub(super) struct Ids(StdRng);

impl Ids {
    /// The same ids for the same seed; without one they cannot be foreseen.
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self(seed.map_or_else(|| StdRng::from_rng(&mut rand::rng()), StdRng::seed_from_u64))
    }

    /// A new id.
    pub(super) fn next(&mut self) -> String {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid().to_string()
    }

    /// Random bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
