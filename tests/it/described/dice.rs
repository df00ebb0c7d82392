//! Random values that match a schema of the description, and values that do not. The same seed gives the same values.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::description::Description;
use crate::prelude::*;

/// Depth of nested schemas; below it, objects have only their required members.
const DEEPEST: usize = 4;
/// Words used as texts, some of them hard to preserve.
const WORDS: [&str; 12] =
    ["service", "LOG_LEVEL", "API_TOKEN", "debug", "demo", "", " ", "0 3 * * *", "äöü🛒", "a\"b\\c", "../..", "%00\n"];
/// Values that are expected nowhere, or rarely.
const ODD: [&str; 12] = [
    "null",
    "-1",
    "9e300",
    "1.5",
    "9223372036854775807",
    "18446744073709551616",
    "\"x\"",
    "[]",
    "{}",
    "true",
    "[{\"action\":\"publish\"}]",
    "\"%00\\n\"",
];

pub(super) struct Dice {
    random: StdRng,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed) }
    }

    /// Returns true with this probability, in percent.
    pub(super) fn percent(&mut self, share: u32) -> bool {
        self.random.random_ratio(share, 100)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub(super) fn word(&mut self) -> &'static str {
        self.pick(&WORDS)
    }

    pub(super) fn odd(&mut self) -> Value {
        // Too large an integer becomes a floating point number.
        serde_json::from_str(self.pick(&ODD)).expect("it is JSON")
    }

    /// Returns a value that matches the schema, as far as the schema defines it.
    pub(super) fn value(&mut self, description: &Description, schema: &Value, depth: usize) -> Value {
        let schema = description.resolve(schema);
        for kind in ["oneOf", "anyOf"] {
            if let Some(choices) =
                schema.get(kind).and_then(Value::as_array).filter(|list| list[0].get("required").is_none())
            {
                let choice = self.pick(choices);
                return self.value(description, &choice, depth);
            }
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.pick(values);
        }
        match schema["type"].as_str() {
            Some("object") => self.object(description, schema, depth),
            Some("array") => {
                let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).expect("it is small");
                let count = least + if depth < DEEPEST { self.below(3) } else { 0 };
                (0..count).map(|_| self.value(description, &schema["items"], depth + 1)).collect()
            }
            Some("integer") => json!(self.pick(&[0, 1, 2, 3, 20, 500])),
            Some("boolean") => json!(self.percent(50)),
            Some("string") => self.text(schema),
            _ => self.odd(),
        }
    }

    fn object(&mut self, description: &Description, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&json!(name)) || (depth < DEEPEST && self.percent(50)) {
                object.insert(name.clone(), self.value(description, member, depth + 1));
            }
        }
        Value::Object(object)
    }

    fn text(&mut self, schema: &Value) -> Value {
        let pattern = schema["pattern"].as_str().unwrap_or_default();
        if schema["format"] == "date-time" {
            json!(self.pick(&["2026-03-01T12:00:01Z", "2026-03-01T13:00:00+01:00", "1999-12-31T23:59:60Z"]))
        } else if pattern.contains(':') {
            json!(self.pick(&["europe-west1.gcp:demo", "us-central1.gcp:other"]))
        } else if pattern.is_empty() {
            json!(self.word())
        } else {
            json!(self.pick(&["service", "demo-connector", "mine-1", "a_b", "0-"]))
        }
    }

    /// Replaces one member by something odd, or removes it.
    pub(super) fn spoil(&mut self, value: &mut Value) {
        let deeper = self.percent(70);
        match value {
            Value::Object(members) if deeper && !members.is_empty() => {
                let at = self.below(members.len());
                let name = members.keys().nth(at).cloned().unwrap_or_default();
                if self.percent(15) {
                    members.remove(&name);
                } else {
                    self.spoil(&mut members[&name]);
                }
            }
            Value::Array(items) if deeper && !items.is_empty() => {
                let at = self.below(items.len());
                self.spoil(&mut items[at]);
            }
            other => *other = self.odd(),
        }
    }
}
