//! Choices for what the contract leaves open (marked *unspecified* there; design section 6).
//!
//! This module only defines the values; [`super::world`] implements them. Each has a name for `--variant name=value`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Defines the values of choices, with their names; the first one of each is the default.
macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident {
        $(#[$first_meta:meta])* $first:ident = $first_word:literal,
        $($(#[$value_meta:meta])* $value:ident = $word:literal,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $(#[$first_meta])*
            #[default]
            #[serde(rename = $first_word)]
            $first,
            $($(#[$value_meta])* #[serde(rename = $word)] $value,)*
        }
    )*};
}

choices! {
    /// First status of a deployment after a create or a redeploy (contract section 7).
    FirstStatus {
        /// `Deploying`, as observed.
        Deploying = "deploying",
        /// `Queued` for a fifth of the deploy duration, then `Deploying`.
        Queued = "queued",
    }

    /// Content of `details` of a new deployment until its first build ends (contract section 15.1).
    NewDetails {
        /// The running build.
        Build = "build",
        /// No build.
        Empty = "empty",
    }

    /// How answers show optional members without a value (contract section 15.1).
    Absent {
        /// They are left out.
        Omitted = "omitted",
        /// `key`, `documentationUrl`, `supportUrl`, `logoUrl`, and `message` of a report entry are null.
        Null = "null",
    }

    /// Behaviour of the two log endpoints. They disappear after 2027-01-31; the answer after that is unspecified (contract
    /// section 3).
    Logs {
        /// They serve logs.
        Served = "served",
        /// They answer 400.
        BadRequest = "400",
        /// They answer 404.
        NotFound = "404",
        /// They answer 410.
        Gone = "410",
        /// They answer 500.
        Broken = "500",
    }

    /// Answer for a project that the catalogue does not list, such as one without Connect: unspecified.
    UnknownProject {
        /// The project is served, and is empty at first.
        Served = "served",
        /// 400 with `InvalidPathParam`.
        Invalid = "400",
        /// 403 with `AuthorizationError`.
        Forbidden = "403",
        /// 404 with `ResourceNotFound`.
        NotFound = "404",
    }

    /// When `version` of a deployment or staged connector increases (contract section 10).
    Versions {
        /// With each accepted update and delete.
        Update = "update",
        /// Also with each change of the status.
        Status = "status",
    }

    /// When a redeploy changes `details.build.id` (contract section 7).
    BuildIds {
        /// When the redeploy is accepted.
        Start = "start",
        /// When the redeploy ends; a new deployment has no build until its first build ends.
        End = "end",
        /// Never.
        Never = "never",
    }

    /// When reads show new plain values.
    ValuesShow {
        /// When the redeploy is accepted.
        Start = "start",
        /// When the redeploy ends.
        End = "end",
    }

    /// How the service changes plain values.
    Normalise {
        /// Values are stored as sent.
        No = "no",
        /// Whitespace at both ends is removed.
        Trim = "trim",
        /// Variables that were not sent get their defaults.
        Defaults = "defaults",
    }

    /// Effect of a partial list of values in a redeploy (contract section 6.1).
    Partial {
        /// Values that were not sent are kept.
        Merge = "merge",
        /// Values that were not sent are removed.
        Replace = "replace",
    }

    /// Effect of a redeploy with `updateConnector` that names an application which the newer version adds (contract section
    /// 6.1).
    AddedApplications {
        /// The application is added to the deployment.
        Accept = "accept",
        /// The redeploy is refused with `DeploymentApplicationDoNotBelong`.
        Refuse = "refuse",
    }

    /// Whether a deployment lists applications that the create left out (contract section 4.4).
    LeftOutApplications {
        /// They are not listed.
        Absent = "absent",
        /// They are listed without values and without a URL.
        Listed = "listed",
    }

    /// Whether a deployment shows an optional member (contract section 4.4).
    Shown {
        /// The member is shown.
        Shown = "shown",
        /// The member is left out.
        Hidden = "hidden",
    }

    /// Effect of a DELETE of a `Queued`, `Deploying` or `Undeploying` deployment (contract section 7).
    DeleteBusy {
        /// Aborts what runs and undeploys.
        Accept = "accept",
        /// Refuses with `DeploymentInvalidStatusTransition`.
        Refuse = "refuse",
    }

    /// How a connector that is ready for certification is certified.
    Certification {
        /// After a delay, without interaction.
        Automatic = "automatic",
        /// When `/_dev` or a test finishes the certification.
        ByHand = "by-hand",
    }

    /// Whether a certified connector can be certified again (contract section 6.2, `publish`).
    CertifiedAgain {
        /// If it changed since it was published.
        Changed = "changed",
        /// Never; versions that are published later stay certified and public.
        Never = "never",
    }

    /// Effect of a new repository or tag on the permission to deploy a staged connector as a preview.
    NewTag {
        /// The permission stays.
        KeepsPreview = "keeps-preview",
        /// The permission must be requested again.
        ResetsPreview = "resets-preview",
    }

    /// When the service reports an invalid repository, tag or `connect.yaml` (contract section 5.3, *likely too*).
    RepositoryCheck {
        /// When the repository is set.
        AtOnce = "at-once",
        /// In the reports of the preview request and of publishing.
        Later = "later",
    }

    /// Error code for an update while publishing runs (contract section 6.2).
    PublishingCode {
        /// `ConnectorStagedInCertification`.
        InCertification = "in-certification",
        /// `ConnectorStagedPreviewRequestUnderProcess`.
        PreviewRequest = "preview-request",
        /// `InvalidJsonInput`.
        Invalid = "invalid",
    }

    /// Which actions of an update of a staged connector take effect if one of them is refused (contract section 6).
    StagedUpdates {
        /// None.
        AllOrNothing = "all-or-nothing",
        /// Those before the refused one.
        OneByOne = "one-by-one",
    }

    /// Body of the 404 answer to a DELETE of a staged connector that does not exist (contract section 5.1).
    DeleteNotFound {
        /// An error with `ResourceNotFound`.
        Body = "body",
        /// No body.
        Empty = "empty",
    }
}

/// One choice for each point that the contract leaves open. The default is the most favourable reading for clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Variant {
    /// `read-lag=DURATION`: for this time after a change, reads and lists show the state before it.
    #[serde(with = "text")]
    pub read_lag: Duration,
    /// `redeploy-shows-old=DURATION`: the answer to a redeploy, and reads for this time, show the old status, build and
    /// report.
    #[serde(with = "text")]
    pub redeploy_shows_old: Duration,
    /// `first-status=deploying|queued`.
    pub first_status: FirstStatus,
    /// `new-details=build|empty`.
    pub new_details: NewDetails,
    /// `absent=omitted|null`.
    pub absent: Absent,
    /// `logs=served|400|404|410|500`.
    pub logs: Logs,
    /// `unknown-project=served|400|403|404`.
    pub unknown_project: UnknownProject,
    /// `versions=update|status`.
    pub versions: Versions,
    /// `build-ids=start|end|never`.
    pub build_ids: BuildIds,
    /// `values-show=start|end`.
    pub values_show: ValuesShow,
    /// `normalise=no|trim|defaults`.
    pub normalise: Normalise,
    /// `partial=merge|replace`.
    pub partial: Partial,
    /// `added-applications=accept|refuse`.
    pub added_applications: AddedApplications,
    /// `left-out-applications=absent|listed`.
    pub left_out_applications: LeftOutApplications,
    /// `retry-policies=shown|hidden`: retry policies of event applications.
    pub retry_policies: Shown,
    /// `urls-while-busy=shown|hidden`: URLs of applications during a redeploy.
    pub urls_while_busy: Shown,
    /// `key-held=DURATION`: for this time after a deployment or staged connector is gone, its key cannot be used again.
    #[serde(with = "text")]
    pub key_held: Duration,
    /// `delete-busy=accept|refuse`.
    pub delete_busy: DeleteBusy,
    /// `certification=automatic|by-hand`.
    pub certification: Certification,
    /// `certified-again=changed|never`.
    pub certified_again: CertifiedAgain,
    /// `new-tag=keeps-preview|resets-preview`.
    pub new_tag: NewTag,
    /// `repository-check=at-once|later`.
    pub repository_check: RepositoryCheck,
    /// `publishing-code=in-certification|preview-request|invalid`.
    pub publishing_code: PublishingCode,
    /// `staged-updates=all-or-nothing|one-by-one`.
    pub staged_updates: StagedUpdates,
    /// `delete-not-found=body|empty`.
    pub delete_not_found: DeleteNotFound,
}

/// Names and values of all choices.
pub const VARIANTS: &str = "read-lag=DURATION, redeploy-shows-old=DURATION, first-status=deploying|queued, \
     new-details=build|empty, absent=omitted|null, logs=served|400|404|410|500, unknown-project=served|400|403|404, versions=update|status, \
     build-ids=start|end|never, values-show=start|end, normalise=no|trim|defaults, partial=merge|replace, \
     added-applications=accept|refuse, left-out-applications=absent|listed, retry-policies=shown|hidden, \
     urls-while-busy=shown|hidden, key-held=DURATION, delete-busy=accept|refuse, certification=automatic|by-hand, \
     certified-again=changed|never, \
     new-tag=keeps-preview|resets-preview, repository-check=at-once|later, \
     publishing-code=in-certification|preview-request|invalid, staged-updates=all-or-nothing|one-by-one, \
     delete-not-found=body|empty";

impl Variant {
    /// Sets one choice, in the form `name=value`.
    ///
    /// # Errors
    /// If the name or the value is unknown; the error lists the known ones.
    pub fn set(&mut self, choice: &str) -> Result<(), String> {
        let wrong = || format!("`{choice}` is not a variant; use {VARIANTS}");
        let (name, value) = choice.split_once('=').ok_or_else(wrong)?;
        let mut all = serde_json::to_value(&*self).map_err(|_| wrong())?;
        all[camel_case(name)] = value.into();
        *self = serde_json::from_value(all).map_err(|_| wrong())?;
        Ok(())
    }
}

/// Returns the name of a member, such as `readLag` for `read-lag`.
fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    let mut begins = false;
    for letter in name.chars() {
        match letter {
            '-' => begins = true,
            letter if std::mem::take(&mut begins) => camel.push(letter.to_ascii_uppercase()),
            letter => camel.push(letter),
        }
    }
    camel
}

