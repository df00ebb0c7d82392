//! Digests that reveal whether values changed, without revealing the values. Pure.
//!
//! [`Digest`] covers secured values, so it is keyed (design rule 7: otherwise short secrets could be guessed from a
//! status that many may read).

use std::collections::BTreeMap;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::Values;
use super::names::{Difference, Item, Kind, Names, VisibleValues};

/// Length of a digest key in bytes: the output size of SHA-256 (RFC 2104 section 3).
pub const KEY_LENGTH: usize = 32;

/// Length of a digest in bytes: half of SHA-256, which leaves no chance of two equal ones.
const HASH_LENGTH: usize = 16;

/// Key of the digests of one install, or of one of its namespaces.
#[derive(Clone)]
pub struct DigestKey {
    name: String,
    key: Zeroizing<[u8; KEY_LENGTH]>,
}

impl DigestKey {
    /// Creates a key from its bytes. Its name, which every digest contains, is derived from them.
    pub fn new(key: [u8; KEY_LENGTH]) -> Self {
        let name = hex(&Sha256::digest([b"digest key name".as_slice(), &key].concat())[..4]);
        Self { name, key: Zeroizing::new(key) }
    }

    /// Returns the digest of all values under this key.
    ///
    /// # Panics
    /// Never: HMAC takes a key of any length (RFC 2104 section 2).
    #[allow(clippy::missing_panics_doc, reason = "HMAC takes keys of any length (RFC 2104 section 2)")]
    pub fn digest(&self, values: &Values) -> Digest {
        let mut hash = self.hash();
        let visible = values.visible.iter().map(|(item, text)| (item, text.as_str()));
        let secured = values.secured.iter().map(|(item, text)| (item, text.expose_secret()));
        // An application without values gives the same digest as an absent one.
        for (Item { kind, application, key }, text) in visible.chain(secured) {
            feed(&mut hash, &[kind.as_str(), application, key, text]);
        }
        self.digest_of(hash)
    }

    /// Returns the key for one namespace: equal values in two namespaces have different digests, so whoever can read both
    /// statuses learns nothing from comparing them.
    #[allow(clippy::missing_panics_doc, reason = "HMAC takes keys of any length (RFC 2104 section 2)")]
    pub fn of_namespace(&self, namespace: &str) -> Self {
        let mut hash = self.hash();
        feed(&mut hash, &["namespace", namespace]);
        Self { name: self.name.clone(), key: Zeroizing::new(hash.finalize().into_bytes().into()) }
    }

    /// Returns the digest of those of `values` that are named, as the remote shows them. Retry policies do not count, because
    /// older services do not show them.
    pub fn of_visible(&self, names: &Names, values: &VisibleValues) -> Digest {
        let mut hash = self.hash();
        let counts = |item: &&Item| matches!(item.kind, Kind::Standard | Kind::Schedule);
        for item in names.iter().filter(counts) {
            let name = ["visible", &item.application, &item.key];
            match values.get(item) {
                Some(text) => feed(&mut hash, &[name.as_slice(), &["shown", text]].concat()),
                None => feed(&mut hash, &[name.as_slice(), &["not shown"]].concat()),
            }
        }
        self.digest_of(hash)
    }

    /// Returns the digest of these differences; `None`: there are none.
    pub fn of_differences(&self, differences: &BTreeMap<&Item, Difference<'_>>) -> Option<Digest> {
        let mut hash = self.hash();
        for (item, Difference { sent, shown }) in differences {
            feed(&mut hash, &["difference", &item.application, &item.key, sent]);
            feed(&mut hash, shown.as_slice());
        }
        (!differences.is_empty()).then(|| self.digest_of(hash))
    }

    fn hash(&self) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(self.key.as_slice()).expect("HMAC takes any length")
    }

    fn digest_of(&self, hash: Hmac<Sha256>) -> Digest {
        Digest { key: self.name.clone(), hash: hex(&hash.finalize().into_bytes()[..HASH_LENGTH]) }
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DigestKey({})", self.name)
    }
}

/// A digest, written as `{name of the key}:{hash}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Digest {
    key: String,
    hash: String,
}

/// The result of comparing the values behind two digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The values are equal.
    Same,
    /// The values differ.
    Different,
    /// The digests have different keys: nothing is known about the values.
    Unknown,
}

impl Digest {
    /// Compares the values behind two digests.
    pub fn compare(&self, other: &Self) -> Comparison {
        match (self.key == other.key, self.hash == other.hash) {
            (true, true) => Comparison::Same,
            (true, false) => Comparison::Different,
            (false, _) => Comparison::Unknown,
        }
    }

