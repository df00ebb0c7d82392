//! The reasons of conditions, each with the sentence that begins its section of `docs/troubleshooting.md`.
//!
//! This module does not know how a condition is written (`conditions.rs`) or when a reason applies (`status.rs` of each
//! kind).

/// The conditions that a reason implies (kstatus: `Reconciling` and `Stalled` exist only while true, never both).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionState {
    /// `Ready=True`.
    Ready,
    /// `Ready=Unknown`, `Reconciling=True`: an operation is in progress.
    Progressing,
    /// `Ready=False`, `Reconciling=True`: a problem that may resolve itself.
    Waiting,
    /// `Ready=False`, `Stalled=True`: a user must act.
    Stalled,
    /// `Ready=False`, neither: paused at the request of a user.
    Paused,
    /// `Ready=False`, neither: it does not work now, and is checked again at its interval.
    Failing,
}

impl ConditionState {
    /// Returns the value of the metric label `state`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
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

            /// Returns the `reason` of the condition.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Reasons that say how the operator works inside, so that a later version may report another one instead. All
            /// others are stable.
            pub const UNSTABLE: &'static [Self] =
                &[Self::Queued, Self::NotChecked, Self::CredentialsNotKept, Self::InternalError, Self::DeclarationsUnknown];

            /// Parses the `reason` of a condition. Returns `None` if this version does not know it.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|reason| reason.as_str() == word).copied()
            }

            /// Returns whether the last deployment failed, even if the code deployed before keeps serving.
            pub fn is_failed(self) -> bool {
                matches!(self, Self::DeploymentFailed | Self::RedeployFailed)
            }

            /// Returns the conditions that this reason implies.
            pub fn state(self) -> ConditionState {
                match self { $(Self::$name => ConditionState::$state,)* }
            }

            /// Returns the meaning of the reason, and what to do about it.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }
        }
    };
}

