//! The Connect client over real HTTP, against small servers that each test defines.

mod actions;
mod certificates;
mod dns;
mod fence;
mod observed;
mod operations;
mod pauses;
mod proxy;
mod refusals;
mod registry;
pub(crate) mod remote;
mod secrets;
mod tls;
mod tokens;

use std::sync::LazyLock;

use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Subscriber};

/// While there is just one dispatcher, the thread that first meets a span or an event decides for all threads whether it is
/// enabled, by the dispatcher of its own (tracing-core, `callsite.rs`): the thread of another test, which has none, would disable
/// what this test listens to. With a second one, every dispatcher is asked.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// Passes what this thread traces to the subscriber, until the guard is dropped.
fn listen(subscriber: impl Subscriber + Send + Sync + 'static) -> DefaultGuard {
    LazyLock::force(&SECOND);
    tracing::subscriber::set_default(subscriber)
}
