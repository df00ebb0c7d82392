//! Strings that leave the process, each defined once: users' manifests, dashboards and scripts depend on them.

/// API group of every kind.
pub const GROUP: &str = "connect-operator.io";
/// What the names of the operator's annotations begin with.
pub const PREFIX: &str = "connect-operator.io/";
/// Path of the OpenAPI documents of the group, one for each version (Kubernetes API, "OpenAPI V3").
pub const OPENAPI_PATH: &str = "/openapi/v3/apis/connect-operator.io";
/// Field manager of every write to the cluster.
pub const FIELD_MANAGER: &str = "connect-operator";
/// Field manager of the changes that a user makes with a command.
pub const COMMAND_FIELD_MANAGER: &str = "connect-operator-cli";
/// Name under which Events are reported.
pub const EVENT_REPORTER: &str = "connect-operator";

/// Name of the executable that kubectl runs as `kubectl connect` (kubectl, plugins).
pub const KUBECTL_PLUGIN: &str = "kubectl-connect";

/// Finalizer of a `ConnectorDeployment`: the operator undeploys the remote deployment before the object is deleted.
pub const FINALIZER: &str = "connect-operator.io/finalizer";
/// Annotation with the id of the remote deployment, so that the operator finds it again after a restore from backup.
pub const REMOTE_ID: &str = "connect-operator.io/remote-id";
/// Annotation that users set: any new value redeploys once.
pub const REDEPLOY_REQUESTED_AT: &str = "connect-operator.io/redeploy-requested-at";
/// Annotation that users set: any new value repeats a failed or refused step of a `ConnectorStaged`.
pub const RETRY_REQUESTED_AT: &str = "connect-operator.io/retry-requested-at";
/// Annotation that users set: any new value makes the operator read the remote now.
pub const RECONCILE_REQUESTED_AT: &str = "connect-operator.io/reconcile-requested-at";
/// Annotation that users set: any new value calls the action of an `ActionCheck` once more.
pub const RERUN_REQUESTED_AT: &str = "connect-operator.io/rerun-requested-at";
/// The annotations that request something.
pub const REQUESTS: [&str; 4] = [RECONCILE_REQUESTED_AT, REDEPLOY_REQUESTED_AT, RETRY_REQUESTED_AT, RERUN_REQUESTED_AT];

/// Default of `--allowed-action-hosts`: the hosts of frontends (contract section 11).
pub const DEFAULT_ACTION_HOSTS: &str =
    "*.frontastic.live,*.frontastic.io,*.frontastic.rocks,*.service.live,*.service.io,*.service.rocks";

/// Default name of the Lease of an install. The replica that holds it leads.
pub const LEASE: &str = "connect-operator";

/// Condition: the deployment is live with the desired state.
pub const READY: &str = "Ready";
/// Condition of a deployment: some version of it serves, also while another one is being deployed.
pub const AVAILABLE: &str = "Available";
/// Condition, present only while true: an operation is in progress, or what is missing may appear without a user's
/// action.
pub const RECONCILING: &str = "Reconciling";
/// Condition, present only while true: a user has to act.
pub const STALLED: &str = "Stalled";
/// Condition: visible values were changed outside the operator.
pub const DRIFTED: &str = "Drifted";
/// Condition: the registry has a newer version of the connector (rule 15).
pub const UPDATE_AVAILABLE: &str = "UpdateAvailable";
/// Condition: the deployment still has values that the spec no longer names.
pub const VALUES_RETAINED: &str = "ValuesRetained";
/// Condition: the remote has secured values of which the operator has no record that it sent them.
pub const SECRETS_UNVERIFIED: &str = "SecretsUnverified";
/// Condition of a deployment with `spec.verify`: the object that it names exists and points to the deployment.
pub const VERIFIED: &str = "Verified";
/// Condition: `spec.suspend` is set.
pub const SUSPENDED: &str = "Suspended";
/// Types of the conditions that the operator writes. It keeps every other condition, which belongs to another writer.
pub const CONDITIONS: &[&str] = &[
    READY,
    AVAILABLE,
    RECONCILING,
    STALLED,
    DRIFTED,
    UPDATE_AVAILABLE,
    VALUES_RETAINED,
    SECRETS_UNVERIFIED,
    VERIFIED,
    SUSPENDED,
];

/// Default name of the Secret in the operator's namespace with the key of the digests.
pub const DIGEST_KEY_SECRET: &str = "connect-operator-digest-key";
/// Key of the client id in the Secret that `spec.credentialsSecretRef` names.
pub const CLIENT_ID: &str = "clientId";
/// Key of the client secret in that Secret.
pub const CLIENT_SECRET: &str = "clientSecret";

/// Label with which users allow a Secret to be used, where the operator requires it (`--require-secret-label`).
pub const SECRET_USE: &str = "connect-operator.io/use";
/// Value of the label [`SECRET_USE`].
pub const SECRET_USE_VALUE: &str = "true";

/// Finalizer of a `ConnectProject`: the project stays while a `ConnectorDeployment` names it (rule 24).
pub const PROJECT_FINALIZER: &str = "connect-operator.io/in-use";
/// Prefix of the name of a copy of a project's credentials; the uid of the project follows.
pub const CREDENTIALS_COPY: &str = "connect-project-";
/// Type of a Secret that is such a copy.
pub const CREDENTIALS_COPY_TYPE: &str = "connect-operator.io/project-credentials";
/// Label of such a copy: the namespace of the project.
pub const PROJECT_NAMESPACE: &str = "connect-operator.io/project-namespace";
/// Annotation of such a copy: the name of the project, which may be longer than a label.
pub const PROJECT_NAME: &str = "connect-operator.io/project-name";
/// Label that names the creator of an object; its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label of the objects of the chart and of the operator: the name of the program.
pub const APP_NAME: &str = "app.kubernetes.io/name";
/// Label of what an install creates: its namespace and its Lease, separated by a dot. The name of a release would be that of
/// its application in Argo CD, which may delete what has this label and is not in Git (Argo CD, resource tracking).
pub const APP_INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of the chart's objects: the version of the program.
pub const APP_VERSION: &str = "app.kubernetes.io/version";
