//! Intercepts every call of every operator, to the cluster and to the remote alike.
//!
//! A call waits here until the driver decides its fate: it passes, is lost on the way there or back, arrives late, is
//! refused, or is the last call of its operator. Its effect happens at that moment and nowhere else, so the driver
//! determines the order of all effects.

use std::sync::{MutexGuard, PoisonError};

use connect_api::ErrorCode;
use tokio::sync::oneshot;

use crate::prelude::*;

/// The callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Cluster,
    Remote,
    /// The frontend whose actions are checked.
    Frontend,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) struct What {
    pub(crate) place: Callee,
    /// Shown in reports, such as `PATCH connectordeployments/shop/one status`.
    pub(crate) name: String,
    /// Whether it may change something.
    pub(crate) changes: bool,
    /// It leaves before that time, or not at all.
    pub(crate) send_before: Option<Timestamp>,
}

/// The fate of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It succeeds.
    Pass,
    /// It never arrives; its caller learns only that there is no answer.
    LostThere,
    /// It succeeds, and the answer is lost.
    LostBack,
    /// It succeeds, and the answer is an error that leaves open whether it did.
    Unclear,
    /// Its caller gives up; it arrives later all the same.
    Late,
    /// It succeeds, and the answer takes a while.
    Slow,
    /// It is refused before it had an effect.
    Refused(u16, Option<ErrorCode>),
    /// It was not sent.
    NotSent,
}

/// Why a call has no successful answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Lost,
    NotSent,
    Refused(u16, Option<ErrorCode>),
}

/// Something that happens once.
pub(crate) type Effect = Box<dyn FnOnce() + Send>;

/// What is still to happen once the fate of a call is decided.
pub(crate) enum Left {
    Nothing,
    /// Its effect happens later.
    Effect(Effect),
    /// Its answer arrives later.
    Answer(Effect),
}

/// A call that waits.
pub(crate) struct Call {
    pub(crate) operator: usize,
    pub(crate) what: What,
    pub(crate) since: Timestamp,
    /// Its position among the waiting calls.
    place: u64,
    decide: Box<dyn FnOnce(Fate) -> Left + Send>,
    /// The effect alone, for a caller that no longer exists.
    bare: Arc<Mutex<Option<Effect>>>,
}

impl Call {
    /// Executes it as `fate` says.
    pub(crate) fn decide(self, fate: Fate) -> Left {
        (self.decide)(fate)
    }

    /// Executes its effect without an answer: its caller is stopped.
    pub(crate) fn happen(self) {
        let effect = self.bare.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(effect) = effect {
            effect();
        }
    }
}

/// Holds the waiting calls.
#[derive(Clone, Default)]
pub(crate) struct Interceptor(Arc<Mutex<Vec<Call>>>);

/// The position of a call that is not ordered yet.
const NEW: u64 = u64::MAX;

impl Interceptor {
    /// Waits for the driver's decision. `effect` is what the call does, `fail` makes what its caller gets instead of an
    /// answer.
    pub(crate) async fn call<T, E, F>(&self, operator: usize, what: What, since: Timestamp, effect: E, fail: F) -> T
    where
        T: Send + 'static,
        E: FnOnce() -> T + Send + 'static,
        F: FnOnce(Failure) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let result = Arc::new(Mutex::new(None));
        let bare: Arc<Mutex<Option<Effect>>> = Arc::new(Mutex::new(Some({
            let result = Arc::clone(&result);
            Box::new(move || {
                *lock(&result) = Some(effect());
            })
        })));
        let happens = Arc::clone(&bare);
        let decide = Box::new(move |fate| {
            let effect = lock(&happens).take().expect("a call is decided once");
            let failure = match fate {
                Fate::Pass => {
                    effect();
                    // No receiver is left if the operator was stopped.
                    let _ = answer.send(lock(&result).take().expect("the effect stored its result"));
                    return Left::Nothing;
                }
                Fate::Slow => {
                    effect();
                    let answered = lock(&result).take().expect("the effect stored its result");
                    return Left::Answer(Box::new(move || {
                        let _ = answer.send(answered);
                    }));
                }
                Fate::Late => {
                    let _ = answer.send(fail(Failure::Lost));
                    return Left::Effect(effect);
                }
                Fate::LostBack => {
                    effect();
                    Failure::Lost
                }
                Fate::Unclear => {
                    effect();
                    Failure::Refused(400, Some(ErrorCode::DeploymentConnectorUpdateFailure))
                }
                Fate::LostThere => Failure::Lost,
                Fate::NotSent => Failure::NotSent,
                Fate::Refused(status, code) => Failure::Refused(status, code),
            };
            let _ = answer.send(fail(failure));
            Left::Nothing
        });
        self.parked().push(Call { operator, what, since, place: NEW, decide, bare });
        match answered.await {
            Ok(answer) => answer,
            // The operator was stopped here.
            Err(_) => std::future::pending().await,
        }
    }

    /// Orders the calls that are new. The clock resumes waiting tasks in any order, so the order in which their calls
    /// came is arbitrary, and would differ from one execution to the next.
    pub(crate) fn order(&self) {
        let mut parked = self.parked();
        parked.sort_by(|one, other| {
            (one.place, one.operator, &one.what.name).cmp(&(other.place, other.operator, &other.what.name))
        });
        let first = parked.iter().filter(|call| call.place != NEW).map(|call| call.place + 1).max().unwrap_or(0);
        for (place, call) in (first..).zip(parked.iter_mut().filter(|call| call.place == NEW)) {
            call.place = place;
        }
    }

    /// Returns the waiting calls, in their order.
    pub(crate) fn parked(&self) -> MutexGuard<'_, Vec<Call>> {
        lock(&self.0)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
