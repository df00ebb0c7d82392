//! A mutex that a panic does not poison.

use std::sync::{MutexGuard, PoisonError};

/// A [`std::sync::Mutex`] whose lock ignores poisoning: a panic ends only its own reconcile (`operator/reconcile/panics.rs`),
/// and the next holder must not panic because of it. So each change of what it protects must leave it valid at every
/// point where the change may panic.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_holder_leaves_the_lock_usable() {
        let mutex = Mutex::new(1);
        let panicked = std::panic::catch_unwind(|| {
            let _held = mutex.lock();
            panic!("while the lock is held");
        });
        assert!(panicked.is_err() && mutex.0.is_poisoned());
        assert_eq!(*mutex.lock(), 1);
    }
}
