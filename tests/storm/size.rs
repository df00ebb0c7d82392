//! How much is done, and the one number that every random choice comes from.

use std::sync::OnceLock;

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Whether `STORM=full` asks for everything; otherwise each part takes about a minute.
pub(crate) fn is_full() -> bool {
    static FULL: OnceLock<bool> = OnceLock::new();
    *FULL.get_or_init(|| match std::env::var("STORM").as_deref() {
        Err(_) | Ok("" | "small") => false,
        Ok("full") => true,
        Ok(other) => panic!("STORM is `{other}`: leave it out, or set it to full"),
    })
}

/// The small or the full one.
pub(crate) fn pick<T>(small: T, full: T) -> T {
    if is_full() { full } else { small }
}

/// The seed of a small storm, so that a test run finds tomorrow what it finds today.
const USUAL: u64 = 1;

/// `STORM_SEED`; without it always the same for a small storm, and any number for a full one. Each part prints it.
pub(crate) fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match std::env::var("STORM_SEED") {
        Ok(text) => text.parse().expect("STORM_SEED is a whole number"),
        Err(_) if is_full() => u64::from(rand::random::<u32>()),
        Err(_) => USUAL,
    })
}

/// The random choices of one actor in one part: the same in each run with this seed, whatever the others do.
pub(crate) fn chance(part: &str, actor: &str) -> StdRng {
    // Any mixture will do (FNV-1a).
    let mixed =
        part.bytes().chain([b'/']).chain(actor.bytes()).fold(seed() ^ 0xcbf2_9ce4_8422_2325, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    StdRng::seed_from_u64(mixed)
}

/// How many times [`crate::patience::patience`] all resources may take to come to rest: after a lost answer the operator
/// waits for up to two minutes, and a resource may meet several.
pub(crate) const TIMES_TO_REST: u32 = 3;
