//! The stored values of a deployment: plain values in clear text, secured values as fingerprints.
//!
//! Secured values are not stored, so they can neither be returned nor leak. A keyed hash shows whether a value is the
//! one that a test expects, and a flag whether it is empty, which is all that a build needs.

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::connector::ConnectorDefinition;
use super::variant::{Normalise, Partial, Variant};
use connect_api::model::{
    ApplicationConfiguration, ConfigurationValue, GlobalConfiguration, RetryPolicy, SecuredKey, SecuredValue,
    StandardKey,
};

/// What answers show instead of a secured value (contract section 13, row 11).
pub const MASK: &str = "********";

/// Key of all fingerprints of one world.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FingerprintKey(String);

impl FingerprintKey {
    pub(super) fn new(bytes: [u8; 16]) -> Self {
        Self(hex(&bytes))
    }

    pub(super) fn of(&self, value: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("HMAC takes keys of any length");
        mac.update(value.as_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

impl std::fmt::Debug for FingerprintKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("FingerprintKey")
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Stored data of a secured value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secured {
    pub(super) key: String,
    pub(super) fingerprint: String,
    pub(super) empty: bool,
}

/// Plain and secured values of one application, or the global ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ValueSet {
    pub(super) standard: Vec<ConfigurationValue>,
    pub(super) secured: Vec<Secured>,
}

/// Values of one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ApplicationValues {
    pub(super) name: String,
    pub(super) values: ValueSet,
    pub(super) schedule: Option<String>,
    #[serde(default)]
    pub(super) retry_policy: Option<RetryPolicy>,
}

/// All values of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Values {
    pub(super) applications: Vec<ApplicationValues>,
    pub(super) global: Option<ValueSet>,
}

impl ValueSet {
    fn from_sent(standard: &[ConfigurationValue], secured: &[SecuredValue], key: &FingerprintKey) -> Self {
        let secured = secured.iter().map(|sent| Secured {
            key: sent.key.clone(),
            fingerprint: key.of(sent.value.expose_secret()),
            empty: sent.value.expose_secret().is_empty(),
        });
        Self { standard: standard.to_vec(), secured: secured.collect() }
    }

    /// Merges or replaces with the values that were sent, as `partial` says.
    fn take(&mut self, sent: Self, partial: Partial) {
        if partial == Partial::Replace {
            *self = sent;
            return;
        }
        for new in sent.standard {
            match self.standard.iter_mut().find(|old| old.key == new.key) {
                Some(old) => old.value = new.value,
                None => self.standard.push(new),
            }
        }
        for new in sent.secured {
            match self.secured.iter_mut().find(|old| old.key == new.key) {
                Some(old) => *old = new,
                None => self.secured.push(new),
            }
        }
    }

    /// Removes variables that the connector no longer declares.
    fn keep(&mut self, standard: &[StandardKey], secured: &[SecuredKey]) {
        self.standard.retain(|value| standard.iter().any(|declared| declared.key == value.key));
        self.secured.retain(|value| secured.iter().any(|declared| declared.key == value.key));
    }

    fn normalise(&mut self, declared: &[StandardKey], how: Normalise) {
        match how {
            Normalise::No => {}
            Normalise::Trim => {
                for value in &mut self.standard {
                    value.value = value.value.trim().to_owned();
                }
            }
            Normalise::Defaults => {
                for variable in declared {
                    let missing = self.standard.iter().all(|value| value.key != variable.key);
                    if let (true, Some(default)) = (missing, &variable.default) {
                        self.standard.push(ConfigurationValue { key: variable.key.clone(), value: default.clone() });
                    }
                }
            }
        }
    }

    /// Returns the plain value of a variable, if it was sent.
    pub(super) fn plain(&self, key: &str) -> Option<&str> {
        self.standard.iter().find(|value| value.key == key).map(|value| value.value.as_str())
    }

    /// Returns the secured value of a variable, if it was sent.
    pub(super) fn secured(&self, key: &str) -> Option<&Secured> {
        self.secured.iter().find(|value| value.key == key)
    }

    /// Returns the secured values as answers show them.
    pub(super) fn masked(&self) -> Vec<SecuredValue> {
        self.secured
            .iter()
            .map(|value| SecuredValue { key: value.key.clone(), value: MASK.to_owned().into() })
            .collect()
    }
}

impl Values {
    /// Returns the values of the application with this name.
    pub(super) fn application(&self, name: &str) -> Option<&ApplicationValues> {
        self.applications.iter().find(|application| application.name == name)
    }

