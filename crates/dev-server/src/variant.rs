//! Choices for what the contract leaves open (marked *unspecified* there; design section 6).
//!
//! This module only defines the values; [`super::world`] implements them. Each has a name for `--variant name=value`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// First status of a deployment after a create or a redeploy (contract section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstStatus {
    /// `Deploying`, as observed.
    #[default]
    Deploying,
    /// `Queued` for a fifth of the deploy duration, then `Deploying`.
    Queued,
}

/// Content of `details` of a new deployment until its first build ends (contract section 15.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewDetails {
    /// The running build.
    #[default]
    Build,
    /// No build.
    Empty,
}

/// How answers show optional members without a value (contract section 15.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// They are left out.
    #[default]
    Omitted,
    /// `key`, `documentationUrl`, `supportUrl`, `logoUrl`, and `message` of a report entry are null.
    Null,
}

/// Behaviour of the two log endpoints. They disappear after 2027-01-31; the answer after that is unspecified (contract
/// section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Logs {
    /// They serve logs.
    #[default]
    #[serde(rename = "served")]
    Served,
    /// They answer 400.
    #[serde(rename = "400")]
    BadRequest,
    /// They answer 404.
    #[serde(rename = "404")]
    NotFound,
    /// They answer 410.
    #[serde(rename = "410")]
    Gone,
    /// They answer 500.
    #[serde(rename = "500")]
    Broken,
}

/// Answer for a project that the catalogue does not list, such as one without Connect: unspecified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownProject {
    /// The project is served, and is empty at first.
    #[default]
    #[serde(rename = "served")]
    Served,
    /// 400 with `InvalidPathParam`.
    #[serde(rename = "400")]
    Invalid,
    /// 403 with `AuthorizationError`.
    #[serde(rename = "403")]
    Forbidden,
    /// 404 with `ResourceNotFound`.
    #[serde(rename = "404")]
    NotFound,
}

/// When `version` of a deployment or staged connector increases (contract section 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Versions {
    /// With each accepted update and delete.
    #[default]
    Update,
    /// Also with each change of the status.
    Status,
}

/// When a redeploy changes `details.build.id` (contract section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuildIds {
    /// When the redeploy is accepted.
    #[default]
    Start,
    /// When the redeploy ends; a new deployment has no build until its first build ends.
    End,
    /// Never.
    Never,
}

/// When reads show new plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValuesShow {
    /// When the redeploy is accepted.
    #[default]
    Start,
    /// When the redeploy ends.
    End,
}

/// How the service changes plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Values are stored as sent.
    #[default]
    No,
    /// Whitespace at both ends is removed.
    Trim,
    /// Variables that were not sent get their defaults.
    Defaults,
}

/// Effect of a partial list of values in a redeploy (contract section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// Values that were not sent are kept.
    #[default]
    Merge,
    /// Values that were not sent are removed.
    Replace,
}

/// Effect of a redeploy with `updateConnector` that names an application which the newer version adds (contract section
/// 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddedApplications {
    /// The application is added to the deployment.
    #[default]
    Accept,
    /// The redeploy is refused with `DeploymentApplicationDoNotBelong`.
    Refuse,
}

/// Whether a deployment lists applications that the create left out (contract section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutApplications {
    /// They are not listed.
    #[default]
    Absent,
    /// They are listed without values and without a URL.
    Listed,
}

/// Whether a deployment shows an optional member (contract section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The member is shown.
    #[default]
    Shown,
    /// The member is left out.
    Hidden,
}

/// Effect of a DELETE of a `Queued`, `Deploying` or `Undeploying` deployment (contract section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteBusy {
    /// Aborts what runs and undeploys.
    #[default]
    Accept,
    /// Refuses with `DeploymentInvalidStatusTransition`.
    Refuse,
}

/// How a connector that is ready for certification is certified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certification {
    /// After a delay, without interaction.
    #[default]
    Automatic,
    /// When `/_dev` or a test finishes the certification.
    ByHand,
}

/// Whether a certified connector can be certified again (contract section 6.2, `publish`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertifiedAgain {
    /// If it changed since it was published.
    #[default]
    Changed,
    /// Never; versions that are published later stay certified and public.
    Never,
}

