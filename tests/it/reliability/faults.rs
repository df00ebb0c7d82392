//! Everything that can go wrong with a call, and its meaning by contract sections 8 and 13: the table from which the
//! expectations are derived. It does not use the operator's own interpretation.

use dev_server::{Fault as Wrong, FaultEffect};

/// What a fault reports about an operation of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportedState {
    /// It succeeded: only the form is odd.
    Fine,
    /// A user has to change something, for this reason; nothing happened.
    Fix(Reason),
    /// The same with a status that leaves open whether it happened.
    FixPerhaps(Reason),
    /// The API client lacks a right.
    Forbidden,
    /// The credentials are not valid any more, even with a new token.
    Credentials,
    /// Busy: nothing happened, and the next observation decides.
    Passing,
    /// Another version, perhaps by the same request, if a gateway has sent it twice.
    Conflict,
    /// The key is taken, perhaps by the same request.
    Taken,
    /// It does not exist.
    Absent,
    /// The same without a code, which counts only where a record is named.
    AbsentPerhaps,
    /// It did not reach the service.
    NotThere,
    /// Asks for a pause, in seconds if stated; nothing happened.
    Throttled(Option<u64>),
    /// Asks for a pause in seconds, and leaves open whether it happened.
    Away(u64),
    /// The service is broken: whether it happened is open. The value tells whether it did.
    Broken(Happened),
    /// It succeeded, by the status; nothing else is readable.
    Unreadable(Happened),
    /// The service works, and leaves open whether it happened.
    Open(Happened),
}

/// What the remote really did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    Yes,
    No,
}

/// How a call is made to fail.
pub(super) enum How {
    /// Each call gets this answer.
    Response(FaultEffect, Box<FaultAnswer>),
    /// Its token has been revoked meanwhile.
    Revoked,
    /// Nothing listens.
    Refused,
}

/// A fault.
pub(super) struct Fault {
    /// Shown in reports and on the page.
    pub(super) name: String,
    /// What it reports as the answer to an operation.
    pub(super) says: ReportedState,
    /// What it reports as the answer to a request for a token.
    pub(super) token: ReportedState,
    pub(super) how: How,
}

use Happened::{No, Yes};
use ReportedState::{
    Absent, AbsentPerhaps, Away, Broken, Conflict, Credentials, Fine, Fix, FixPerhaps, Forbidden, NotThere, Open,
    Passing, Taken, Throttled, Unreadable,
};

use crate::prelude::*;

/// Nothing happened, and what was sent has to change.
const REJECTED: ReportedState = Fix(Reason::RequestRejected);

