//! Why a resource is as it is: one reason for each case, with the sentence that `docs/conditions.md` lists.
//!
//! Knows nothing of how a condition is written (`conditions.rs`) or when a reason holds (`status.rs` of each kind).

/// What a reason means for whoever waits (kstatus: `Reconciling` and `Stalled` exist only while true, never both).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionState {
    /// `Ready=True`.
    Ready,
    /// `Ready=Unknown`, `Reconciling=True`: something runs.
    Running,
    /// `Ready=False`, `Reconciling=True`: something is wrong that may come right by itself.
    Waiting,
    /// `Ready=False`, `Stalled=True`: a person has to act.
    Stalled,
    /// `Ready=False`, neither: a person wanted it so.
    Paused,
    /// `Ready=False`, neither: it does not work now, and is looked at again at its interval.
    Failing,
}

impl ConditionState {
    /// The word that it is counted by.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::Stalled => "Stalled",
            Self::Paused => "Paused",
            Self::Failing => "Failing",
        }
    }
}

macro_rules! reasons {
    ($($name:ident, $state:ident, $sentence:literal;)*) => {
        /// Reason of a condition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[allow(clippy::doc_markdown, reason = "the sentences are printed too")] #[doc = $sentence] $name,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word in the condition.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// The reason of this word; `None`: this version does not know it.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|reason| reason.as_str() == word).copied()
            }

            /// Whether a deployment ended badly, with or without something that goes on serving.
            #[must_use]
            pub fn is_failed(self) -> bool {
                matches!(self, Self::DeploymentFailed | Self::RedeployFailed)
            }

            /// What it means for whoever waits.
            #[must_use]
            pub fn state(self) -> ConditionState {
                match self { $(Self::$name => ConditionState::$state,)* }
            }

            /// What it means and what to do.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }
        }
    };
}

