//! One cell: an operation meets a fault, once, over a real socket. It records how the operator reacts, and what
//! follows.

use clock::between;
use connect_operator::operator::deployment::act;
use connect_operator::operator::deployment::decide::{AppliedResponse, Outcome, Response};
use connect_operator::operator::deployment::persisted::{OperationState, OperationType};
use connect_operator::operator::deployment::status;
use connect_operator::operator::remote::Outage;
use connect_operator::operator::reporting::problem;
use dev_server::Fault as Wrong;
use futures::FutureExt as _;

use super::desk::{Desk, START, Turn, at_a_standstill};
use super::faults::{Fault, How};
use crate::prelude::*;

/// Everything that the operator calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    List,
    ById,
    ByKey,
    Create,
    Redeploy,
    Undeploy,
    ConnectorById,
    ConnectorByKey,
    StagedById,
    StagedByKey,
    /// A request for a token that a read needs.
    TokenToLook,
    /// A request for a token that a redeploy needs.
    TokenToChange,
}

impl Operation {
    /// Each with its name in the contract, or `token`.
    pub(super) const ALL: [(Self, &str); 12] = [
        (Self::List, "queryDeployments"),
        (Self::ById, "getDeploymentById"),
        (Self::ByKey, "getDeploymentByKey"),
        (Self::Create, "createDeployment"),
        (Self::Redeploy, "updateDeploymentById"),
        (Self::Undeploy, "deleteDeploymentById"),
        (Self::ConnectorById, "getConnectorById"),
        (Self::ConnectorByKey, "getConnectorByKey"),
        (Self::StagedById, "getConnectorStagedById"),
        (Self::StagedByKey, "getConnectorStagedByKey"),
        (Self::TokenToLook, "token"),
        (Self::TokenToChange, "token"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(operation, _)| *operation == self).expect("all are listed").1
    }

    /// Whether the operator continues without it.
    pub(super) fn is_aside(self) -> bool {
        use Operation::{ConnectorById, ConnectorByKey, StagedById, StagedByKey};
        matches!(self, ConnectorById | ConnectorByKey | StagedById | StagedByKey)
    }

    pub(super) fn needs_token(self) -> bool {
        matches!(self, Self::TokenToLook | Self::TokenToChange)
    }
}

/// What is known after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Knows {
    /// It succeeded.
    Worked,
    /// It does not exist.
    Absent,
    /// A read failed: nothing is known.
    Nothing,
    /// Nothing happened, and the operation is dropped; the input, or something at the remote, has to change.
    Refused,
    /// Nothing happened, and the operation is dropped; the same may succeed soon.
    NotNow,
    /// It may have happened: the operation stays.
    Open,
}

/// An open circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Closed {
    pub(super) kind: OutageKind,
    pub(super) pause: Pause,
}

/// For how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pause {
    /// An eighth of a second, because calls worked before; after another failure in a row as `Growing`.
    Moment,
    /// A second at first, up to a quarter less; doubles up to a minute.
    Growing,
    /// Exactly this long.
    Asked(Duration),
    /// 5 minutes, and up to a tenth more; new credentials end it.
    UntilRepaired,
}

/// The reaction of an operation to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) knows: Knows,
    /// After what time the same is sent again, if nothing else changes and the fault is over.
    pub(super) again: Option<Duration>,
    /// What the resource reports meanwhile, if it is not settled.
    pub(super) reason: Option<Reason>,
    /// The circuit breaker of the project meanwhile, if it is open.
    pub(super) closed: Option<Closed>,
}

/// Makes an operation meet a fault.
pub(super) async fn cell(operation: Operation, fault: &Fault) -> Cell {
    let clock = Clock::stepped(START.parse().unwrap());
    let kind = match operation {
        Operation::Create => OperationType::Create,
        Operation::Redeploy | Operation::TokenToChange => OperationType::Redeploy,
        Operation::Undeploy => OperationType::Undeploy,
        _ => return at_a_standstill(&clock, Box::pin(read(operation, clock.clone(), fault))).await,
    };
    at_a_standstill(&clock, Box::pin(change(operation, kind, clock.clone(), fault))).await
}

