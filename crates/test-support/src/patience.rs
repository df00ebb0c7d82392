//! How long a test waits before it fails: minutes, so that a timeout ends what hangs and never measures a slow machine.
//!
//! Every test program and the tests in `src/` take their real-time limits from here; `tests/it/timeouts.rs` checks
//! that.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Maximum wait of a test, unless [`SCALE`] changes it.
const LONGEST: Duration = Duration::from_mins(5);

/// Environment variable with a factor for every limit of this file: `3` on a slower machine, `0.1` to make a failing
/// test fail soon.
const SCALE: &str = "TEST_TIMEOUT_SCALE";

/// Returns the maximum wait of a test. Only a failing test waits that long.
///
/// # Panics
/// If `TEST_TIMEOUT_SCALE` is not a positive number.
#[must_use]
pub fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let Ok(text) = std::env::var(SCALE) else { return LONGEST };
        let scale = text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
        LONGEST.mul_f64(scale.unwrap_or_else(|| panic!("{SCALE} is `{text}`: it must be a positive number, such as 3")))
    })
}

/// Returns a limit for tests in which it has to expire, such as that of a call which is never answered: 3 s, unless
/// scaled. What is expected before it must not be able to take this long on any machine.
#[must_use]
pub fn brief() -> Duration {
    patience() / 100
}

/// Waits for something that must happen.
///
/// # Errors
/// When it has not happened after [`patience`].
pub fn in_time<F: Future>(awaited: F) -> impl Future<Output = Result<F::Output, Hung>> {
    // Boxed, because the stack of a test is small.
    let awaited = Box::pin(awaited);
    async move { tokio::time::timeout(patience(), awaited).await.map_err(|_| Hung) }
}

/// Polls without a runtime until `look` returns something.
///
/// # Errors
/// When it has returned nothing after [`patience`].
pub fn seen_in_time<T>(mut look: impl FnMut() -> Option<T>) -> Result<T, Hung> {
    let start = Instant::now();
    loop {
        match look() {
            Some(seen) => return Ok(seen),
            None if start.elapsed() > patience() => return Err(Hung),
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// Returns whether the time since `start` is within [`patience`].
#[must_use]
pub fn is_in_time(start: Instant) -> bool {
    start.elapsed() <= patience()
}

/// Returns whether a test has waited so long since `start` that it lets time pass faster: 20 s, unless scaled. A machine that
/// is slow for other reasons loses nothing by that.
#[must_use]
pub fn waits_long(start: Instant) -> bool {
    start.elapsed() > patience() / 15
}

/// Returns [`patience`] as an option of `kubectl` and `helm`: `--timeout=300s`.
#[must_use]
pub fn timeout_option() -> String {
    format!("--timeout={}s", patience().as_secs().max(1))
}

/// The error of a wait that timed out.
pub struct Hung;

impl fmt::Debug for Hung {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "nothing within {:?} ({SCALE} makes it longer)", patience())
    }
}
