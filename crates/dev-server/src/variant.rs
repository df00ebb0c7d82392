//! What the contract leaves open, chosen (contract marks *unspecified*; design section 6).
//!
//! Values only; [`super::world`] acts on them. Each has a name for `--variant name=value`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Status in which a deployment begins, when it is created and when it is redeployed (contract section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstStatus {
    /// `Deploying`, as it was seen.
    #[default]
    Deploying,
    /// `Queued` for a fifth of the time, then `Deploying`.
    Queued,
}

/// What `details` of a new deployment hold until its first build ends (contract section 15.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewDetails {
    /// The build that runs.
    #[default]
    Build,
    /// Nothing.
    Empty,
}

/// How optional members without a value are shown (contract section 15.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// Not at all.
    #[default]
    Omitted,
    /// `key`, `documentationUrl`, `supportUrl`, `logoUrl`, and `message` of a report entry are null.
    Null,
}

/// What the two log endpoints do. They disappear after 2027-01-31, and what is answered then is unspecified (contract
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

/// What is answered for a project that the catalogue does not list, as for one without Connect: unspecified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownProject {
    /// It is served, and begins empty.
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

/// When `version` of a deployment grows (contract section 10).
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
    /// When it is accepted.
    #[default]
    Start,
    /// When it ends; a new deployment has no build until then.
    End,
    /// Not at all.
    Never,
}

/// When new plain values can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValuesShow {
    /// When the redeploy is accepted.
    #[default]
    Start,
    /// When it ends.
    End,
}

/// What becomes of plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Kept as sent.
    #[default]
    No,
    /// Blanks at both ends are cut.
    Trim,
    /// Variables that were not sent appear with their defaults.
    Defaults,
}

/// What a partial list of values in a redeploy does (contract section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// Values that were not sent stay.
    #[default]
    Merge,
    /// What is sent is all there is.
    Replace,
}

/// What becomes of an application that a newer version of a connector adds, and that the redeploy names which moves there
/// (contract section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddedApplications {
    /// The deployment gains it.
    #[default]
    Accept,
    /// `DeploymentApplicationDoNotBelong`.
    Refuse,
}

/// Whether a record lists applications that the create left out (contract section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutApplications {
    /// No.
    #[default]
    Absent,
    /// Yes, without values and without a URL.
    Listed,
}

/// Whether a record has a member that need not be there (contract section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// It has.
    #[default]
    Shown,
    /// It does not.
    Hidden,
}

/// What DELETE of a Queued, Deploying or Undeploying deployment does (contract section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteBusy {
    /// Breaks off what runs and undeploys.
    #[default]
    Accept,
    /// `DeploymentInvalidStatusTransition`.
    Refuse,
}

/// What becomes of a connector that is ready for certification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certification {
    /// It is certified after a while.
    #[default]
    Automatic,
    /// It waits until somebody says so.
    ByHand,
}

/// Whether a connector that is certified can go to certification again (contract section 6.2, `publish`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertifiedAgain {
    /// If it has changed since it was published.
    #[default]
    Changed,
    /// Never; what is published afterwards stays certified and public.
    Never,
}

impl CertifiedAgain {
    pub(super) fn is_never(self) -> bool {
        self == Self::Never
    }
}

/// What a new repository or tag does to the permission to deploy a staged connector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewTag {
    /// Nothing.
    #[default]
    KeepsPreview,
    /// It has to be asked for again.
    ResetsPreview,
}

/// When a repository, tag or `connect.yaml` that is wrong is told (contract section 5.3, *likely too*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepositoryCheck {
    /// When it is set.
    #[default]
    AtOnce,
    /// In the reports of previewing and publishing.
    Later,
}

/// Code of the refusal of an update while publishing runs (contract section 6.2).
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

/// What is left of an update of a staged connector after an action that is refused (contract section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StagedUpdates {
    /// Nothing.
    #[default]
    AllOrNothing,
    /// The actions before it.
    OneByOne,
}

/// What DELETE of a staged connector that is not there answers beside 404 (contract section 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeleteNotFound {
    /// `ResourceNotFound`.
    #[default]
    Body,
    /// No body.
    Empty,
}

/// One choice for each thing that the contract leaves open. The default is the friendliest reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Variant {
    /// `read-lag=DURATION`: for that long after a change, reads and lists show what was before it.
    #[serde(with = "text")]
    pub read_lag: Duration,
    /// `redeploy-shows-old=DURATION`: the answer to a redeploy, and reads for that long, show the old status, build
    /// and report.
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
    /// `key-held=DURATION`: a key can be used again that long after its deployment is gone.
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

/// Names of all choices and what they take.
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
    /// Sets one choice, written `name=value`.
    ///
    /// # Errors
    /// When the name or the value is not known; the text lists what is.
    pub fn set(&mut self, choice: &str) -> Result<(), String> {
        let wrong = || format!("`{choice}` is no variant; use {VARIANTS}");
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

/// A value of a choice, if it is one.
fn word<T: serde::de::DeserializeOwned>(value: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(value.to_owned())).ok()
}

/// Reads a span of time such as `500ms`, `5s`, `2m 30s` or `48h`.
///
/// # Errors
/// When it is none, or negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no span of time; write it like 500ms, 5s, 2m or 48h");
    let span: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(span).map_err(|_| wrong())
}

/// Spans of time as people write them.
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
    fn each_choice_has_a_name_and_wrong_ones_are_told_what_there_is() {
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
