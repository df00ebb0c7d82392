//! Digests that tell whether something changed, without showing what. Pure.
//!
//! [`Digest`] covers secured values, so it is keyed (design rule 7: otherwise short secrets could be guessed from a
//! status that many may read). [`VisibleDigest`] covers what anybody who may read the deployment sees, so that it
//! survives the loss of that key.

use std::collections::BTreeSet;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::ExposeSecret;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::values::{Values, VisibleValues};

/// Length of a digest key in bytes: the output size of SHA-256 (RFC 2104 section 3).
pub const KEY_LENGTH: usize = 32;

/// Key of the digests of one installation.
#[derive(Clone)]
pub struct DigestKey {
    name: String,
    key: Zeroizing<[u8; KEY_LENGTH]>,
}

impl DigestKey {
    /// A key from its bytes. Its name, which every digest carries, is made from them.
    #[must_use]
    pub fn new(key: [u8; KEY_LENGTH]) -> Self {
        let name = hex(&Sha256::digest([b"digest key name".as_slice(), &key].concat())[..4]);
        Self { name, key: Zeroizing::new(key) }
    }

    /// Digest of all values under this key.
    ///
    /// # Panics
    /// Never: HMAC takes a key of any length (RFC 2104 section 2).
    #[must_use]
    #[allow(clippy::missing_panics_doc, reason = "HMAC takes keys of any length (RFC 2104 section 2)")]
    pub fn digest(&self, values: &Values) -> Digest {
        let mut hash = Hmac::<Sha256>::new_from_slice(self.key.as_slice()).expect("HMAC takes any length");
        for (name, application) in &values.applications {
            // An entry without values is the same as none.
            if application.standard.is_empty() && application.secured.is_empty() && application.schedule.is_none() {
                continue;
            }
            feed(&mut hash, &["application", name]);
            for (key, value) in &application.standard {
                feed(&mut hash, &["standard", key, value]);
            }
            for (key, value) in &application.secured {
                feed(&mut hash, &["secured", key, value.expose_secret()]);
            }
            if let Some(schedule) = &application.schedule {
                feed(&mut hash, &["schedule", schedule]);
            }
        }
        for (key, value) in &values.global.standard {
            feed(&mut hash, &["global standard", key, value]);
        }
        for (key, value) in &values.global.secured {
            feed(&mut hash, &["global secured", key, value.expose_secret()]);
        }
        Digest { key: self.name.clone(), hash: hex(&hash.finalize().into_bytes()) }
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DigestKey({})", self.name)
    }
}

/// Digest of all values, written `{name of the key}:{hash}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    key: String,
    hash: String,
}

/// What two digests say of the values behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same values.
    Same,
    /// Other values.
    Different,
    /// Made under different keys, or with other values left out: nothing is known.
    Unknown,
}

impl Digest {
    /// Compares the values behind two digests.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        match (self.key == other.key, self.hash == other.hash) {
            (true, true) => Comparison::Same,
            (true, false) => Comparison::Different,
            (false, _) => Comparison::Unknown,
        }
    }

    /// Reads the written form; a text without a key's name is a digest under a key that nobody has.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (key, hash) = text.split_once(':').unwrap_or(("", text));
        Self { key: key.to_owned(), hash: hash.to_owned() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.key, self.hash)
    }
}

/// Digest of visible values, written `{hash}[~{what is ignored}~{hash of the rest}][.{application whose schedule counts}]…`:
/// at most 650 characters.
///
/// A schedule that was not sent is the one of `connect.yaml` and shows all the same, so a digest says of which
/// applications it holds the schedule; the same is asked of what is seen. Two digests of the same values are the same,
/// whatever is ignored; of others, only those that ignore the same can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleDigest {
    hash: String,
    ignoring: Option<Ignoring>,
    scheduled: BTreeSet<String>,
}

/// What is left when `spec.drift.ignore` is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ignoring {
    /// Names the list of what is ignored.
    list: String,
    /// Hash without it.
    hash: String,
}

impl VisibleDigest {
    /// Digest of values that are sent.
    #[must_use]
    pub fn of(values: &VisibleValues) -> Self {
        let scheduled = values.applications.iter().filter(|(_, application)| application.schedule.is_some());
        Self::with(values, scheduled.map(|(name, _)| short(name)).collect())
    }