impl CertifiedAgain {
    pub(super) fn is_never(self) -> bool {
        self == Self::Never
    }
}

/// Effect of a new repository or tag on the permission to deploy a staged connector as a preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewTag {
    /// The permission stays.
    #[default]
    KeepsPreview,
    /// The permission must be requested again.
    ResetsPreview,
}

/// When the service reports an invalid repository, tag or `connect.yaml` (contract section 5.3, *likely too*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepositoryCheck {
    /// When the repository is set.
    #[default]
    AtOnce,
    /// In the reports of the preview request and of publishing.
    Later,
}

/// Error code for an update while publishing runs (contract section 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishingCode {
    /// `ConnectorStagedInCertification`.
    #[default]
    InCertification,
    /// `ConnectorStagedPreviewRequestUnderProcess`.
    PreviewRequest,
    /// `InvalidJsonInput`.
    Invalid,
}

/// Which actions of an update of a staged connector take effect if one of them is refused (contract section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StagedUpdates {
    /// None.
    #[default]
    AllOrNothing,
    /// Those before the refused one.
    OneByOne,
}

/// Body of the 404 answer to a DELETE of a staged connector that does not exist (contract section 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteNotFound {
    /// An error with `ResourceNotFound`.
    #[default]
    Body,
    /// No body.
    Empty,
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
        match name {
            "read-lag" => self.read_lag = parse_duration(value)?,
            "redeploy-shows-old" => self.redeploy_shows_old = parse_duration(value)?,
            "key-held" => self.key_held = parse_duration(value)?,
            "first-status" => self.first_status = word(value).ok_or_else(wrong)?,
            "new-details" => self.new_details = word(value).ok_or_else(wrong)?,
            "absent" => self.absent = word(value).ok_or_else(wrong)?,
            "logs" => self.logs = word(value).ok_or_else(wrong)?,
            "unknown-project" => self.unknown_project = word(value).ok_or_else(wrong)?,
            "versions" => self.versions = word(value).ok_or_else(wrong)?,
            "build-ids" => self.build_ids = word(value).ok_or_else(wrong)?,
            "values-show" => self.values_show = word(value).ok_or_else(wrong)?,
            "normalise" => self.normalise = word(value).ok_or_else(wrong)?,
            "partial" => self.partial = word(value).ok_or_else(wrong)?,
            "added-applications" => self.added_applications = word(value).ok_or_else(wrong)?,
            "left-out-applications" => self.left_out_applications = word(value).ok_or_else(wrong)?,
            "retry-policies" => self.retry_policies = word(value).ok_or_else(wrong)?,
            "urls-while-busy" => self.urls_while_busy = word(value).ok_or_else(wrong)?,
            "delete-busy" => self.delete_busy = word(value).ok_or_else(wrong)?,
            "certification" => self.certification = word(value).ok_or_else(wrong)?,
            "certified-again" => self.certified_again = word(value).ok_or_else(wrong)?,
            "new-tag" => self.new_tag = word(value).ok_or_else(wrong)?,
            "repository-check" => self.repository_check = word(value).ok_or_else(wrong)?,
            "publishing-code" => self.publishing_code = word(value).ok_or_else(wrong)?,
            "staged-updates" => self.staged_updates = word(value).ok_or_else(wrong)?,
            "delete-not-found" => self.delete_not_found = word(value).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

/// Parses the value of a choice; `None` if it is unknown.
fn word<T: serde::de::DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(value.to_owned())).ok()
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
        for choice in [
            "read-lag=500ms",
            "redeploy-shows-old=2s",
            "first-status=queued",
            "new-details=empty",
            "absent=null",
            "logs=410",
            "unknown-project=404",
            "versions=status",
            "build-ids=never",
            "values-show=end",
            "normalise=trim",
            "partial=replace",
            "added-applications=refuse",
            "left-out-applications=listed",
            "retry-policies=hidden",
            "urls-while-busy=hidden",
            "key-held=1m",
            "delete-busy=refuse",
            "certification=by-hand",
            "certified-again=never",
            "new-tag=resets-preview",
            "repository-check=later",
            "publishing-code=invalid",
            "staged-updates=one-by-one",
            "delete-not-found=empty",
        ] {
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