/// Parses a duration such as `500ms`, `5s`, `2m 30s` or `48h`.
///
/// # Errors
/// If the text is not a duration, or is negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write it like 500ms, 5s, 2m or 48h");
    let span: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(span).map_err(|_| wrong())
}

/// Serializes durations as text.
mod text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}ms", duration.as_millis()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::parse_duration(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_a_name_and_unknown_ones_are_rejected() {
        let mut variant = Variant::default();
        let choices = "read-lag=500ms redeploy-shows-old=2s first-status=queued new-details=empty absent=null logs=410 \
                       unknown-project=404 versions=status build-ids=never values-show=end normalise=trim \
                       partial=replace added-applications=refuse left-out-applications=listed retry-policies=hidden \
                       urls-while-busy=hidden key-held=1m delete-busy=refuse certification=by-hand \
                       certified-again=never new-tag=resets-preview repository-check=later publishing-code=invalid \
                       staged-updates=one-by-one delete-not-found=empty";
        for choice in choices.split(' ') {
            let before = variant.clone();
            variant.set(choice).expect(choice);
            assert_ne!(variant, before, "{choice} changes nothing");
        }
        let text = serde_json::to_string(&variant).expect("it is JSON");
        assert_eq!(serde_json::from_str::<Variant>(&text).expect("what was written is read"), variant);
        for wrong in ["versions", "versions=often", "colour=red", "read-lag=-1s", "read-lag=soon"] {
            assert!(variant.set(wrong).is_err(), "{wrong}");
        }
    }
}