    /// The same question asked of other values: those schedules that this digest holds.
    #[must_use]
    pub fn again(&self, seen: &VisibleValues) -> Self {
        Self::with(seen, self.scheduled.clone())
    }

    /// Whether these are the values behind the digest, as far as they are not ignored.
    #[must_use]
    pub fn fits(&self, seen: &VisibleValues) -> bool {
        self.compare(&self.again(seen)) == Comparison::Same
    }

    /// Compares the values behind two digests.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.scheduled != other.scheduled {
            return Comparison::Unknown;
        }
        let same = match (&self.ignoring, &other.ignoring) {
            _ if self.hash == other.hash => true,
            (None, None) => false,
            (Some(mine), Some(theirs)) if mine.list == theirs.list => mine.hash == theirs.hash,
            _ => return Comparison::Unknown,
        };
        if same { Comparison::Same } else { Comparison::Different }
    }

    /// Whether both ignore the same.
    #[must_use]
    pub fn ignores_the_same(&self, other: &Self) -> bool {
        self.ignoring.as_ref().map(|ignoring| &ignoring.list) == other.ignoring.as_ref().map(|ignoring| &ignoring.list)
    }

    fn with(values: &VisibleValues, scheduled: BTreeSet<String>) -> Self {
        let nothing = BTreeSet::new();
        let ignoring = (!values.ignored.is_empty()).then(|| {
            let mut list = Sha256::new();
            for (application, key) in &values.ignored {
                feed(&mut list, &[application, key]);
            }
            Ignoring { list: hex(&list.finalize()[..4]), hash: visible_hash(values, &scheduled, &values.ignored) }
        });
        Self { hash: visible_hash(values, &scheduled, &nothing), ignoring, scheduled }
    }

    /// Reads the written form.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split('.');
        let head = parts.next().unwrap_or_default();
        let (hash, rest) = head.split_once('~').map_or((head, None), |(hash, rest)| (hash, Some(rest)));
        let ignoring = rest.map(|rest| {
            let (list, hash) = rest.split_once('~').unwrap_or((rest, ""));
            Ignoring { list: list.to_owned(), hash: hash.to_owned() }
        });
        Self { hash: hash.to_owned(), ignoring, scheduled: parts.map(ToOwned::to_owned).collect() }
    }
}

impl fmt::Display for VisibleDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.hash)?;
        if let Some(Ignoring { list, hash }) = &self.ignoring {
            write!(formatter, "~{list}~{hash}")?;
        }
        for application in &self.scheduled {
            write!(formatter, ".{application}")?;
        }
        Ok(())
    }
}

fn visible_hash(values: &VisibleValues, scheduled: &BTreeSet<String>, ignored: &BTreeSet<(String, String)>) -> String {
    let mut hash = Sha256::new();
    for (name, application) in &values.applications {
        let schedule = application.schedule.as_deref().filter(|_| scheduled.contains(&short(name)));
        let standard: Vec<_> = application
            .standard
            .iter()
            .filter(|(key, _)| !ignored.iter().any(|(application, ignored)| application == name && ignored == *key))
            .collect();
        // An entry without values is the same as none.
        if standard.is_empty() && schedule.is_none() {
            continue;
        }
        feed(&mut hash, &["application", name]);
        for (key, value) in standard {
            feed(&mut hash, &["standard", key, value]);
        }
        if let Some(schedule) = schedule {
            feed(&mut hash, &["schedule", schedule]);
        }
    }
    for (key, value) in &values.global {
        feed(&mut hash, &["global standard", key, value]);
    }
    hex(&hash.finalize()[..16])
}

/// Feeds fields with their lengths, so that no two lists of fields feed the same bytes.
fn feed(hash: &mut impl sha2::digest::Update, fields: &[&str]) {
    for field in fields {
        hash.update(&(field.len() as u64).to_be_bytes());
        hash.update(field.as_bytes());
    }
}