/// The codes of contract section 8.2 with the reaction that it demands, and the reported reason.
pub(super) const CODES: [(&str, ReportedState); 39] = [
    ("AuthenticationError", Credentials),
    ("AuthorizationError", Forbidden),
    ("BadGateway", Broken(No)),
    ("ConcurrentModification", Conflict),
    ("DuplicateField", Taken),
    ("FieldValueNotFound", REJECTED),
    ("General", Broken(No)),
    ("InvalidJsonInput", REJECTED),
    ("InvalidPathParam", REJECTED),
    ("InvalidQueryParam", REJECTED),
    ("ResourceNotFound", Absent),
    ("ConnectorAlreadyCertified", REJECTED),
    ("ConnectorReferenceNotFound", Fix(Reason::ConnectorNotFound)),
    ("ConnectorSpecificationFileNotFound", Fix(Reason::RepositoryInvalid)),
    ("ConnectorSpecificationFileNotValid", Fix(Reason::RepositoryInvalid)),
    ("ConnectorStagedInCertification", Passing),
    ("ConnectorStagedNotPreviewable", REJECTED),
    ("ConnectorStagedNotPrivate", REJECTED),
    ("ConnectorStagedPreviewRequestUnderProcess", Passing),
    ("GitRepositoryNotReachable", Fix(Reason::RepositoryInvalid)),
    ("DeploymentApplicationDoNotBelong", Fix(Reason::ApplicationMissing)),
    ("DeploymentApplicationRequired", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentConnectorUpdateFailure", Open(No)),
    ("DeploymentEmptyRequiredGlobalConfigurationKey", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentInvalidStatusTransition", Passing),
    ("DeploymentInvalidType", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentMissingGlobalConfigurationKey", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentProductionDeactivated", REJECTED),
    ("DeploymentUnknownApplicationConfiguration", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentUnknownApplicationConfigurationKey", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentUnknownGlobalConfigurationKey", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentUnsupportedRegion", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentInvalidRetryPolicy", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentRetryPolicyOverrideNotAllowed", Fix(Reason::ConfigurationInvalid)),
    ("DeploymentRollbackNotAllowed", REJECTED),
    ("DeploymentApplicationDoesNotExist", REJECTED),
    ("DeploymentLogInvalidDate", REJECTED),
    ("DeploymentLogInvalidPageToken", REJECTED),
    ("DeploymentLogMissingApplicationName", REJECTED),
];

/// HTTP statuses without a code, from an empty body.
const STATUSES: [(&[u16], ReportedState); 7] = [
    (&[301, 302, 303, 307, 308, 400, 405, 413], REJECTED),
    (&[401], Credentials),
    (&[403], Forbidden),
    (&[404], NotThere),
    (&[408, 500, 501, 502, 503, 504, 599], Broken(No)),
    (&[409], Passing),
    (&[429], Throttled(None)),
];

/// Returns what an error status of a token endpoint means: 401 refuses the client, as does a 400 with an `error` (RFC
/// 6749 section 5.2); any other status leaves the operator without a token, so that nothing was sent.
fn token(status: u16) -> ReportedState {
    match status {
        401 => Credentials,
        _ => NotThere,
    }
}

/// Returns every fault.
pub(super) fn all() -> Vec<Fault> {
    let mut all = codes();
    all.extend(statuses());
    all.extend(bodies());
    all.extend(odd_successes());
    all.extend(connections());
    all
}

fn before(name: impl Into<String>, says: ReportedState, token: ReportedState, answer: FaultAnswer) -> Fault {
    Fault { name: name.into(), says, token, how: How::Response(FaultEffect::Before, Box::new(answer)) }
}

fn after(name: impl Into<String>, says: ReportedState, token: ReportedState, answer: FaultAnswer) -> Fault {
    Fault { name: name.into(), says, token, how: How::Response(FaultEffect::After, Box::new(answer)) }
}

/// Returns the same fault before and after the effect.
fn both(name: &str, answer: &FaultAnswer) -> [Fault; 2] {
    [before(name, Broken(No), NotThere, answer.clone()), after(name, Broken(Yes), NotThere, answer.clone())]
}

fn codes() -> Vec<Fault> {
    let named = |(code, says): (&str, ReportedState)| {
        let status = match code {
            "AuthenticationError" => 401,
            "AuthorizationError" => 403,
            "ResourceNotFound" => 404,
            "ConcurrentModification" => 409,
            "General" => 500,
            "BadGateway" => 502,
            _ => 400,
        };
        before(format!("`{code}`"), says, token(status), FaultAnswer::error(status, code))
    };
    let mut codes: Vec<_> = CODES.into_iter().map(named).collect();
    for (code, status) in [("General", 500), ("BadGateway", 502)] {
        codes.push(after(format!("`{code}`"), Broken(Yes), NotThere, FaultAnswer::error(status, code)));
    }
    let moved = "DeploymentConnectorUpdateFailure";
    codes.push(after(format!("`{moved}`"), Open(Yes), token(400), FaultAnswer::error(400, moved)));
    let open = "`General` with 400";
    codes.push(before(open, Open(No), token(400), FaultAnswer::error(400, "General")));
    codes.push(after(open, Open(Yes), token(400), FaultAnswer::error(400, "General")));
    let refusal = FaultAnswer::error(500, "DeploymentInvalidType");
    let says = FixPerhaps(Reason::ConfigurationInvalid);
    codes.push(before("the code of a refusal with 500", says, NotThere, refusal));
    for (status, says) in [(400, REJECTED), (401, Credentials), (409, Passing), (500, Broken(No))] {
        let answer = FaultAnswer::error(status, "SurprisinglyNew");
        codes.push(before(format!("an unknown code with {status}"), says, token(status), answer));
    }
    codes
}

fn statuses() -> Vec<Fault> {
    let named = |(status, says): (&u16, ReportedState)| {
        let status = *status;
        let mut answer = FaultAnswer::text(status, "");
        if (300..400).contains(&status) {
            answer = answer.with_header("Location", "http://127.0.0.1:9/elsewhere");
        }
        before(format!("{status} without a code"), says, token(status), answer)
    };
    let each = STATUSES.into_iter().flat_map(|(statuses, says)| statuses.iter().map(move |status| (status, says)));
    let mut statuses: Vec<_> = each.map(named).collect();
    for status in [500, 502, 503, 504] {
        let name = format!("{status} without a code");
        statuses.push(after(name, Broken(Yes), NotThere, FaultAnswer::text(status, "")));
    }
    let paused = |status, value: &str| FaultAnswer::text(status, "").with_header("Retry-After", value);
    let asked = Throttled(Some(30));
    statuses.push(before("429 with `Retry-After: 30`", asked, asked, paused(429, "30")));
    statuses.push(before("503 with `Retry-After: 30`", Away(30), asked, paused(503, "30")));
    // An answer whose date and pause come from a clock that is an hour wrong.
    for (clock, date, until) in [
        ("an hour ahead", "Thu, 01 Jan 2026 01:00:00 GMT", "Thu, 01 Jan 2026 01:00:30 GMT"),
        ("an hour behind", "Wed, 31 Dec 2025 23:00:00 GMT", "Wed, 31 Dec 2025 23:00:30 GMT"),
    ] {
        let name = format!("429 until a time 30 s ahead, by a clock {clock}");
        statuses.push(before(name, asked, asked, paused(429, until).with_header("Date", date)));
    }
    statuses
}

fn errors(status: u16, codes: &[&str]) -> Value {
    let errors: Vec<_> = codes.iter().map(|code| json!({"code": code, "message": format!("about {code}")})).collect();
    json!({"statusCode": status, "message": "several", "errors": errors})
}

fn json_body(status: u16, body: Value) -> FaultAnswer {
    FaultAnswer { status: Some(status), body: Some(body), ..FaultAnswer::default() }
}

/// Returns faults whose error bodies deviate from the contract.
fn bodies() -> Vec<Fault> {
    let invalid = Fix(Reason::ConfigurationInvalid);
    let unknown = "DeploymentUnknownApplicationConfigurationKey";
    let invalid_token = json!({
        "statusCode": 401, "message": "invalid_token", "error": "invalid_token",
        "errors": [{"code": "invalid_token", "message": "invalid_token"}],
    });
    let oauth = json!({"error": "invalid_client", "error_description": "no such client"});
    let mut bodies = Vec::new();
    for (name, says, status, body) in [
        ("several errors, an unknown code first", invalid, 400, errors(400, &["SurprisinglyNew", unknown])),
        ("several errors with known codes", invalid, 400, errors(400, &[unknown, "DeploymentUnsupportedRegion"])),
        ("400, `errors` missing", REJECTED, 400, json!({"statusCode": 400, "message": "no"})),
        ("400, `errors` empty", REJECTED, 400, errors(400, &[])),
        ("400, `errors` of another type", REJECTED, 400, json!({"statusCode": 400, "errors": 5})),
        ("404 of the service, `errors` missing", AbsentPerhaps, 404, json!({"statusCode": 404, "message": "no"})),
        ("409, `errors` missing", Passing, 409, json!({"statusCode": 409, "message": "no"})),
        ("500, `errors` missing", Broken(No), 500, json!({"statusCode": 500, "message": "no"})),
        ("401 with `invalid_token`, again and again", Credentials, 401, invalid_token),
        ("401 with `invalid_client`", Credentials, 401, oauth),
        ("a JSON list with 400", REJECTED, 400, json!([1, 2])),
    ] {
        bodies.push(before(name, says, token(status), json_body(status, body)));
    }
    let grant = json!({"error": "invalid_scope", "error_description": "not yours"});
    bodies.push(before("400 with `invalid_scope`", REJECTED, Credentials, json_body(400, grant)));
    let text = |status, text: &str| FaultAnswer::text(status, text).with_header("Content-Type", "application/json");
    bodies.push(before("400 with a body that is not JSON", REJECTED, token(400), text(400, "{\"errors\": ")));
    for (status, says) in [(404, NotThere), (403, Forbidden)] {
        let page = FaultAnswer::text(status, "<html>");
        bodies.push(before(format!("{status} with a page of a gateway"), says, token(status), page));
    }
    bodies.extend(both("502 with a page of a gateway", &FaultAnswer::text(502, "<html>")));
    let long = FaultAnswer { status: Some(502), body_bytes: Some(1 << 20), ..FaultAnswer::default() };
    bodies.extend(both("an error of more than 256 KiB", &long));
    bodies
}

/// Returns faults with a status of success.
fn odd_successes() -> Vec<Fault> {
    let right = |status| FaultAnswer::with_the_right_body(status);
    let mut odd = vec![
        before("200 where the contract has 201 or 202", Fine, Fine, right(200)),
        before("202 where the contract has 200 or 201", Fine, Fine, right(202)),
    ];
    let html = right(200).with_header("Content-Type", "text/html");
    odd.push(before("the right answer with a wrong content type", Fine, Fine, html));
    let json = |text: &str| FaultAnswer::text(200, text).with_header("Content-Type", "application/json");
    for (name, answer) in [
        ("200 without a body", FaultAnswer::text(200, "")),
        ("204", FaultAnswer::text(204, "")),
        ("200 with a page of a gateway", FaultAnswer::text(200, "<html><h1>Please log in</h1></html>")),
        ("200 with a body that is not JSON", json("{\"id\": ")),
        ("200 with another JSON", json("[1, 2]")),
        ("200 with `null`", json("null")),
        ("200 with JSON that lacks what is needed", json(r#"{"access_token": "", "id": null, "data": 5}"#)),
    ] {
        let [no, yes] = both(name, &answer);
        odd.push(Fault { says: Unreadable(No), ..no });
        odd.push(Fault { says: Unreadable(Yes), ..yes });
    }
    odd
}

/// Returns faults below HTTP, and at limits of size and time.
fn connections() -> Vec<Fault> {
    let success = || FaultAnswer { status: Some(200), ..FaultAnswer::default() };
    let late = FaultAnswer { status: Some(504), delay_ms: 3_600_000, ..FaultAnswer::default() };
    let mut all = Vec::new();
    for (name, answer) in [
        ("the connection is closed without an answer", FaultAnswer::dropped()),
        ("the connection is reset", FaultAnswer::reset()),
        ("no answer within 30 s", late),
        ("a body that breaks off", FaultAnswer { cut_at: Some(5), ..success() }),
        ("a body that does not end within 30 s", FaultAnswer { endless: true, ..success() }),
        ("a body above its limit", FaultAnswer { body_bytes: Some(1 << 20), ..success() }),
    ] {
        all.extend(both(name, &answer));
    }
    let cut = FaultAnswer { cut_at: Some(5), ..FaultAnswer::default() };
    all.push(after("the right answer breaks off", Broken(Yes), NotThere, cut));
    let (says, token) = (Fine, Fine);
    all.push(Fault { name: "the token has expired".into(), says, token, how: How::Revoked });
    let (says, token) = (NotThere, NotThere);
    all.push(Fault { name: "the connection is refused".into(), says, token, how: How::Refused });
    all
}

impl Fault {
    /// Whether a fault that leaves it open made the change all the same.
    pub(super) fn happened(&self) -> bool {
        matches!(self.how, How::Response(FaultEffect::After, _))
    }

    /// Whether it lasts as long as a time limit.
    pub(super) fn takes_time(&self) -> bool {
        let How::Response(_, answer) = &self.how else { return false };
        answer.delay_ms > 0 || answer.stall_at.is_some() || answer.endless
    }

    /// Makes calls of this operation fail from now on.
    pub(super) fn begin(&self, dev: &DevServer, operation: &str) {
        match &self.how {
            How::Response(effect, answer) => {
                let wrong = Wrong { effect: *effect, ..Wrong::of(operation, (**answer).clone()) };
                dev.fault(wrong).unwrap();
            }
            How::Revoked => dev.revoke_tokens(),
            How::Refused => {}
        }
    }
}