/// Applies the fault to the dev server from now on.
async fn go_wrong(dev: &mut DevServer, client: &HttpConnect, operation: Operation, fault: &Fault) {
    if operation.needs_token() {
        dev.revoke_tokens();
    }
    fault.begin(dev, operation.name());
    if let How::Refused = fault.how {
        // The last answer closes its connection, so that the next call has to open one.
        let last = FaultAnswer::with_the_right_body(200).with_header("Connection", "close");
        dev.fault(Wrong::of("queryDeployments", last)).unwrap();
        client.deployments(PageRequest { limit: 1, offset: 0 }).await.expect("it still answers");
        let another = DevServer::start(Options::default(), dev.clock().clone()).await.unwrap();
        std::mem::replace(dev, another).stop().await.unwrap();
    }
}

/// Ends the fault.
async fn come_right(desk: &mut Desk, fault: &Fault) {
    desk.dev.clear_faults();
    if let How::Refused = fault.how {
        let listener = TcpListener::bind(desk.address()).await.unwrap();
        desk.dev = DevServer::start_on(listener, desk.options.clone(), desk.clock.clone()).await.unwrap();
    }
}

async fn read(operation: Operation, clock: Clock, fault: &Fault) -> Cell {
    let mut desk = Desk::live(clock, fault).await;
    let (id, key) = (Selector::Id(desk.id()), Selector::Key(desk.identity.key.clone()));
    let connector = desk.client.connector(&Selector::Key("demo-connector".into())).await.unwrap().unwrap();
    let staged = desk.client.staged(&Selector::Key("demo-staged".into())).await.unwrap().unwrap();
    let client = desk.client.clone();
    go_wrong(&mut desk.dev, &client, operation, fault).await;
    let api = desk.remote.api();
    let answer = match operation {
        Operation::List => api.deployments(PageRequest { limit: 100, offset: 0 }).map(|page| page.map(|_| true)).await,
        Operation::ById | Operation::TokenToLook => found(api.deployment(&id).await),
        Operation::ByKey => found(api.deployment(&key).await),
        Operation::ConnectorById => found(api.connector(&Selector::Id(connector.id)).await),
        Operation::ConnectorByKey => found(api.connector(&Selector::Key("demo-connector".into())).await),
        Operation::StagedById => found(api.staged(&Selector::Id(staged.id)).await),
        Operation::StagedByKey => found(api.staged(&Selector::Key("demo-staged".into())).await),
        other => panic!("{other:?} changes something"),
    };
    let closed = desk.closed().map(|outage| closed(&desk, &outage));
    come_right(&mut desk, fault).await;
    let (knows, reason) = match answer {
        Ok(true) => (Knows::Worked, None),
        Ok(false) => (Knows::Absent, None),
        // Missing information of the registry is no error.
        Err(_) if operation.is_aside() => (Knows::Nothing, None),
        Err(error) => (Knows::Nothing, Some(problem::condition(&error, "demo").reason)),
    };
    Cell { knows, again: None, reason, closed }
}

fn found<T>(answer: Result<Option<T>, ApiError>) -> Result<bool, ApiError> {
    answer.map(|found| found.is_some())
}

