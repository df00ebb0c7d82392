//! The amount of work, and the seed of every random choice.

use std::sync::OnceLock;

use rand::SeedableRng;

use crate::prelude::*;

/// Whether `STORM=full` requests everything; otherwise each part takes about a minute.
pub(crate) fn is_full() -> bool {
    static FULL: OnceLock<bool> = OnceLock::new();
    *FULL.get_or_init(|| match std::env::var("STORM").as_deref() {
        Err(_) | Ok("" | "small") => false,
        Ok("full") => true,
        Ok(other) => panic!("STORM is `{other}`: leave it out, or set it to full"),
    })
}

/// Returns the small or the full value.
pub(crate) fn pick<T>(small: T, full: T) -> T {
    if is_full() { full } else { small }
}

/// Returns the small or the full number of resources, or `STORM_RESOURCES`.
pub(crate) fn resources(small: usize, full: usize) -> usize {
    match std::env::var("STORM_RESOURCES") {
        Ok(text) => text.parse().expect("STORM_RESOURCES is a whole number"),
        Err(_) => pick(small, full),
    }
}

/// The seed of a small storm, so that two test runs make the same choices.
const USUAL: u64 = 1;

/// Returns `STORM_SEED`; without it always the same for a small storm, and a random number for a full one. Each part
/// prints it.
pub(crate) fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match std::env::var("STORM_SEED") {
        Ok(text) => text.parse().expect("STORM_SEED is a whole number"),
        Err(_) if is_full() => u64::from(rand::random::<u32>()),
        Err(_) => USUAL,
    })
}

/// Returns the random choices of one actor in one part: the same in each execution with this seed, whatever the others
/// do.
pub(crate) fn chance(part: &str, actor: &str) -> StdRng {
    // Any mixing function will do (FNV-1a).
    let mixed =
        part.bytes().chain([b'/']).chain(actor.bytes()).fold(seed() ^ 0xcbf2_9ce4_8422_2325, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    StdRng::seed_from_u64(mixed)
}

/// How many times [`crate::patience::patience`] all resources may take to settle: after a lost answer the operator
/// waits for up to two minutes, and a resource may meet several.
pub(crate) const TIMES_TO_SETTLE: u32 = 3;