reasons! {
    Deployed, Ready, "The service reports `Deployed` for what is desired. That does not prove that the scripts of the connector worked: `spec.verify` does.";
    DeployedWithWarnings, Ready, "The service reports `Deployed` for what is desired, and its report has warnings or errors: read `status.report`.";
    Verified, Ready, "Every resource that `spec.verify` names exists and points to the deployment.";
    Observed, Ready, "The service reports `Deployed`; it is only observed (`managementPolicy: ObserveOnly`).";
    Published, Ready, "The connector is published as the spec asks for.";
    Previewable, Ready, "The staged connector is as the spec asks for, and may be deployed as a preview.";
    Staged, Ready, "The staged connector is as the spec asks for; it is neither to be previewed nor to be published.";
    Available, Ready, "The project answers with these credentials.";
    Mirrored, Ready, "Every connector of the registry that fits `spec.registry` has its Connector object.";
    RegistryCut, Ready, "More connectors fit `spec.registry` than `maxObjects`: the first ones by key are mirrored. Narrow the filter, or raise `maxObjects`.";
    Creating, Running, "The deployment is being created.";
    Redeploying, Running, "The deployment is being deployed again.";
    Undeploying, Running, "The deployment is being taken down.";
    Staging, Running, "The staged connector is being created.";
    Updating, Running, "Changes of the spec are being sent to the staged connector, or somebody else works on it.";
    PreviewRequested, Running, "The permission to deploy this tag as a preview was asked for.";
    Publishing, Running, "The connector is being published.";
    InCertification, Running, "The connector waits for certification, or is being certified: remarks are in `status.certificationComments`. Changes of the spec are sent meanwhile.";
    Deleting, Running, "The staged connector is being deleted.";
    Adopting, Running, "A deployment that exists is being taken over, once nothing has moved in it for a minute.";
    Queued, Running, "It waits for its turn at the remote project, or for the first look at it.";
    InUse, Running, "The ConnectProject is being deleted, and stays until no ConnectorDeployment and no ConnectorStaged names it: delete those that the message counts, or change their `spec.projectRef`.";
    NotChecked, Running, "What `spec.verify` names was not looked up yet since the deployment last changed, or cannot be read: the message says which. The operator goes on by itself.";
    Suspended, Paused, "A change waits because of `suspend: true`: set it to false to send it.";
    SecretMissing, Waiting, "A Secret or a key of it is missing: create it, and the operator goes on within seconds.";
    ConfigMapMissing, Waiting, "A ConfigMap or a key of it is missing: create it, and the operator goes on within seconds.";
    ProjectMissing, Waiting, "The ConnectProject that `spec.projectRef` names is missing: create it.";
    ProjectNotReady, Waiting, "The ConnectProject cannot be used: see its own conditions.";
    CredentialsNotKept, Waiting, "The copy of the credentials cannot be kept, with which deployments are taken down when the namespace is deleted: give the operator the rights that the message names. Everything else goes on.";
    ServiceUnavailable, Waiting, "The Connect API does not answer, or answers that it is broken: the operator tries again with growing pauses.";
    Throttled, Waiting, "The Connect API asked for a pause: the operator goes on after it.";
    TakesTooLong, Waiting, "The deployment did not end within 30 minutes, or stays in `Draft`: the operator goes on looking. Look at it in the Merchant Center, or ask for a redeploy.";
    UndeployFailed, Waiting, "Taking the deployment down did not work: it is tried again with growing pauses. To let it go, set `deletionPolicy: Orphan`.";
    ManagedElsewhere, Waiting, "Another install of the operator, which the message names, has claimed this resource (`status.controller`), lives, and would work on it: this one leaves it alone. Said in an Event and in the log only; the status stays that of the other install. Let their `--selector` and `--watch-namespaces` not overlap, or change the labels of the resource.";
    InternalError, Waiting, "The operator cannot go on: the message says why. Look at its logs.";
    KubernetesError, Waiting, "The Kubernetes API server refused a request of the operator: the message names it and says why. Grant the right, or change the policy, quota or webhook: the operator tries again with growing pauses of 5 minutes at most.";
    DeclarationsUnknown, Waiting, "The registry does not say which applications the connector declares. A create has to name each of them, and so has a redeploy that moves to another version, so nothing is sent: the registry is asked again every minute. If it stays so, see whether the API client has view_connectors.";
    WaitingForApplicationUrl, Waiting, "The deployment is live with placeholders in place of URLs of its own applications (`valueFrom.applicationUrl`), because it does not show these URLs; the message names them. Once they show, one redeploy sends them. An application that never gets a URL has to be replaced by another one in the spec, or by a value.";
    ApplicationMissing, Stalled, "The deployment is live without some of the applications that its connector declares; the message names them. It was created without them, and no redeploy can add them: delete this resource and create it anew. Its URLs change then.";
    ValuesNotApplied, Stalled, "The deployment is live, but shows other plain values than those that were sent; the message names their keys. They are not sent again by themselves: compare them with what the Merchant Center shows, then change them or ask for a redeploy. Values that others may change belong into `drift.ignore`.";
    NotVerified, Failing, "The service reports `Deployed`, but what `spec.verify` names is not there or does not point to the deployment: the condition `Verified` says which. The operator looks it up again, at the interval at the latest, and sends nothing. Read the logs of the `postDeploy` script.";
    NotFound, Failing, "A resource that `spec.verify` names does not exist: the script that creates it did not run, or did not work.";
    WrongDestination, Failing, "A resource that `spec.verify` names points elsewhere, such as to a deployment that was replaced: run the script again with the annotation that asks for a redeploy.";
    WarningsReported, Stalled, "The service reports `Deployed`, but the report has warnings or errors, and `spec.readyWhen` is `NoWarnings`: read `status.report`, correct what it names, or ask for a redeploy.";
    DeploymentFailed, Stalled, "Deploying did not work: read `status.report`, change the value that it names, or ask for a redeploy.";
    RedeployFailed, Stalled, "The last redeploy did not work, and what was deployed before it goes on serving, so this is no outage: read `status.report`, change the value that it names, or ask for a redeploy.";
    PublishingFailed, Stalled, "Publishing did not work: read `status.publishingReport`, put right what it names, and name another tag, or ask for another attempt with the annotation that asks for a redeploy.";
    PreviewRefused, Stalled, "The permission to deploy this tag as a preview was not given: read `status.previewableReport`, and name another tag, or ask for it once more with the annotation that asks for a redeploy.";
    RepositoryInvalid, Stalled, "The repository cannot be reached, has no such tag, or its connect.yaml is missing or wrong: the message says which. It is tried again after ten minutes and more.";
    CannotBeChanged, Stalled, "The spec asks for something that no update can change: the message says what. Set it back, or create another connector.";
    ConfigurationInvalid, Stalled, "A value or a name cannot be used: the message says which and why.";
    RequestRejected, Stalled, "The Connect API refused the request: the message says why.";
    KeyTaken, Stalled, "A deployment or a staged connector of this key exists and was not made by this resource: choose another key, or set `adoptionPolicy: Adopt` to take it over.";
    KeyConflict, Stalled, "Another resource of this kind, which the message names, has this key in the same remote project: delete one of the two, or create one of them anew with another `spec.key`. The operator then goes on by itself.";
    TooManyProjects, Stalled, "The operator works with a bounded number of ConnectProjects, in each namespace and in all, and older ones use it up: the message says which bound. No call is made for this one. Delete a project that is not needed, or raise `--max-projects-per-namespace` or `--max-projects` of the operator. It then goes on by itself.";
    IdentityChanged, Stalled, "The ConnectProject names another API or project than the one in which this was created: set it back, or delete this resource with `deletionPolicy: Orphan`.";
    RemoteDisappeared, Stalled, "It was deleted elsewhere: delete and create this resource, or, for a deployment, set `drift.policy: Correct` to have it created again.";
    PermissionMissing, Stalled, "The API client lacks a scope: the message names it and what it is needed for. Deploying takes manage_connectors_deployments and view_connectors, or manage_project. Scopes of an API client cannot be changed: create another one, and change the Secret. The operator then goes on by itself.";
    ProjectNotFound, Stalled, "The service has no project of this key in this region, or Connect is not enabled for it: create a ConnectProject with the right `projectKey` and `region`, or have Connect enabled. It is asked again every 5 minutes.";
    CredentialsRejected, Stalled, "The client id or secret was refused: put right the Secret that the ConnectProject names.";
    ConnectorNotFound, Stalled, "There is no such connector, or not in that version, or not for this project: correct `spec.connector`.";
    ConnectorVersionUnavailable, Stalled, "The service only deploys the latest version of the connector, which is another one than `spec.connector.version`: name the latest.";
    ConnectorVersionMismatch, Stalled, "Another version of the connector runs than `spec.connector.version`, and no redeploy can change that: name the running one, or delete and create this resource.";
    StagedNotReady, Waiting, "The ConnectorStaged that `connector.stagedRef` names is missing, or may not be deployed yet: the message says why. It goes on by itself.";
    AwaitingProof, Waiting, "The tag is not published yet, because something that `spec.publishAfter` names is not proven: the message says what. It goes on by itself.";
    CheckPassed, Ready, "The action answered as expected.";
    Checking, Running, "The action is being called.";
    DeploymentNotReady, Waiting, "The ConnectorDeployment that `spec.after` names is missing or not Ready: the action is called once it is.";
    FrontendUnavailable, Waiting, "The frontend cannot be reached, and nothing was sent: it is tried again every minute.";
    CheckFailing, Failing, "The action did not answer as expected; the message says how. It is called again at the interval.";
    RegistryReadInPart, Failing, "The registry could not be read as a whole, so nothing is removed; what was read is mirrored. It is read again at the interval. If it stays so, narrow `spec.registry`.";
    CheckFailed, Stalled, "The action did not answer as expected, and a POST or PUT is not repeated: put right what the message says, then ask for a rerun with the annotation `rerun-requested-at`, change the spec, or have the deployment of `spec.after` applied anew.";
    AnswerLost, Stalled, "The call may have been sent, and the operator ended before it knew the answer: look what came of it, then ask for a rerun with the annotation `rerun-requested-at`, or change the spec, to send it once more.";
    ExpectInvalid, Stalled, "An assertion of `spec.expect` cannot be used: the message names it and says why. Nothing was sent.";
    HostNotAllowed, Stalled, "The operator does not call this host: correct `spec.frontend`, or have the host added to `--allowed-action-hosts`.";
    OutputConflict, Stalled, "The ConfigMap of `spec.outputs` exists and is not ours: choose another name, or delete it.";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
