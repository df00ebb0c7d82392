//! Ids: version 4 UUIDs, from the randomness of the system or, in tests, from a seed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Generator of ids.
#[derive(Debug)]
pub(super) struct Ids(StdRng);

impl Ids {
    /// Creates a generator: with a seed, the ids are always the same; without one, they are unpredictable.
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self(seed.map_or_else(|| StdRng::from_rng(&mut rand::rng()), StdRng::seed_from_u64))
    }

    /// Returns a new id.
    pub(super) fn next(&mut self) -> String {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid().to_string()
    }

    /// Returns random bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