    /// Returns these values after new ones were sent (contract section 6.1). For a create, `self` is empty. The result
    /// has an entry for each application of the deployment: those that it had before and those that are named now.
    /// What the connector no longer declares is removed.
    pub(super) fn after(
        &self,
        sent: Option<&[ApplicationConfiguration]>,
        global: Option<&GlobalConfiguration>,
        connector: &ConnectorDefinition,
        variant: &Variant,
        key: &FingerprintKey,
    ) -> Self {
        let named = |name: &str| sent.is_some_and(|sent| sent.iter().any(|sent| sent.application_name == name));
        let kept = connector.configurations.iter().filter(|declared| {
            let name = &declared.application_name;
            self.application(name).is_some() || named(name)
        });
        let applications = kept.map(|declared| {
            let name = &declared.application_name;
            let mut application = self.application(name).cloned().unwrap_or_else(|| ApplicationValues {
                name: name.clone(),
                values: ValueSet::default(),
                schedule: None,
                retry_policy: None,
            });
            match sent.map(|sent| sent.iter().find(|sent| sent.application_name == *name)) {
                Some(Some(sent)) => {
                    let new = ValueSet::from_sent(&sent.standard_configuration, &sent.secured_configuration, key);
                    application.values.take(new, variant.partial);
                    if sent.schedule.is_some() || variant.partial == Partial::Replace {
                        application.schedule.clone_from(&sent.schedule);
                    }
                    if sent.retry_policy.is_some() || variant.partial == Partial::Replace {
                        application.retry_policy.clone_from(&sent.retry_policy);
                    }
                }
                Some(None) if variant.partial == Partial::Replace => application.values = ValueSet::default(),
                Some(None) | None => {}
            }
            application.values.keep(&declared.standard_configuration, &declared.secured_configuration);
            application.values.normalise(&declared.standard_configuration, variant.normalise);
            application
        });
        let mut after = Self { applications: applications.collect(), global: self.global.clone() };
        if let Some(global) = global {
            let sent = ValueSet::from_sent(&global.standard_configuration, &global.secured_configuration, key);
            after.global.get_or_insert_default().take(sent, variant.partial);
        }
        if let Some(global) = &mut after.global {
            let declared = connector.global_configuration.clone().unwrap_or_default();
            global.keep(&declared.standard_configuration, &declared.secured_configuration);
            global.normalise(&declared.standard_configuration, variant.normalise);
        }
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn connector() -> ConnectorDefinition {
        let found = Catalogue::built_in().connectors.into_iter().find(|connector| connector.key == "demo-connector");
        found.expect("the catalogue contains it")
    }

    fn sent(standard: &[(&str, &str)], secured: &[(&str, &str)]) -> Vec<ApplicationConfiguration> {
        vec![ApplicationConfiguration {
            application_name: "service".into(),
            standard_configuration: standard
                .iter()
                .map(|(key, value)| ConfigurationValue { key: (*key).into(), value: (*value).into() })
                .collect(),
            secured_configuration: secured
                .iter()
                .map(|(key, value)| SecuredValue { key: (*key).into(), value: (*value).to_owned().into() })
                .collect(),
            schedule: None,
            retry_policy: None,
        }]
    }

    #[test]
    fn partial_lists_merge_or_replace_and_values_are_normalised_as_chosen() {
        let key = FingerprintKey::new([7; 16]);
        let old = sent(&[("LOG_LEVEL", "debug"), ("FEATURES", "a")], &[("API_TOKEN", "one")]);
        let new = sent(&[("FEATURES", " b ")], &[]);
        for (case, choices, expected, token_stays) in [
            ("merge", &[][..], &[("LOG_LEVEL", "debug"), ("FEATURES", " b ")][..], true),
            ("replace", &["partial=replace"], &[("FEATURES", " b ")], false),
            ("trim", &["normalise=trim"], &[("LOG_LEVEL", "debug"), ("FEATURES", "b")], true),
            (
                "defaults",
                &["partial=replace", "normalise=defaults"],
                &[("FEATURES", " b "), ("LOG_LEVEL", "info")],
                false,
            ),
        ] {
            let mut variant = Variant::default();
            for choice in choices {
                variant.set(choice).expect(case);
            }
            let connector = connector();
            let first = Values::default().after(Some(&old), None, &connector, &Variant::default(), &key);
            let second = first.after(Some(&new), None, &connector, &variant, &key);
            let values = &second.application("service").expect("the application has an entry").values;
            let plain: Vec<_> =
                values.standard.iter().map(|value| (value.key.as_str(), value.value.as_str())).collect();
            assert_eq!(plain, expected, "{case}");
            assert_eq!(values.secured("API_TOKEN").is_some(), token_stays, "{case}");
        }
    }

    #[test]
    fn secured_values_are_kept_as_fingerprints_only() {
        let key = FingerprintKey::new([7; 16]);
        let values = Values::default().after(
            Some(&sent(&[], &[("API_TOKEN", "canary-41")])),
            None,
            &connector(),
            &Variant::default(),
            &key,
        );
        let kept = serde_json::to_string(&values).expect("it is JSON");
        assert!(!kept.contains("canary-41") && !format!("{values:?}").contains("canary-41"));
        let token = values.applications[0].values.secured("API_TOKEN").expect("it was sent");
        assert_eq!(token.fingerprint, key.of("canary-41"));
        assert_ne!(token.fingerprint, FingerprintKey::new([8; 16]).of("canary-41"));
        assert_eq!(values.applications[0].values.masked()[0].value.expose_secret(), MASK);
    }
}