/// Begins a change, makes its call fail, and follows it to its end: it happened once, whatever the fault.
async fn change(operation: Operation, kind: OperationType, clock: Clock, fault: &Fault) -> Cell {
    let mut desk = match kind {
        OperationType::Create => Desk::new(clock, fault).await,
        OperationType::Redeploy | OperationType::Undeploy | OperationType::Recreate => Desk::live(clock, fault).await,
    };
    match kind {
        OperationType::Create => {}
        OperationType::Redeploy => desk.rotate(),
        OperationType::Undeploy => desk.delete(),
        OperationType::Recreate => unreachable!("its calls are those of an undeploy and of a create"),
    }
    let (sent_at, call) = sent(&mut desk, operation, fault).await;
    let (done, outcome) = &*call;
    let outage = desk.closed();
    let verdict = Outcome::Running(kind);
    let condition = act::condition(done, &[], "demo");
    let condition =
        condition.unwrap_or_else(|| status::ready_condition(&verdict, &desk.identity.key, done.record.as_ref(), &[]));
    let knows = match (&done.response, desk.operation_state()) {
        (Response::Accepted(_), Some(OperationState::Accepted)) => Knows::Worked,
        (Response::NotFound, _) if outcome.remove_finalizer => Knows::Absent,
        (_, None) if outcome.transient.refused.is_some() => Knows::Refused,
        (_, None) if outcome.transient.pause.is_some() => Knows::NotNow,
        (Response::Unknown, Some(OperationState::Planned)) => Knows::Open,
        other => panic!("{}: {other:?}, {outcome:?}", fault.name),
    };
    let closed = outage.as_ref().map(|outage| closed(&desk, outage));
    let at_first = Cell { knows, again: None, reason: Some(condition.reason), closed };
    come_right(&mut desk, fault).await;
    if knows == Knows::Absent {
        return Cell { reason: None, ..at_first };
    }
    let open_again = outage.map(|outage| between(desk.clock.now(), outage.until));
    desk.pass(desk.after(&call).max(open_again.unwrap_or_default()));
    let again = desk.follow_to_the_end().await.map(|at| between(sent_at, at));
    happened_once(&desk, kind, &fault.name);
    Cell { again: again.map(about), ..at_first }
}

/// Reconciles until the call is sent, which fails. Returns when that was, and its result.
async fn sent(desk: &mut Desk, operation: Operation, fault: &Fault) -> (Timestamp, Box<(act::Done, AppliedResponse)>) {
    // A redeploy gathers changes first.
    for _ in 0..5 {
        let sent_at = desk.clock.now();
        let (api, client) = (desk.remote.api(), desk.client.clone());
        let wrong = async |dev: &mut DevServer| go_wrong(dev, &client, operation, fault).await;
        match desk.turn(&api, wrong).await {
            Turn::Sent(call) => return (sent_at, call),
            Turn::Rest(_, Some(again)) => desk.pass(again),
            Turn::Rest(verdict, None) => panic!("{}: {verdict:?} before the call", fault.name),
            Turn::Released | Turn::Blind(_) => panic!("{}: no call", fault.name),
        }
    }
    panic!("{operation:?} is not called");
}

/// Removes the random share, and fractions of a second.
fn about(time: Duration) -> Duration {
    let time = Duration::from_secs(time.as_secs());
    let repaired = Duration::from_mins(5);
    if time > repaired && time <= repaired.mul_f64(1.1) { repaired } else { time }
}

/// Checks for one deployment after a create, one more redeploy after a redeploy, none after an undeploy.
pub(super) fn happened_once(desk: &Desk, kind: OperationType, case: &str) {
    let all = desk.dev.world().all(desk.dev.now());
    let found: Vec<_> = all.iter().map(|live| (live.version, live.status.clone())).collect();
    let expected = match kind {
        OperationType::Create => vec![(1, DeploymentStatus::Deployed)],
        OperationType::Redeploy => vec![(2, DeploymentStatus::Deployed)],
        OperationType::Undeploy | OperationType::Recreate => Vec::new(),
    };
    assert_eq!(found, expected, "{kind:?}, {case}: {:?}", desk.dev.counts());
}

fn closed(desk: &Desk, outage: &Outage) -> Closed {
    let left = between(desk.clock.now(), outage.until);
    let pause = match left.as_millis() {
        100..=125 => Pause::Moment,
        750..=1000 => Pause::Growing,
        300_000..=330_000 => Pause::UntilRepaired,
        _ => Pause::Asked(left),
    };
    Closed { kind: outage.kind, pause }
}
