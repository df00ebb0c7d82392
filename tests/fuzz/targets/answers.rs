//! What a remote may answer: records, pages, errors, tokens and headers.

use std::fmt::Debug;
use std::time::Duration;

use connect_api::ErrorCode;
use connect_api::http::answer::{self, CORRELATION_ID, LONGEST_LIFE, LONGEST_PAUSE, SHORTEST_LIFE};
use connect_api::mask::{LONGEST_TEXT, Masker};
use connect_api::model::{Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, Deployment};
use connect_api::text::LONGEST_WORD;
use connect_operator::operator::deployment::observe::{self, RecordRead};
use connect_operator::operator::deployment::persisted::Observation;
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

use super::bytes::Bytes;

/// A secret value that the remote may repeat anywhere.
const SENT: &str = "canary-value";

/// Deployments, connectors, staged connectors and their changes: whatever decodes can be encoded, and decodes to the
/// same again.
pub(crate) fn records(data: &[u8]) {
    if let Ok(record) = serde_json::from_slice::<Deployment>(data) {
        let written = serde_json::to_vec(&record).expect("a record can be encoded");
        let again: Deployment = serde_json::from_slice(&written).expect("an encoded record can be decoded");
        assert_eq!(serde_json::to_vec(&again).expect("a record can be encoded"), written);
        let read = RecordRead { at: Timestamp::UNIX_EPOCH, record: Some(Arc::new(record)), key_held_by: None };
        let Observation::Present(seen) = observe::observation(&read) else {
            panic!("an existing record is observed as present")
        };
        assert_eq!(seen.phase.is_busy(), again.status.is_busy(), "an unknown status counts as busy, on both sides");
    }
    if let Ok(connector) = serde_json::from_slice::<Connector>(data) {
        let _ = observe::declared(connector.configurations.as_ref(), connector.global_configuration.as_ref());
    }
    again::<ConnectorStaged>(data);
    again::<ConnectorStagedDraft>(data);
    again::<ConnectorUpdate>(data);
}

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(data: &[u8]) {
    let Ok(record) = serde_json::from_slice::<T>(data) else { return };
    let written = serde_json::to_vec(&record).expect("a record can be encoded");
    assert_eq!(serde_json::from_slice::<T>(&written).expect("an encoded record can be decoded"), record);
}

/// Pages of deployments or of staged connectors: one invalid record does not discard the others.
pub(crate) fn pages(data: &[u8]) {
    if let Ok((page, left_out)) = answer::paged::<Deployment>(data) {
        let there = i64::try_from(page.results.len() + left_out).expect("a page fits into memory");
        assert_eq!(page.count, there, "every record is counted");
    }
    if let Ok((page, left_out)) = answer::paged::<ConnectorStaged>(data) {
        let there = i64::try_from(page.results.len() + left_out).expect("a page fits into memory");
        assert_eq!(page.count, there, "every record is counted");
    }
}

/// An error: its status is taken from the first byte, the rest is its body.
pub(crate) fn errors(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let status = bytes.one(&[400_u16, 404, 409, 500, 401, 302, 200, 599]);
    let status = StatusCode::from_u16(status).expect("100 to 999 are statuses");
    let (body, masker) = (bytes.rest(), Masker::new([SENT]));
    let refusal = answer::refusal(status, body, false, &masker);
    let or_absent = answer::refusal(status, body, true, &masker);
    assert!(or_absent == refusal || or_absent.codes == [ErrorCode::ResourceNotFound]);
    assert!(or_absent == refusal || status == StatusCode::NOT_FOUND, "only a 404 means that the record does not exist");
    assert!(refusal.message.len() <= LONGEST_TEXT);
    assert!(!refusal.message.contains(SENT));
    assert!(!refusal.message.contains(connect_api::text::is_unsafe), "nothing that a terminal obeys");
    assert!(refusal.codes.len() <= 20);
    let listed = refusal.codes.iter().map(|code| !matches!(code, ErrorCode::Other(_)));
    assert!(listed.clone().is_sorted_by(|one, next| one >= next), "the known codes come first: {:?}", refusal.codes);
    for code in &refusal.codes {
        assert!(code.as_str().len() <= LONGEST_WORD && !code.as_str().contains(SENT));
    }
}

/// An answer of the token endpoint.
pub(crate) fn tokens(data: &[u8]) {
    let Some(grant) = answer::grant(data, Some("manage_project:demo")) else { return };
    assert!((SHORTEST_LIFE..=LONGEST_LIFE).contains(&grant.life));
    assert!(grant.authorization.is_sensitive() && !grant.value.expose_secret().is_empty());
    let shown = format!("{grant:?}");
    let token = grant.value.expose_secret();
    assert!(token.len() < 12 || grant.scopes.iter().any(|scope| scope.contains(token)) || !shown.contains(token));
}

/// `Retry-After`, `Date` and the correlation id, one on each line.
pub(crate) fn headers(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for (name, line) in
        [RETRY_AFTER.as_str(), DATE.as_str(), CORRELATION_ID].iter().zip(data.split(|byte| *byte == b'\n'))
    {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.insert(*name, value);
        }
    }
    for now in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        let pause = answer::retry_after(&headers, now);
        assert!(pause.is_none_or(|pause| pause <= LONGEST_PAUSE && pause >= Duration::ZERO));
    }
    let id = answer::correlation_id(&headers, "ours", || Masker::new([SENT]));
    assert!(!id.is_empty() && id.len() <= LONGEST_WORD && !id.contains(SENT));
    assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
}
