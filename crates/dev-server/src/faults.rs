//! Fault injection: which calls fail, how, and whether the operation happens nevertheless (design section 6).
//!
//! Pure: this module chooses the fault of a call, `answers.rs` builds the answer. The first matching fault wins.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::variant::Variant;
use super::yaml;
use connect_api::routes::OPERATIONS;

/// Whether the operation happens despite the fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultEffect {
    /// The operation does not happen.
    #[default]
    Before,
    /// The operation happens, and its answer is replaced.
    After,
}

/// Which calls fail, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Fault {
    /// Name of the operation in the contract, or `token`; the forms by id, by key and without a project have different
    /// names. Left out: every operation.
    pub operation: Option<String>,
    /// Only calls whose path contains this.
    pub path: Option<String>,
    /// Number of matching calls that pass before the first one fails.
    pub skip: u64,
    /// Number of calls that fail; left out: all.
    pub count: Option<u64>,
    /// Fraction of the calls that fail, 0 to 1; left out: all.
    pub share: Option<f64>,
    /// Whether the operation happens.
    pub effect: FaultEffect,
    /// The answer.
    pub answer: FaultAnswer,
}

/// The answer of a fault. If only `delayMs`, `cutAt` or `stallAt` are set, it is the regular answer, delayed or cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a member of the file that users write")]
pub struct FaultAnswer {
    /// HTTP status; left out: the status of `code`, or 500.
    pub status: Option<u16>,
    /// Error code in the body.
    pub code: Option<String>,
    /// Error message in the body.
    pub message: Option<String>,
    /// Additional headers, such as `Retry-After`.
    pub headers: BTreeMap<String, String>,
    /// Body: a string is sent unchanged (as HTML, unless `headers` has a `Content-Type`), anything else as JSON.
    pub body: Option<Value>,
    /// Delay before the answer, in milliseconds of real time. Replacing or clearing the faults ends it early.
    pub delay_ms: u64,
    /// Sends the regular body with this status and these headers; the operation happens regardless of `effect`.
    pub keep_body: bool,
    /// Closes the connection without an answer.
    pub drop: bool,
    /// Resets the connection without an answer (RST), as a restarted machine does.
    pub reset: bool,
    /// Closes the connection after this number of bytes of the body.
    pub cut_at: Option<u64>,
    /// Sends this number of bytes of the body, then nothing until the caller disconnects.
    pub stall_at: Option<u64>,
    /// Sends a body that never ends.
    pub endless: bool,
    /// Sends a body of this number of bytes.
    pub body_bytes: Option<u64>,
}

impl FaultAnswer {
    /// Returns an error with a status and a code.
    pub fn error(status: u16, code: &str) -> Self {
        Self { status: Some(status), code: Some(code.to_owned()), ..Self::default() }
    }

    /// Returns an answer with a status and a text that is not JSON.
    pub fn text(status: u16, text: &str) -> Self {
        Self { status: Some(status), body: Some(Value::String(text.to_owned())), ..Self::default() }
    }

    /// Closes the connection without an answer.
    pub fn dropped() -> Self {
        Self { drop: true, ..Self::default() }
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Resets the connection without an answer.
    pub fn reset() -> Self {
        Self { reset: true, ..Self::default() }
    }

    /// Returns the regular body with another status.
    pub fn with_the_right_body(status: u16) -> Self {
        Self { status: Some(status), keep_body: true, ..Self::default() }
    }

    /// Whether the body is that of the regular answer, possibly delayed, cut, or with another status and headers.
    pub(super) fn is_right(&self) -> bool {
        self.keep_body || Self { delay_ms: 0, cut_at: None, stall_at: None, ..self.clone() } == Self::default()
    }

    fn check(&self) -> Result<(), String> {
        if self.status.is_some_and(|status| !(200..=599).contains(&status)) {
            return Err("answer.status must be 200 to 599".to_owned());
        }
        for (name, value) in &self.headers {
            if http::HeaderName::try_from(name).is_err() || http::HeaderValue::try_from(value).is_err() {
                return Err(format!("answer.headers: `{name}` is not a valid header"));
            }
        }
        Ok(())
    }
}

impl Fault {
    /// Creates a fault for every call of an operation, which then does not happen.
    pub fn of(operation: &str, answer: FaultAnswer) -> Self {
        Self { operation: Some(operation.to_owned()), answer, ..Self::default() }
    }

