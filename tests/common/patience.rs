//! How long a test waits before it fails: minutes, so that a timeout ends what hangs and never measures a slow machine.
//!
//! Every test program and the tests in `src/` take their limits of real time from here; `tests/it/timeouts.rs` holds
//! them to it.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longest that a test waits for anything, unless [`SCALE`] says otherwise.
const LONGEST: Duration = Duration::from_mins(5);

/// Environment variable with a factor for every limit of this file: `3` on a machine that is slower still, `0.1` to
/// see a failing test fail soon.
const SCALE: &str = "TEST_TIMEOUT_SCALE";

/// Longest that a test waits for anything. Only a failing test waits for it.
///
/// # Panics
/// If `TEST_TIMEOUT_SCALE` is not a positive number.
pub(crate) fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let Ok(text) = std::env::var(SCALE) else { return LONGEST };
        let scale = text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
        LONGEST.mul_f64(scale.unwrap_or_else(|| panic!("{SCALE} is `{text}`: it must be a positive number, such as 3")))
    })
}

/// A limit that a test configures because it has to run out, such as that of a call which is never answered: 3 s, unless
/// scaled. What is expected to come before it must not be able to take this long on any machine.
pub(crate) fn brief() -> Duration {
    patience() / 100
}

/// Waits for something that has to come.
///
/// # Errors
/// When it has not come after [`patience`].
pub(crate) fn in_time<F: Future>(awaited: F) -> impl Future<Output = Result<F::Output, Hung>> {
    // Boxed, since whoever waits has little room on the stack of a test.
    let awaited = Box::pin(awaited);
    async move { tokio::time::timeout(patience(), awaited).await.map_err(|_| Hung) }
}

/// Looks again and again, without a runtime, until there is something to see.
///
/// # Errors
/// When there is nothing after [`patience`].
pub(crate) fn seen_in_time<T>(mut look: impl FnMut() -> Option<T>) -> Result<T, Hung> {
    let start = Instant::now();
    loop {
        match look() {
            Some(seen) => return Ok(seen),
            None if start.elapsed() > patience() => return Err(Hung),
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// Whether what began then, and has ended, took no longer than [`patience`].
pub(crate) fn is_in_time(start: Instant) -> bool {
    start.elapsed() <= patience()
}

/// [`patience`] as an option of `kubectl` and `helm`: `--timeout=300s`.
pub(crate) fn timeout_option() -> String {
    format!("--timeout={}s", patience().as_secs().max(1))
}

/// Something did not come.
pub(crate) struct Hung;

impl fmt::Debug for Hung {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "nothing within {:?} ({SCALE} makes it longer)", patience())
    }
}
