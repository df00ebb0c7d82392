//! Decoding that survives what the contract leaves open (sections 4.1 and 13): null reads like absent, words that are
//! not in a list are kept, members that are not known are passed over.

use serde::{Deserialize, Deserializer};

/// Null reads like absent: the type's default.
///
/// # Errors
/// When the value is neither null nor of the type.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A member of which no form is specified: a text as it is, anything else as its JSON.
///
/// # Errors
/// When it is not JSON.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<serde_json::Value>::deserialize(deserializer)?.map(|value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// An enum of words in which a word that is not listed is kept as it came.
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

            /// The word as it stands in JSON.
            #[must_use]
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