    /// Limits the fault to `count` calls.
    pub fn times(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Lets the operation happen before its answer is replaced.
    pub fn after_the_effect(mut self) -> Self {
        self.effect = FaultEffect::After;
        self
    }

    /// Validates the fault.
    ///
    /// # Errors
    /// If the fault is not valid; the error says what to change.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.operation.as_deref().is_some_and(|name| !OPERATIONS.contains(&name)) {
            return Err(format!("operation must be one of {}", OPERATIONS.join(", ")));
        }
        if self.share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("share must be a number from 0 to 1".to_owned());
        }
        self.answer.check()
    }

    fn fits(&self, operation: &str, path: &str) -> bool {
        self.count != Some(0)
            && self.operation.as_ref().is_none_or(|name| name == operation)
            && self.path.as_ref().is_none_or(|part| path.contains(part.as_str()))
    }
}

/// The file of `--faults FILE`: faults and a variant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultFile {
    /// Choices where the contract leaves something open.
    pub variant: Option<Variant>,
    /// The faults.
    pub faults: Vec<Fault>,
}

impl FaultFile {
    /// Parses a file in YAML or JSON.
    ///
    /// # Errors
    /// If the text is neither, or a fault is not valid; the error says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = yaml::parse(text)?;
        for (index, fault) in file.faults.iter().enumerate() {
            fault.check().map_err(|what| format!("faults[{index}]: {what}"))?;
        }
        Ok(file)
    }
}

/// The active faults.
#[derive(Debug)]
pub(super) struct Faults {
    random: StdRng,
    set: Vec<Fault>,
    /// Notifies delayed answers when the faults are replaced.
    replaced: watch::Sender<()>,
}

impl Faults {
    pub(super) fn new(seed: Option<u64>, set: Vec<Fault>) -> Self {
        let random = seed.map_or_else(|| StdRng::from_rng(&mut rand::rng()), StdRng::seed_from_u64);
        Self { random, set, replaced: watch::Sender::new(()) }
    }

    pub(super) fn add(&mut self, fault: Fault) {
        self.set.push(fault);
    }

    pub(super) fn replace(&mut self, set: Vec<Fault>) {
        self.set = set;
        self.replaced.send_replace(());
    }

    /// Returns a receiver that is notified when the faults are replaced.
    pub(super) fn replaced(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    pub(super) fn set(&self) -> &[Fault] {
        &self.set
    }

    /// Returns the fault of this call, if any, and counts it as used.
    pub(super) fn take(&mut self, operation: &str, path: &str) -> Option<(FaultEffect, FaultAnswer)> {
        for fault in &mut self.set {
            if !fault.fits(operation, path) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            if fault.share.is_some_and(|share| !self.random.random_bool(share.clamp(0.0, 1.0))) {
                continue;
            }
            if let Some(count) = &mut fault.count {
                *count -= 1;
            }
            return Some((fault.effect, fault.answer.clone()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_hit_the_calls_that_they_name_and_no_more() {
        let mut faults = Faults::new(Some(1), Vec::new());
        faults.add(Fault { skip: 1, ..Fault::of("createDeployment", FaultAnswer::dropped()).times(2) });
        let hits: Vec<_> = (0..5).map(|_| faults.take("createDeployment", "/demo/deployments").is_some()).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert!(faults.take("token", "/oauth/token").is_none());
        faults.replace(Vec::new());
        faults.add(Fault { share: Some(0.25), path: Some("key=tax".into()), ..Fault::default() });
        let hit =
            (0..1_000).filter(|_| faults.take("getDeploymentByKey", "/demo/deployments/key=tax").is_some()).count();
        assert!((200..300).contains(&hit), "{hit} of 1000");
        assert!(faults.take("getDeploymentByKey", "/demo/deployments/key=other").is_none());
    }

    #[test]
    fn a_file_contains_choices_and_faults() {
        let file = FaultFile::parse(
            "variant: {readLag: 2s, versions: status}\nfaults: [{operation: token, share: 0.5, answer: {status: 503}}]",
        )
        .expect("the file is valid");
        assert_eq!(file.variant.expect("the file has one").read_lag.as_secs(), 2);
        assert_eq!(file.faults[0].answer.status, Some(503));
        for (case, text, expected) in [
            ("unknown member", "faults: [{operations: token}]", "operations"),
            ("cannot work", "faults: [{operation: create}]", "faults[0]: operation must be one of"),
        ] {
            assert!(FaultFile::parse(text).expect_err(case).contains(expected), "{case}");
        }
    }

    #[test]
    fn invalid_faults_are_rejected() {
        for (case, fault, expected) in [
            ("unknown operation", Fault::of("create", FaultAnswer::default()), "createDeployment"),
            ("share", Fault { share: Some(1.5), ..Fault::default() }, "share"),
            ("status", Fault::of("token", FaultAnswer::text(99, "")), "200 to 599"),
            ("header", Fault::of("token", FaultAnswer::text(500, "").with_header("a b", "c")), "`a b`"),
        ] {
            assert!(fault.check().expect_err(case).contains(expected), "{case}");
        }
    }
}