/// Eight hexadecimal digits of the SHA-256 of a text: enough to tell 64 applications apart.
fn short(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::values::{ApplicationValues, VisibleApplication};
    use super::*;

    fn values(standard: &[(&str, &str)], secured: &[(&str, &str)], schedule: Option<&str>) -> Values {
        let application = ApplicationValues {
            standard: standard.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            secured: secured.iter().map(|(key, value)| ((*key).into(), (*value).to_owned().into())).collect(),
            schedule: schedule.map(Into::into),
        };
        Values {
            applications: BTreeMap::from([("service".to_owned(), application)]),
            global: ApplicationValues::default(),
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
    fn rule_7_a_digest_under_another_key_is_unknown_not_different() {
        let (first, second) = (DigestKey::new([1; KEY_LENGTH]), DigestKey::new([2; KEY_LENGTH]));
        let same = values(&[("A", "1")], &[], None);
        assert_eq!(first.digest(&same).compare(&second.digest(&same)), Comparison::Unknown);
        let written = first.digest(&same).to_string();
        assert_eq!(Digest::parse(&written), first.digest(&same));
        assert_eq!(Digest::parse("no key").compare(&first.digest(&same)), Comparison::Unknown);
    }

    #[test]
    fn a_schedule_that_was_not_sent_does_not_count() {
        let sent = VisibleDigest::of(&values(&[("A", "1")], &[], None).visible());
        let mut seen = values(&[("A", "1")], &[], Some("from connect.yaml")).visible();
        seen.applications.insert("other".into(), VisibleApplication::default());
        assert!(sent.fits(&seen), "an application without values and an inherited schedule change nothing");
        let scheduled = VisibleDigest::of(&values(&[("A", "1")], &[], Some("0 5 * * *")).visible());
        assert!(!scheduled.fits(&seen));
        assert_ne!(sent, scheduled);
        assert_eq!(VisibleDigest::parse(&scheduled.to_string()), scheduled);
    }

    #[test]
    fn ignored_values_do_not_count() {
        let ignored: BTreeSet<_> = [("service".to_owned(), "A".to_owned())].into();
        let sent = VisibleDigest::of(&values(&[("A", "1"), ("B", "1")], &[], None).visible().ignoring(ignored.clone()));
        for (case, seen, fits) in [
            ("an ignored value differs", &[("A", "2"), ("B", "1")], true),
            ("another value differs", &[("A", "1"), ("B", "2")], false),
        ] {
            let seen = values(seen, &[], None).visible();
            assert_eq!(sent.fits(&seen.clone().ignoring(ignored.clone())), fits, "{case}");
            assert!(!sent.fits(&seen), "{case}, and nothing is ignored any more");
        }
        assert_eq!(VisibleDigest::parse(&sent.to_string()), sent);
    }

    #[test]
    fn the_same_values_fit_though_something_else_is_ignored_now() {
        let plain = values(&[("A", "1")], &[], None).visible();
        let other = values(&[("A", "2")], &[], None).visible();
        let ignored = |key: &str| BTreeSet::from([("service".to_owned(), key.to_owned())]);
        let lists = [BTreeSet::new(), ignored("A"), ignored("B")];
        for before in &lists {
            for after in &lists {
                let sent = VisibleDigest::of(&plain.clone().ignoring(before.clone()));
                let same = VisibleDigest::of(&plain.clone().ignoring(after.clone()));
                let differs = VisibleDigest::of(&other.clone().ignoring(after.clone()));
                assert_eq!(sent.ignores_the_same(&same), before == after);
                assert_eq!(sent.compare(&same), Comparison::Same, "{before:?} {after:?}");
                let expected = match (before == after, before == &ignored("A")) {
                    (false, _) => Comparison::Unknown,
                    (true, true) => Comparison::Same,
                    (true, false) => Comparison::Different,
                };
                assert_eq!(sent.compare(&differs), expected, "{before:?} {after:?}");
            }
        }
    }

    #[test]
    fn digests_that_hold_other_schedules_say_nothing_of_each_other() {
        let without = VisibleDigest::of(&values(&[("A", "1")], &[], None).visible());
        let with = VisibleDigest::of(&values(&[("A", "1")], &[], Some("0 5 * * *")).visible());
        assert_eq!(without.compare(&with), Comparison::Unknown);
    }

    #[test]
    fn the_longest_written_form_fits_into_the_status() {
        let application = |number: u8| {
            let values = VisibleApplication { schedule: Some("0 5 * * *".into()), ..VisibleApplication::default() };
            (format!("application-{number}"), values)
        };
        let longest = VisibleValues { applications: (0..64).map(application).collect(), ..VisibleValues::default() }
            .ignoring([("application-1".to_owned(), "A".to_owned())].into());
        assert_eq!(VisibleDigest::of(&longest).to_string().len(), 650);
    }
}