reasons! {
    Deployed, Ready, "The service reports `Deployed` for the desired state. `spec.verify` checks whether the connector's scripts worked.";
    DeployedWithWarnings, Ready, "The service reports `Deployed` for the desired state, and its report contains warnings or errors: read `status.report`.";
    Verified, Ready, "Every resource in `spec.verify` exists and points to the deployment.";
    Observed, Ready, "The service reports `Deployed`. The operator only observes the deployment (`managementPolicy: ObserveOnly`).";
    Published, Ready, "The published connector matches the spec.";
    Previewable, Ready, "The staged connector matches the spec and may be deployed as a preview.";
    Staged, Ready, "The staged connector matches the spec, which asks neither for a preview nor for publishing.";
    Available, Ready, "The project can be used with these credentials.";
    Creating, Progressing, "The deployment is being created.";
    Redeploying, Progressing, "The deployment is being redeployed.";
    Undeploying, Progressing, "The deployment is being undeployed.";
    Staging, Progressing, "The staged connector is being created.";
    Updating, Progressing, "The operator is sending changes of the spec, or waits until the connector is no longer busy.";
    PreviewRequested, Progressing, "The operator has requested the permission to deploy this tag as a preview.";
    Publishing, Progressing, "The connector is being published.";
    InCertification, Progressing, "The connector waits for certification or is being certified: comments are in `status.certificationComments`. The operator still sends changes of the spec.";
    Deleting, Progressing, "The staged connector is being deleted.";
    Adopting, Progressing, "The operator adopts an existing deployment once it has not changed for a minute.";
    Queued, Progressing, "The resource waits for its turn at the remote project, or for the first read of the remote.";
    InUse, Progressing, "The project is being deleted, and stays until no ConnectorDeployment and no ConnectorStaged refers to it: delete those that the message counts, or change their `spec.projectRef`.";
    NotChecked, Progressing, "The resources in `spec.verify` were not looked up since the deployment last changed, or cannot be read: see the message. The operator retries by itself.";
    Suspended, Paused, "Nothing is sent because `suspend` is true, not even when the resource is deleted: set it to false to go on. To delete the resource and keep what it deployed, set `deletionPolicy: Orphan`.";
    SecretMissing, Waiting, "A Secret, or a key in it, does not exist: create it, and the operator continues within seconds.";
    ConfigMapMissing, Waiting, "A ConfigMap, or a key in it, does not exist: create it, and the operator continues within seconds.";
    ProjectMissing, Waiting, "The project in `spec.projectRef` does not exist: create it, or correct the kind and name of the reference.";
    ProjectNotAllowed, Stalled, "The namespace may not use the ClusterConnectProject in `spec.projectRef`, or this install does not support the kind: see the message. Nothing is sent, even if the resource is deleted. Have the namespace allowed in `spec.allowedNamespaces` of the project, and the operator continues within seconds; to delete the resource and keep what it deployed, set `deletionPolicy: Orphan`.";
    ProjectNotReady, Waiting, "The project in `spec.projectRef` cannot be used: see its own conditions.";
    CredentialsNotKept, Waiting, "The operator cannot keep the copy of the credentials with which it deletes deployments when the namespace is deleted: grant the rights that the message names. Everything else continues.";
    ServiceUnavailable, Waiting, "The Connect API does not respond, reports an internal error, or misses a deployment that it had: the operator retries with exponential backoff.";
    Throttled, Waiting, "The Connect API asked for a pause: the operator continues after it.";
    TakesTooLong, Waiting, "The operation did not end within 30 minutes, or the deployment stays in `Draft`: the operator keeps polling. Check the deployment in the Merchant Center, or request a redeploy.";
    UndeployFailed, Waiting, "Undeploying failed: the operator retries with exponential backoff. To delete this resource and keep the deployment, set `deletionPolicy: Orphan`.";
    InternalError, Waiting, "The operator cannot continue: see the message. Check its logs.";
    KubernetesError, Waiting, "The Kubernetes API server refused a request of the operator: the message names the request and the reason. Grant the right, or change the policy, quota or webhook: the operator retries with exponential backoff, every 5 minutes at the latest.";
    DeclarationsUnknown, Waiting, "The registry does not report which applications and keys the connector declares, so nothing is sent: the operator reads the registry again every minute. If this persists, check whether the API client has view_connectors.";
    WaitingForApplicationUrl, Waiting, "The deployment is live with placeholders (`valueFrom.applicationUrl`), because it does not show the URLs of the applications that the message names. Once it shows them, one redeploy sends them. If an application never gets a URL, name another application in the spec, or give a value.";
    ApplicationMissing, Stalled, "The deployment is live without some of the applications that its connector declares; the message names them. It was created without them, and no redeploy can add them: delete this resource and create it again. Its URLs change then.";
    ValuesNotApplied, Stalled, "The deployment is live, but shows other plain values than those that were sent; the message names their keys. The operator does not send them again by itself: compare them with those in the Merchant Center, then change them or request a redeploy.";
    NotVerified, Failing, "A resource in `spec.verify` does not exist or does not point to the deployment: the condition `Verified` names it. The operator looks it up again, at the interval at the latest, and sends nothing. Read the logs of the `postDeploy` script.";
    NotFound, Failing, "A resource in `spec.verify` does not exist: the script that creates it did not run, or failed.";
    WrongDestination, Failing, "A resource in `spec.verify` points elsewhere, for example to a deployment that was replaced: run the script again with `connect-operator redeploy`.";
    WarningsReported, Stalled, "The report contains warnings or errors, and `spec.readyWhen` has `NoWarnings`: read `status.report`, correct what it names, or request a redeploy.";
    DeploymentFailed, Stalled, "Deploying failed: read `status.report`, change the value that it names, or request a redeploy.";
    RedeployFailed, Stalled, "The last redeploy failed. The code that was deployed before keeps serving, so this is no outage: read `status.report`, change the value that it names, or request a redeploy.";
    PublishingFailed, Stalled, "Publishing failed: read `status.publishingReport`, correct what it names, and name another tag, or request another attempt with `connect-operator redeploy`.";
    PreviewRefused, Stalled, "The service refused the permission to deploy this tag as a preview: read `status.previewReport`, and name another tag, or request the permission again with `connect-operator redeploy`.";
    RepositoryInvalid, Stalled, "The repository cannot be reached, has no such tag, or its connect.yaml is missing or invalid: see the message. The operator retries after ten minutes at the earliest, or at once if you change the spec or request a redeploy.";
    CannotBeChanged, Stalled, "The spec asks for a change that no update can make: the message names it. Revert it, or create another connector.";
    ConfigurationInvalid, Stalled, "A value or a name is invalid: correct what the message names. The operator then continues by itself.";
    RequestRejected, Stalled, "The Connect API refused the request: see the message.";
    KeyTaken, Stalled, "A deployment or staged connector with this key exists, and this resource did not create it: choose another key, or set `adoptionPolicy: Adopt` to manage it from now on.";
    KeyConflict, Stalled, "Another resource of this kind, which the message names, has this key in the same remote project. If this one is to take its place, as after a rename, set `deletionPolicy: Orphan` on the other one and `adoptionPolicy: Adopt` on this one, then delete the other one: while its policy is `Delete`, that deletes what it deployed. If both are to exist, create this one again with another `spec.key`. The operator then continues by itself.";
    IdentityChanged, Stalled, "The ConnectProject names another API or project than the one in which the remote object was created: revert it, or delete this resource with `deletionPolicy: Orphan`.";
    RemoteDisappeared, Stalled, "The remote object was deleted outside of this resource: delete and create this resource, or, for a deployment, set `driftPolicy: Correct` to have it created again.";
    PermissionMissing, Stalled, "The API client lacks a scope: the message names it and what requires it. Deploying requires manage_connectors_deployments and view_connectors, or manage_project; a connector whose API client is generated also requires manage_api_clients, which manage_project does not include. The scopes of an API client cannot be changed: create another one, and change the Secret. The operator then continues by itself.";
    ProjectNotFound, Stalled, "The service has no project with this key in this region, or Connect is not enabled for it: create a ConnectProject with the right `projectKey` and `region`, or have Connect enabled. The operator checks again every 5 minutes.";
    CredentialsRejected, Stalled, "The client id or secret was refused: correct the Secret that the ConnectProject names.";
    ConnectorNotFound, Stalled, "The connector does not exist, not in that version, or not for this project: correct `spec.connector`.";
    ConnectorVersionUnavailable, Stalled, "The service deploys only the latest version of the connector, which is not `spec.connector.version`: name the latest.";
    ConnectorVersionMismatch, Stalled, "The running version of the connector is not the one that was asked for or followed, and no redeploy is known to change that: name the running version. Other changes are sent. A new deployment always runs the latest one.";
    StagedNotReady, Waiting, "The ConnectorStaged in `connector.stagedRef` does not exist, or may not be deployed yet: see the message. The operator then continues by itself.";
    AwaitingProof, Waiting, "The tag is not published yet, because a requirement in `spec.publishAfter` is not met: the message names it. The operator publishes it once all are met.";
    CheckPassed, Ready, "The action responded as expected.";
    Checking, Progressing, "The action is being called.";
    DeploymentNotReady, Waiting, "The ConnectorDeployment in `spec.deploymentRef` does not exist or is not Ready: the operator calls the action once it is.";
    FrontendUnavailable, Waiting, "The frontend cannot be reached, and nothing was sent: the operator retries every minute.";
    CheckFailing, Failing, "The response of the action is not as expected: see the message. The operator calls it again at the interval.";
    CheckFailed, Stalled, "The response of the action is not as expected, and the operator does not repeat a POST or PUT: correct what the message names, then request a rerun with `connect-operator rerun`, change the spec, or have the deployment in `spec.deploymentRef` applied again.";
    AnswerLost, Stalled, "The call may have been sent, and the operator ended before it received the response: check the effect of the call, then request a rerun with `connect-operator rerun`, or change the spec, to send it once more.";
    HostNotAllowed, Stalled, "The operator may not call this host: correct `spec.frontend`, or have the host added to `--allowed-action-hosts`.";
    OutputConflict, Stalled, "The ConfigMap of `spec.outputs` exists and belongs to somebody else: choose another name, or delete it.";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
