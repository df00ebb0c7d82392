//! Lenient decoding where the contract leaves details open (sections 4.1 and 13): null equals absent, unknown enum
//! words are kept, unknown members are ignored, and members that no decision needs may have any form.

use std::fmt;

use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::text::is_unsafe;

/// Decodes null like an absent member, as the type's default.
///
/// # Errors
/// Fails if the value is neither null nor of the type.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Decodes a member that no decision needs: in any other form than the type's, it counts as absent. So does a text with
/// half a surrogate pair. Otherwise one such member would make the whole record unreadable.
///
/// # Errors
/// Fails if the input is not JSON.
pub fn usable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    let json = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default())
}

/// Decodes the elements of a list that [`Records`] reads, and null like an absent list.
///
/// # Errors
/// Fails if the value is neither null nor a list.
pub fn first<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(Option::<Records<T, MOST>>::deserialize(deserializer)?.map_or_else(Vec::new, |records| records.read))
}

/// The first `MOST` elements of a list that can be decoded. The others take no memory: an empty element is a few bytes of a
/// response, and hundreds in memory.
#[derive(Debug)]
pub struct Records<T, const MOST: usize> {
    /// Those elements.
    pub read: Vec<T>,
    /// Number of the others.
    pub left_out: usize,
}

impl<'de, T: DeserializeOwned, const MOST: usize> Deserialize<'de> for Records<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self { read: Vec::new(), left_out: 0 })
    }
}

impl<'de, T: DeserializeOwned, const MOST: usize> Visitor<'de> for Records<T, MOST> {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<Self, A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            let read = if self.read.len() < MOST { serde_json::from_str(element.get()).ok() } else { None };
            match read {
                Some(read) => self.read.push(read),
                None => self.left_out += 1,
            }
        }
        Ok(self)
    }
}

/// Decodes an id, which becomes part of URLs, statuses and messages.
///
/// # Errors
/// Fails if the value is not a string, or has characters that are not shown (see [`crate::text`]).
pub fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    if id.contains(is_unsafe) { Err(D::Error::custom("expected an id")) } else { Ok(id) }
}

/// Longest JSON that is brought into one form, in bytes.
const LONGEST_NORMALISED: usize = 1024;

/// Decodes a member whose form is unspecified: a string as it is, anything else as its JSON text, without spaces and in
/// one order of members unless it is longer than 1024 bytes: a tree of small values needs 20 times the memory of its text.
///
/// # Errors
/// Fails if the input is not JSON.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(json) = Option::<Box<RawValue>>::deserialize(deserializer)? else { return Ok(None) };
    let text = match json.get() {
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        text if text.len() <= LONGEST_NORMALISED => {
            serde_json::from_str::<serde_json::Value>(text).ok().map(|value| value.to_string())
        }
        _ => None,
    };
    Ok(Some(text.unwrap_or_else(|| Box::<str>::from(json).into())))
}

/// Defines an enum of words that keeps an unknown word as it was received.
#[macro_export]
macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            /// A word that the contract does not list.
            Other(String),
        }

        impl $name {
            /// Every word that the contract lists.
            pub const KNOWN: &'static [&'static str] = &[$($word),*];

            /// Returns the word as written in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self::from(String::deserialize(deserializer)?.as_str()))
            }
        }
    };
}
