//! Walks a body and collects every mistake with its place: members must have the types of the contract.

use serde_json::{Map, Value};

use super::MESSAGE;
use crate::refusal::{Refusal, with_details};
use connect_api::ErrorCode;

/// Maximum number of mistakes in one answer.
const TOLD: usize = 20;

/// Collects the mistakes in a body.
#[derive(Default)]
pub(super) struct Reader {
    mistakes: Vec<String>,
}

impl Reader {
    pub(super) fn wrong(&mut self, place: &str, what: &str) {
        self.mistakes.push(format!("{place}: {what}"));
    }

    pub(super) fn finish(self) -> Result<(), Refusal> {
        let error = |details: &String| with_details(ErrorCode::InvalidJsonInput, MESSAGE, details);
        Refusal::unless_empty(self.mistakes.iter().take(TOLD).map(error).collect())
    }

    pub(super) fn required<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        name: &str,
        place: &str,
    ) -> Option<&'a Value> {
        let found = present(object, name);
        if found.is_none() {
            self.wrong(place, "is required");
        }
        found
    }

    pub(super) fn required_list<'a>(&mut self, object: &'a Map<String, Value>, name: &str, place: &str) -> &'a [Value] {
        self.required(object, name, place).map_or(&[], |value| self.list(value, place))
    }

    pub(super) fn object<'a>(&mut self, value: &'a Value, place: &str) -> Option<&'a Map<String, Value>> {
        if value.as_object().is_none() {
            self.wrong(place, "must be an object");
        }
        value.as_object()
    }

    pub(super) fn list<'a>(&mut self, value: &'a Value, place: &str) -> &'a [Value] {
        if value.as_array().is_none() {
            self.wrong(place, "must be a list");
        }
        value.as_array().map_or(&[], Vec::as_slice)
    }

    pub(super) fn text<'a>(&mut self, object: &'a Map<String, Value>, name: &str, place: &str) -> Option<&'a str> {
        let value = present(object, name)?;
        if value.as_str().is_none() {
            self.wrong(place, "must be a string");
        }
        value.as_str()
    }

    pub(super) fn flag(&mut self, object: &Map<String, Value>, name: &str, place: &str) {
        if present(object, name).is_some_and(|value| !value.is_boolean()) {
            self.wrong(place, "must be true or false");
        }
    }

    pub(super) fn required_text<'a>(
        &mut self,
        object: &'a Map<String, Value>,
        name: &str,
        place: &str,
    ) -> Option<&'a str> {
        self.required(object, name, place)?;
        self.text(object, name, place)
    }

    /// Checks that a value is a list of valid strings; `what` is the mistake that is reported for an invalid one.
    pub(super) fn texts(&mut self, value: &Value, place: &str, what: &str, is_right: impl Fn(&str) -> bool) {
        for (index, entry) in self.list(value, place).iter().enumerate() {
            if !entry.as_str().is_some_and(&is_right) {
                self.wrong(&format!("{place}[{index}]"), what);
            }
        }
    }

    pub(super) fn integer(&mut self, object: &Map<String, Value>, name: &str, place: &str) -> Option<i64> {
        let value = self.required(object, name, place)?;
        if value.as_i64().is_none() {
            self.wrong(place, "must be an integer of 64 bits");
        }
        value.as_i64()
    }
}

pub(super) fn present<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}