    /// Parses the written form. A string without a key name becomes a digest under a key that does not exist.
    pub fn parse(text: &str) -> Self {
        let (key, hash) = text.split_once(':').unwrap_or(("", text));
        Self { key: key.to_owned(), hash: hash.to_owned() }
    }
}

impl From<String> for Digest {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.key, self.hash)
    }
}

/// Feeds fields with their lengths into a hash, so that no two lists of fields feed the same bytes.
pub(in crate::operator) fn feed(hash: &mut impl sha2::digest::Update, fields: &[&str]) {
    for field in fields {
        hash.update(&(field.len() as u64).to_be_bytes());
        hash.update(field.as_bytes());
    }
}

/// Returns bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use connect_api::model::RetryPolicy;

    use super::*;
    use crate::operator::values::retry_policy;

    fn values(standard: &[(&str, &str)], secured: &[(&str, &str)], schedule: Option<&str>) -> Values {
        let standard = standard.iter().map(|(key, value)| (Item::standard("service", key), (*value).into()));
        let secured = secured.iter().map(|(key, value)| (Item::secured("service", key), (*value).into()));
        let schedule = schedule.map(|schedule| (Item::schedule("service"), schedule.into()));
        Values {
            applications: ["service".to_owned()].into(),
            visible: standard.chain(schedule).collect(),
            secured: secured.collect(),
        }
    }

    #[test]
    fn rule_7_every_value_counts_and_its_place_does() {
        let key = DigestKey::new([7; KEY_LENGTH]);
        let base = key.digest(&values(&[("A", "1")], &[("B", "2")], None));
        for (case, other) in [
            ("a plain value", values(&[("A", "2")], &[("B", "2")], None)),
            ("a secured value", values(&[("A", "1")], &[("B", "3")], None)),
            ("a key", values(&[("AA", "1")], &[("B", "2")], None)),
            ("plain instead of secured", values(&[("A", "1"), ("B", "2")], &[], None)),
            ("a border between key and value", values(&[("A1", "")], &[("B", "2")], None)),
            ("a schedule", values(&[("A", "1")], &[("B", "2")], Some("0 * * * *"))),
        ] {
            assert_eq!(base.compare(&key.digest(&other)), Comparison::Different, "{case}");
        }
        assert_eq!(base.compare(&key.digest(&values(&[("A", "1")], &[("B", "2")], None))), Comparison::Same);
    }

    #[test]
    fn rule_7_a_retry_policy_counts_and_changes_no_digest_of_values_without_one() {
        let key = DigestKey::new([7; KEY_LENGTH]);
        let without = values(&[("A", "1")], &[("B", "2")], Some("0 * * * *"));
        // A digest must stay the same with every version: upgrading must not redeploy anything.
        let earlier = "5f4a3f07:0ad3a5206c7b87e06e3f19e3709081cc";
        assert_eq!(key.digest(&without).to_string(), earlier);
        let with = |policy: RetryPolicy| {
            let mut values = without.clone();
            values.visible.extend(retry_policy("service", &policy));
            key.digest(&values).to_string()
        };
        let backoff = RetryPolicy {
            strategy: "exponential-backoff".into(),
            min_backoff_seconds: Some(10),
            max_backoff_seconds: Some(60),
            max_attempts: None,
        };
        let digests = [
            earlier.to_owned(),
            with(RetryPolicy { strategy: "immediate".into(), ..RetryPolicy::default() }),
            with(backoff.clone()),
            with(RetryPolicy { min_backoff_seconds: Some(60), max_backoff_seconds: Some(10), ..backoff.clone() }),
            with(RetryPolicy { max_attempts: Some(5), ..backoff }),
        ];
        for (place, one) in digests.iter().enumerate() {
            assert!(!digests[place + 1..].contains(one), "{one}");
        }
    }

    #[test]
    fn rule_7_a_digest_under_another_key_is_unknown_not_different() {
        let (first, second) = (DigestKey::new([1; KEY_LENGTH]), DigestKey::new([2; KEY_LENGTH]));
        let same = values(&[("A", "1")], &[], None);
        assert_eq!(first.digest(&same).compare(&second.digest(&same)), Comparison::Unknown);
        let written = first.digest(&same).to_string();
        assert_eq!(Digest::parse(&written), first.digest(&same));
        assert_eq!(Digest::parse("no key").compare(&first.digest(&same)), Comparison::Unknown);
    }
}
