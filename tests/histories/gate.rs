//! The one gate through which every call of every operator goes, to the cluster and to the remote alike.
//!
//! A call waits here until the driver decides on it: it is let through, lost on the way there or back, comes late, is
//! refused, or is the last that its operator ever made. What a call does happens at that moment and nowhere else, so the
//! order of all effects is the driver's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use connect_api::ErrorCode;
use jiff::Timestamp;
use tokio::sync::oneshot;

/// Who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Cluster,
    Remote,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) struct What {
    pub(crate) place: Place,
    /// For people, such as `PATCH connectordeployments/shop/one status`.
    pub(crate) name: String,
    /// Whether it may change something.
    pub(crate) changes: bool,
    /// It leaves before that time, or not at all.
    pub(crate) send_before: Option<Timestamp>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It works.
    Pass,
    /// It never arrives, and its caller learns no more than that.
    LostThere,
    /// It works, and the answer is lost.
    LostBack,
    /// It works, and the answer is an error that leaves open whether it did.
    Unclear,
    /// Its caller gives up; it arrives all the same, later.
    Late,
    /// It works, and the answer takes a while.
    Slow,
    /// It is refused before it had an effect.
    Refused(u16, Option<ErrorCode>),
    /// It was not sent.
    NotSent,
}

/// Why a call has no good answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Lost,
    NotSent,
    Refused(u16, Option<ErrorCode>),
}

/// Something that happens once.
pub(crate) type Effect = Box<dyn FnOnce() + Send>;

/// What is left of a call once its fate is decided.
pub(crate) enum Left {
    Nothing,
    /// Its effect comes later.
    Effect(Effect),
    /// Its answer comes later.
    Answer(Effect),
}

/// A call that waits.
pub(crate) struct Call {
    pub(crate) operator: usize,
    pub(crate) what: What,
    pub(crate) since: Timestamp,
    /// Its place among those that wait.
    place: u64,
    decide: Box<dyn FnOnce(Fate) -> Left + Send>,
    /// The effect alone, for a caller that is no more.
    bare: Arc<Mutex<Option<Effect>>>,
}

impl Call {
    /// Lets it happen as `fate` says.
    pub(crate) fn decide(self, fate: Fate) -> Left {
        (self.decide)(fate)
    }

    /// Its caller is stopped; what it asked for happens all the same.
    pub(crate) fn happen(self) {
        let effect = self.bare.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(effect) = effect {
            effect();
        }
    }
}

/// The gate.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Vec<Call>>>);

/// Not yet put into order.
const NEW: u64 = u64::MAX;

impl Gate {
    /// Waits for the driver's decision. `effect` is what the call does, `fail` what its caller gets instead of an answer.
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
                    // Nobody waits any more if the operator was stopped.
                    let _ = answer.send(lock(&result).take().expect("the effect left its result"));
                    return Left::Nothing;
                }
                Fate::Slow => {
                    effect();
                    let answered = lock(&result).take().expect("the effect left its result");
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

    /// Puts the calls that came since into an order. Tasks that wait for the clock are woken by it in any order, so the
    /// one in which their calls came means nothing, and would be another one each time.
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

    /// The calls that wait, in their order.
    pub(crate) fn parked(&self) -> MutexGuard<'_, Vec<Call>> {
        lock(&self.0)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
