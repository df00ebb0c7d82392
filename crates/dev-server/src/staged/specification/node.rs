//! Any YAML file as a tree of values with line numbers.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error as Cause, Spanned};

use crate::yaml;

/// A value and its line.
#[derive(Debug)]
pub(super) struct Node {
    /// Line, from 1.
    pub(super) line: u64,
    pub(super) kind: Kind,
}

/// The content of a value.
#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    /// A number; `None` if it is not a 64-bit integer.
    Number(Option<i64>),
    Text(String),
    List(Vec<Node>),
    /// Members in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let read = serde_saphyr::from_str_with_options(text, options);
        read.map_err(|error| format!("[file content]: {}", explain(&error)))
    }
}

/// Returns what is wrong with a file, in words for its author: those of the library about these are for its callers.
fn explain(error: &Cause) -> String {
    let mut cause = error;
    while let Cause::AliasError { error: inner, .. } | Cause::WithSnippet { error: inner, .. } = cause {
        cause = inner;
    }
    let what = match cause {
        Cause::DuplicateMappingKey { key: Some(key), .. } => {
            format!("`{key}` appears twice in the same object: keep one, with the content of both")
        }
        Cause::MultipleDocuments { .. } => {
            "a line `---` begins a second document: remove it, and write everything into one".to_owned()
        }
        Cause::Eof { .. } => "the file is empty or ends too early: it needs at least `deployAs: []`".to_owned(),
        _ => return yaml::summary(error),
    };
    let place = cause.location().filter(|place| place.line() > 0);
    let place = place.map(|place| format!(" (line {}, column {})", place.line(), place.column()));
    what + &place.unwrap_or_default()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Spanned::<Kind>::deserialize(deserializer)?;
        Ok(Self { line: found.referenced.line().max(1), kind: found.value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Kind;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(Self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Flag(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(Some(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(i64::try_from(value).ok()))
    }

    fn visit_f64<E: Error>(self, _value: f64) -> Result<Kind, E> {
        Ok(Kind::Number(None))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = members.next_entry()? {
            map.push(member);
        }
        Ok(Kind::Map(map))
    }
}
