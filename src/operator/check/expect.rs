//! Decides whether an answer is as expected: its status, and the JSON that its body must contain. Pure.
//!
//! An object contains another one if it has each of its members, and the value of each contains the expected one. An array
//! contains another one if each expected element is contained in some element, in any order. Numbers are equal by value.
//!
//! Any user who may create a check writes what is expected, and a frontend chooses the answer, so the cost is bounded: by
//! the size of both, and by the number of expected elements, each of which is compared with every element of an array.

use std::fmt::Write as _;

use connect_api::action::ActionAnswer;
use connect_api::mask::{Compiled, Masker};
use serde_json::{Number, Value};

use crate::crd::Expectation;
use crate::operator::reporting::conditions::cut;

/// Largest body that is evaluated, in bytes.
pub const LARGEST_ANSWER: usize = 256 << 10;
/// Maximum number of elements of all arrays in `expect.body` together.
const MOST_ELEMENTS: usize = 64;
/// Longest JSON pointer or quoted value in a message, in bytes.
const LONGEST_QUOTE: usize = 160;
/// Longest excerpt of an answer in a message, in bytes.
const LONGEST_EXCERPT: usize = 200;

/// What an answer has to be.
#[derive(Debug)]
pub struct Expected {
    /// `None`: any from 200 to 299.
    status: Option<u16>,
    /// What the body must contain. `None`: if there is no status either, it must be JSON or empty.
    body: Option<Value>,
}

impl Expected {
    /// Reads `spec.expect`.
    ///
    /// # Errors
    /// What to change in it.
    pub fn read(spec: &Expectation) -> Result<Self, String> {
        let body = spec.body.as_deref().map(serde_json::from_str::<Value>).transpose();
        let body = body.map_err(|error| format!("expect.body is not JSON: {error}"))?;
        let elements = body.as_ref().map_or(0, elements);
        if elements > MOST_ELEMENTS {
            return Err(format!("the arrays in expect.body have {elements} elements: {MOST_ELEMENTS} at most"));
        }
        Ok(Self { status: spec.status, body })
    }

    /// Evaluates an answer.
    ///
    /// # Errors
    /// A sentence that says where the answer differs, with the beginning of it; the values of `masker` are masked.
    pub fn evaluate(&self, answer: &ActionAnswer, masker: &Masker) -> Result<(), String> {
        let status = answer.status.as_u16();
        let failed = |why: String, masker: &Compiled| Err(with_excerpt(&why, &answer.body, masker));
        let wanted = self.status.map_or_else(|| "200 to 299".to_owned(), |wanted| wanted.to_string());
        if !self.status.map_or_else(|| answer.status.is_success(), |wanted| wanted == status) {
            return failed(format!("status {status} instead of {wanted}"), &masker.compile());
        }
        if !answer.whole {
            let why = format!("status {status}, and a body of more than {} KiB", LARGEST_ANSWER >> 10);
            return failed(why, &masker.compile());
        }
        if self.body.is_none() && (self.status.is_some() || answer.body.is_empty()) {
            return Ok(());
        }
        let Ok(found) = serde_json::from_slice::<Value>(&answer.body) else {
            return failed(format!("status {status}, but the body is not JSON"), &masker.compile());
        };
        let Some(difference) = self.body.as_ref().and_then(|expected| Difference::between(expected, &found)) else {
            return Ok(());
        };
        let masker = masker.compile();
        failed(difference.describe(&masker), &masker)
    }
}

/// Returns the number of elements of all arrays in a value.
fn elements(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.len() + values.iter().map(elements).sum::<usize>(),
        Value::Object(members) => members.values().map(elements).sum(),
        _ => 0,
    }
}

/// Whether `found` contains `expected`.
fn contains(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => expected.iter().all(|value| has_element(found, value)),
        (Value::Number(found), Value::Number(expected)) => is_same_number(found, expected),
        _ => found == expected,
    }
}

fn has_element(found: &[Value], expected: &Value) -> bool {
    found.iter().any(|element| contains(element, expected))
}

/// Whether two numbers are equal, however they are written.
fn is_same_number(one: &Number, two: &Number) -> bool {
    let whole = |number: &Number| number.as_i128();
    match (whole(one), whole(two)) {
        (Some(one), Some(two)) => one == two,
        #[allow(clippy::float_cmp, reason = "numbers are the same or not")]
        _ => one.as_f64() == two.as_f64(),
    }
}

/// The first place where an answer does not contain what is expected.
struct Difference<'v> {
    /// JSON pointer (RFC 6901).
    pointer: String,
    expected: &'v Value,
    found: Found<'v>,
}

/// What is at that place.
enum Found<'v> {
    Nothing,
    /// An array without such an element.
    NoElement,
    Other(&'v Value),
}

impl<'v> Difference<'v> {
    fn between(expected: &'v Value, found: &'v Value) -> Option<Self> {
        let here = |expected, found| Self { pointer: String::new(), expected, found };
        match (expected, found) {
            (Value::Object(members), Value::Object(there)) => members.iter().find_map(|(name, expected)| {
                let difference = match there.get(name) {
                    Some(found) => Self::between(expected, found)?,
                    None => here(expected, Found::Nothing),
                };
                Some(difference.below(name))
            }),
            (Value::Array(values), Value::Array(there)) => {
                let lacking = values.iter().find(|value| !has_element(there, value))?;
                Some(here(lacking, Found::NoElement))
            }
            _ => (!contains(found, expected)).then(|| here(expected, Found::Other(found))),
        }
    }

    fn below(mut self, name: &str) -> Self {
        self.pointer = format!("/{}{}", name.replace('~', "~0").replace('/', "~1"), self.pointer);
        self
    }

    fn describe(&self, masker: &Compiled) -> String {
        // Masked before it is cut, so that no part of a value remains at the end.
        let quote = |text: &str| cut(&masker.mask(text), LONGEST_QUOTE);
        let mut text = match self.pointer.as_str() {
            "" => "the body".to_owned(),
            pointer => format!("{} in the body", quote(pointer)),
        };
        let expected = quote(&self.expected.to_string());
        // Writing to a string does not fail.
        let _ = match &self.found {
            Found::Nothing => write!(text, " is missing; expected: {expected}"),
            Found::NoElement => write!(text, " has no element that contains {expected}"),
            Found::Other(found) => write!(text, " is {} instead of {expected}", quote(&found.to_string())),
        };
        text
    }
}

/// Returns why an answer is not as expected, with an excerpt of it.
fn with_excerpt(why: &str, body: &[u8], masker: &Compiled) -> String {
    let text = masker.mask(&String::from_utf8_lossy(body));
    match text.trim() {
        "" => why.to_owned(),
        text => format!("{why}. The answer: {}", cut(text, LONGEST_EXCERPT)),
    }
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
