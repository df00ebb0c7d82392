//! The JSON of an answer, stored compactly: its size in memory is a small multiple of the answer's size, whatever its
//! content. A map of `serde_json` takes hundreds of bytes, even for one member.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A JSON value; strings without escapes are borrowed from the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Box<[Json<'a>]>),
    /// An object, with its members in the order of the answer. Of members with the same name the last one applies.
    Object(Box<[(Cow<'a, str>, Json<'a>)]>),
}

impl<'a> Json<'a> {
    /// Parses an answer; `None` if it is not JSON, or nests more than 127 deep.
    #[must_use]
    pub fn read(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Returns the member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the number of its direct children.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::List(values) => values.len(),
            Self::Object(members) => members.len(),
            _ => 0,
        }
    }

    /// Whether it has no children.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns its direct children.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        let (values, members) = match self {
            Self::List(values) => (&**values, &[][..]),
            Self::Object(members) => (&[][..], &**members),
            _ => (&[][..], &[][..]),
        };
        values.iter().chain(members.iter().map(|(_, value)| value))
    }
}

/// A string that is borrowed if possible; `Cow` itself always copies.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match Json::deserialize(source)? {
            Json::Text(text) => Ok(Self(text)),
            _ => Err(D::Error::custom("the name of a member must be a string")),
        }
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = source.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values.into_boxed_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(name), value)) = source.next_entry()? {
            members.push((name, value));
        }
        Ok(Json::Object(members.into_boxed_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed_and_the_last_of_two_members_applies() {
        let json =
            Json::read(br#"{"a": [1, -2, 0.5, true, null, "x", "\u00fc"], "b": {}, "a": 7}"#).expect("it is JSON");
        assert_eq!((json.len(), json.member("a")), (3, Some(&Json::Number(7.into()))));
        assert_eq!(json.children().next().map(Json::len), Some(7));
        assert!(json.member("b").is_some_and(Json::is_empty) && json.member("c").is_none() && !json.is_empty());
        for wrong in [&b"<html>"[..], b"", b"{\"a\": 1} 2", b"\xff", &b"[".repeat(200)] {
            assert_eq!(Json::read(wrong), None);
        }
        assert_eq!(size_of::<Json<'_>>(), 24, "a value is small");
    }
}
