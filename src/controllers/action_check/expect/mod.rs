//! Evaluates whether an answer is as expected: status, headers, and assertions over its JSON. Pure.
//!
//! Any user who may create a check writes assertions, and a frontend chooses the answer, so their cost is bounded: the
//! size of the answer, the form of paths and patterns (`path.rs`, `pattern.rs`), and the steps of all assertions
//! together (`select.rs`).

mod budget;
mod compare;
pub mod json;
pub mod path;
pub mod pattern;
pub mod select;

use std::borrow::Cow;

use connect_api::action::ActionAnswer;
use http::HeaderMap;
use serde_json::Value;

use self::budget::{Budget, Stop};
use self::compare::same_number;
use self::json::Json;
use self::path::Path;
use self::pattern::{Compiler, Pattern};
use crate::controllers::reporting::conditions::cut;
use crate::crd::{BodyAssertion, Expectation, HeaderAssertion};

/// Largest body that is evaluated, in bytes.
pub const LARGEST_ANSWER: usize = 256 << 10;
/// Maximum steps of all assertions of a check together: some ten milliseconds.
const STEPS: usize = 1_000_000;
/// Longest quote of an expected value in a message, in bytes.
const LONGEST_QUOTE: usize = 120;
/// Longest list of failed assertions in a message, in bytes.
const LONGEST_LIST: usize = 700;

/// The assertions of a check, ready to be evaluated.
#[derive(Debug)]
pub struct Compiled<'e> {
    expected: &'e Expectation,
    headers: Vec<Assertion<'e>>,
    body: Vec<(Path, Assertion<'e>)>,
}

/// The condition that a value has to meet.
#[derive(Debug)]
enum Assertion<'e> {
    Exists(bool),
    Equals(Cow<'e, Value>),
    Matches(Pattern),
}

/// Compiles the assertions.
///
/// # Errors
/// Names the field that cannot be used, and why.
pub fn compile(expected: &Expectation) -> Result<Compiled<'_>, String> {
    let (mut headers, mut body, mut compiler) = (Vec::new(), Vec::new(), Compiler::default());
    for (index, HeaderAssertion { exists, equals, matches, .. }) in expected.headers.iter().enumerate() {
        let equals = equals.as_ref().map(|text| Cow::Owned(Value::from(text.as_str())));
        let wanted = Assertion::of(*exists, equals, matches.as_deref(), &mut compiler);
        headers.push(wanted.map_err(|why| format!("expect.headers[{index}]{why}"))?);
    }
    for (index, BodyAssertion { json_path, exists, equals, matches }) in expected.body.iter().enumerate() {
        let path = Path::read(json_path, &mut compiler);
        let path = path.map_err(|why| format!("expect.body[{index}].jsonPath: {why}"))?;
        let equals = equals.as_ref().map(Cow::Borrowed);
        let wanted = Assertion::of(*exists, equals, matches.as_deref(), &mut compiler);
        body.push((path, wanted.map_err(|why| format!("expect.body[{index}]{why}"))?));
    }
    Ok(Compiled { expected, headers, body })
}

impl<'e> Assertion<'e> {
    fn of(
        exists: Option<bool>,
        equals: Option<Cow<'e, Value>>,
        matches: Option<&str>,
        compiler: &mut Compiler,
    ) -> Result<Self, String> {
        match (exists, equals, matches) {
            (Some(exists), None, None) => Ok(Self::Exists(exists)),
            (None, Some(value), None) if value.is_array() || value.is_object() => {
                Err(".equals: it must be a string, a number or a boolean".to_owned())
            }
            (None, Some(value), None) => Ok(Self::Equals(value)),
            (None, None, Some(pattern)) => {
                compiler.compile(pattern, false).map(Self::Matches).map_err(|why| format!(".matches: {why}"))
            }
            _ => Err(": give exactly one of exists, equals and matches".to_owned()),
        }
    }

    fn is_met_by(&self, value: &Json<'_>, budget: &mut Budget) -> Result<bool, Stop> {
        Ok(match (self, value) {
            (Self::Exists(wanted), _) => *wanted,
            (Self::Equals(wanted), value) => is_equal(wanted, value),
            (Self::Matches(pattern), Json::Text(text)) => pattern.is_match(text, budget)?,
            (Self::Matches(pattern), Json::Number(number)) => pattern.is_match(&number.to_string(), budget)?,
            (Self::Matches(pattern), Json::Bool(value)) => pattern.is_match(&value.to_string(), budget)?,
            (Self::Matches(_), _) => false,
        })
    }

