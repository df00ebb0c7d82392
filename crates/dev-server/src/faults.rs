//! Faults: what goes wrong, for which calls, and whether the change was made before (design section 6).
//!
//! Pure choice of the fault for a call; `answers.rs` makes the wrong answer. First fault that fits wins.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::variant::Variant;
use connect_api::routes::OPERATIONS;

/// Whether the operation happens in spite of the fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultEffect {
    /// Nothing happens.
    #[default]
    Before,
    /// It happens, and its answer is replaced.
    After,
}

/// Which calls go wrong, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Fault {
    /// Name of the operation in the contract, or `token`; the forms by id and by key and the unscoped ones differ.
    /// Left out: every operation.
    pub operation: Option<String>,
    /// Only paths that contain this.
    pub path: Option<String>,
    /// Calls that pass before the first one goes wrong.
    pub skip: u64,
    /// Calls that go wrong; left out: all.
    pub count: Option<u64>,
    /// Share of the calls that go wrong, 0 to 1; left out: all.
    pub share: Option<f64>,
    /// Whether the operation happens.
    pub effect: FaultEffect,
    /// What is answered.
    pub answer: FaultAnswer,
}

/// A wrong answer. Where nothing says what is answered, only how (`delayMs`, `cutAt`, `stallAt`), it is the right one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a member of the file that people write")]
pub struct FaultAnswer {
    /// HTTP status; left out: that of the code, or 500.
    pub status: Option<u16>,
    /// Code of an error body.
    pub code: Option<String>,
    /// Text of an error body.
    pub message: Option<String>,
    /// Headers, such as `Retry-After`.
    pub headers: BTreeMap<String, String>,
    /// A text is sent as it is (as HTML, unless a `Content-Type` is given), anything else as JSON.
    pub body: Option<Value>,
    /// Waits before the answer, in milliseconds of real time; not any longer once the faults are cleared.
    pub delay_ms: u64,
    /// The right body, with this status and these headers; the operation happens, whatever the effect.
    pub keep_body: bool,
    /// Closes the connection without an answer.
    pub drop: bool,
    /// Resets the connection without an answer (RST), as a machine does that was started anew.
    pub reset: bool,
    /// Closes the connection after that many bytes of the body.
    pub cut_at: Option<u64>,
    /// Sends that many bytes of the body, then nothing more until the caller goes.
    pub stall_at: Option<u64>,
    /// Sends a body that never ends.
    pub endless: bool,
    /// Sends a body of that many bytes.
    pub body_bytes: Option<u64>,
}

impl FaultAnswer {
    /// An error body with a status and a code.
    #[must_use]
    pub fn error(status: u16, code: &str) -> Self {
        Self { status: Some(status), code: Some(code.to_owned()), ..Self::default() }
    }

    /// A status and a text that is not JSON.
    #[must_use]
    pub fn text(status: u16, text: &str) -> Self {
        Self { status: Some(status), body: Some(Value::String(text.to_owned())), ..Self::default() }
    }

    /// No answer: the connection is closed.
    #[must_use]
    pub fn dropped() -> Self {
        Self { drop: true, ..Self::default() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// No answer: the connection is reset.
    #[must_use]
    pub fn reset() -> Self {
        Self { reset: true, ..Self::default() }
    }

    /// The right body with another status.
    #[must_use]
    pub fn with_the_right_body(status: u16) -> Self {
        Self { status: Some(status), keep_body: true, ..Self::default() }
    }

    /// Whether the right answer is given, if perhaps late, broken off, or with another head.
    pub(super) fn is_right(&self) -> bool {
        self.keep_body || Self { delay_ms: 0, cut_at: None, stall_at: None, ..self.clone() } == Self::default()
    }

    fn check(&self) -> Result<(), String> {
        if self.status.is_some_and(|status| !(200..=599).contains(&status)) {
            return Err("answer.status must be 200 to 599".to_owned());
        }
        for (name, value) in &self.headers {
            if http::HeaderName::try_from(name).is_err() || http::HeaderValue::try_from(value).is_err() {
                return Err(format!("answer.headers: `{name}` is no header"));
            }
        }
        Ok(())
    }
}

impl Fault {
    /// Every call of an operation goes wrong before its effect.
    #[must_use]
    pub fn of(operation: &str, answer: FaultAnswer) -> Self {
        Self { operation: Some(operation.to_owned()), answer, ..Self::default() }
    }

    /// Only so many calls.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// The operation happens all the same.
    #[must_use]
    pub fn after_the_effect(mut self) -> Self {
        self.effect = FaultEffect::After;
        self
    }

    /// Whether it can be used.
    ///
    /// # Errors
    /// With a text that says what to change.
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

/// A file of faults and choices: `--faults FILE`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultFile {
    /// What the contract leaves open.
    pub variant: Option<Variant>,
    /// Calls that go wrong.
    pub faults: Vec<Fault>,
}

impl FaultFile {
    /// Reads YAML or JSON.
    ///
    /// # Errors
    /// When it is neither, or a fault cannot work, with a text that says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_saphyr::from_str(text).map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })?;
        for (index, fault) in file.faults.iter().enumerate() {
            fault.check().map_err(|what| format!("faults[{index}]: {what}"))?;
        }
        Ok(file)
    }
}

/// The faults that are set.
#[derive(Debug)]
pub(super) struct Faults {
    random: StdRng,
    set: Vec<Fault>,
    /// Tells answers that are delayed when the faults are others.
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

    /// Changes when the faults are replaced from now on.
    pub(super) fn replaced(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    pub(super) fn set(&self) -> &[Fault] {
        &self.set
    }

    /// The fault of this call, counted as used.
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
    fn a_file_holds_choices_and_faults() {
        let file = FaultFile::parse(
            "variant: {readLag: 2s, versions: status}\nfaults: [{operation: token, share: 0.5, answer: {status: 503}}]",
        )
        .expect("it is right");
        assert_eq!(file.variant.expect("it is there").read_lag.as_secs(), 2);
        assert_eq!(file.faults[0].answer.status, Some(503));
        for (case, text, expected) in [
            ("unknown member", "faults: [{operations: token}]", "operations"),
            ("cannot work", "faults: [{operation: create}]", "faults[0]: operation must be one of"),
        ] {
            assert!(FaultFile::parse(text).expect_err(case).contains(expected), "{case}");
        }
    }

    #[test]
    fn faults_that_cannot_work_are_refused() {
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