    /// Returns the condition in words that follow "must".
    fn words(&self) -> String {
        match self {
            Self::Exists(true) => "exist".to_owned(),
            Self::Exists(false) => "not exist".to_owned(),
            Self::Equals(value) => format!("equal {}", cut(&value.to_string(), LONGEST_QUOTE)),
            Self::Matches(pattern) => format!("match {}", cut(pattern.as_str(), LONGEST_QUOTE)),
        }
    }
}

fn is_equal(wanted: &Value, value: &Json<'_>) -> bool {
    match (wanted, value) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(one), Json::Bool(two)) => one == two,
        (Value::Number(one), Json::Number(two)) => same_number(one, two),
        (Value::String(one), Json::Text(two)) => one == two,
        _ => false,
    }
}

impl Compiled<'_> {
    /// Evaluates an answer; `Ok` if it is as expected.
    ///
    /// # Errors
    /// A sentence that names each failed assertion and quotes nothing of the answer.
    pub fn evaluate(&self, answer: &ActionAnswer) -> Result<(), String> {
        self.check_status(answer)?;
        let mut budget = Budget::of(STEPS);
        let mut failed = Vec::new();
        for (index, (assertion, wanted)) in self.expected.headers.iter().zip(&self.headers).enumerate() {
            let met = header(&answer.headers, &assertion.name, wanted, &mut budget).unwrap_or(None);
            if met != Some(true) {
                failed.push(failure(&format!("expect.headers[{index}]: {}", assertion.name), wanted, met));
            }
        }
        if !self.body.is_empty() {
            let status = answer.status;
            let json = Json::read(&answer.body).ok_or_else(|| not_json(status.as_u16()))?;
            for (index, (assertion, (path, wanted))) in self.expected.body.iter().zip(&self.body).enumerate() {
                let met = in_body(path, &json, wanted, &mut budget);
                if met != Some(true) {
                    failed.push(failure(&format!("expect.body[{index}]: {}", assertion.json_path), wanted, met));
                }
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(cut(&failed.join("; "), LONGEST_LIST)) }
    }

    fn check_status(&self, answer: &ActionAnswer) -> Result<(), String> {
        let status = answer.status.as_u16();
        match self.expected.status {
            Some(wanted) if wanted != status => {
                return Err(format!("expect.status: status {status} instead of {wanted}"));
            }
            None if !answer.status.is_success() => return Err(format!("status {status} instead of 200 to 299")),
            _ => {}
        }
        if !answer.whole {
            return Err(format!("status {status}, and a body of more than {} KiB", LARGEST_ANSWER >> 10));
        }
        // The default expectation requires JSON unless the body is empty; an explicit expectation lists all that
        // matters.
        let default = *self.expected == Expectation::default();
        if default && !answer.body.is_empty() && Json::read(&answer.body).is_none() {
            return Err(not_json(status));
        }
        Ok(())
    }
}

fn not_json(status: u16) -> String {
    format!("status {status}, but the body is not JSON")
}

/// Returns a sentence about an assertion that is not met, or could not be evaluated.
fn failure(what: &str, wanted: &Assertion<'_>, met: Option<bool>) -> String {
    let words = wanted.words();
    match met {
        Some(_) => format!("{what} must {words}"),
        None => format!("{what} must {words}, which takes more than {STEPS} steps to find out: write a narrower path"),
    }
}

/// Whether a header meets the condition; several fields of one name are one list (RFC 9110 section 5.2).
fn header(headers: &HeaderMap, name: &str, wanted: &Assertion<'_>, budget: &mut Budget) -> Result<Option<bool>, Stop> {
    let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    if values.is_empty() {
        return Ok(Some(matches!(wanted, Assertion::Exists(false))));
    }
    wanted.is_met_by(&Json::Text(values.join(", ").into()), budget).map(Some)
}

/// Whether a path selects at least one value and all of them meet the condition; `None`: unknown, because the budget
/// ran out.
fn in_body<'j>(path: &'j Path, json: &'j Json<'j>, wanted: &Assertion<'_>, budget: &mut Budget) -> Option<bool> {
    let (mut any, mut all) = (false, true);
    let seen = select::select(path, json, budget, &mut |value, budget| {
        any = true;
        all = wanted.is_met_by(value, budget)?;
        if all && !matches!(wanted, Assertion::Exists(_)) { Ok(()) } else { Err(Stop::Enough) }
    });
    seen.ok()?;
    Some(match wanted {
        Assertion::Exists(wanted) => any == *wanted,
        Assertion::Equals(_) | Assertion::Matches(_) => any && all,
    })
}

#[cfg(test)]
mod tests;
