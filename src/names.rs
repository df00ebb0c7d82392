//! Strings that leave the process, each once: people's manifests, dashboards and scripts depend on them.

/// API group of every kind.
pub const GROUP: &str = "connect-operator.io";
/// API version of every kind.
pub const VERSION: &str = "v1alpha1";
/// Field manager of every write to the cluster.
pub const FIELD_MANAGER: &str = "connect-operator";
/// Name under which Events are reported.
pub const EVENT_REPORTER: &str = "connect-operator";
/// Category of every kind (`kubectl get connect`).
pub const CATEGORY: &str = "connect";

/// Variable with which a shell asks for completions; its value is the name of the shell.
pub const COMPLETE: &str = "CONNECT_OPERATOR_COMPLETE";
/// Name that kubectl calls to complete the plugin `kubectl connect` (kubectl, plugin completion).
pub const KUBECTL_COMPLETE: &str = "kubectl_complete-connect";

/// Finalizer of a `ConnectorDeployment`: the remote deployment is taken down first.
pub const FINALIZER: &str = "connect-operator.io/undeploy";
/// Annotation that holds the id of the remote deployment, so that a restored backup finds it again.
pub const REMOTE_ID: &str = "connect-operator.io/remote-id";
/// Annotation of people: any new value redeploys once.
pub const REDEPLOY_REQUESTED_AT: &str = "connect-operator.io/redeploy-requested-at";
/// Annotation of people: any new value looks at the remote now.
pub const RECONCILE_REQUESTED_AT: &str = "connect-operator.io/reconcile-requested-at";
/// Annotation of people: any new value calls the action of an `ActionCheck` once more.
pub const RERUN_REQUESTED_AT: &str = "connect-operator.io/rerun-requested-at";

/// Lease of an install, unless another is named: of its replicas one holds it, and leads.
pub const LEASE: &str = "connect-operator";
/// Annotation of that Lease: the namespaces that its install watches, separated by commas; empty or absent: all.
pub const WATCH_NAMESPACES: &str = "connect-operator.io/watch-namespaces";
/// Annotation of that Lease: the label selector of what its install works on; empty or absent: everything.
pub const SELECTOR: &str = "connect-operator.io/selector";

/// Condition: the deployment is live with what is desired.
pub const READY: &str = "Ready";
/// Condition, there only while true: something runs or may come by itself.
pub const RECONCILING: &str = "Reconciling";
/// Condition, there only while true: a person has to act.
pub const STALLED: &str = "Stalled";
/// Condition: visible values were changed elsewhere.
pub const DRIFTED: &str = "Drifted";
/// Condition: the registry has a newer version of the connector (rule 15).
pub const UPDATE_AVAILABLE: &str = "UpdateAvailable";
/// Condition: the deployment still has values that the spec does not name any more.
pub const VALUES_RETAINED: &str = "ValuesRetained";
/// Condition: secured values at the remote were never seen to be sent by us.
pub const SECRETS_UNVERIFIED: &str = "SecretsUnverified";
/// Condition of a deployment with `spec.verify`: what it names exists and points to the deployment.
pub const VERIFIED: &str = "Verified";
/// Condition: `spec.suspend` is set.
pub const SUSPENDED: &str = "Suspended";
/// Condition of a `ConnectProject` with `spec.registry`: the Connector objects are what the registry has.
pub const REGISTRY_MIRRORED: &str = "RegistryMirrored";
/// Types of the conditions that the operator writes. Every other condition belongs to somebody else, and is kept.
pub const CONDITIONS: &[&str] = &[
    READY,
    RECONCILING,
    STALLED,
    DRIFTED,
    UPDATE_AVAILABLE,
    VALUES_RETAINED,
    SECRETS_UNVERIFIED,
    VERIFIED,
    SUSPENDED,
    REGISTRY_MIRRORED,
];

/// Secret in the operator's namespace with the key of the digests, unless another is named.
pub const DIGEST_KEY_SECRET: &str = "connect-operator-digest-key";
/// Key of the client id in the Secret that `spec.credentialsSecretRef` names.
pub const CLIENT_ID: &str = "clientId";
/// Key of the client secret in that Secret.
pub const CLIENT_SECRET: &str = "clientSecret";
/// Optional key of the scopes in that Secret, separated by blanks.
pub const SCOPES: &str = "scopes";

/// Label with which people allow a Secret to be used, where the operator asks for it (`--require-secret-label`).
pub const SECRET_USE: &str = "connect-operator.io/use";
/// Its value.
pub const SECRET_USE_VALUE: &str = "true";

/// Finalizer of a `ConnectProject`: it stays while a `ConnectorDeployment` names it (rule 24).
pub const PROJECT_FINALIZER: &str = "connect-operator.io/in-use";
/// What the name of a copy of a project's credentials begins with; the uid of the project follows.
pub const CREDENTIALS_COPY: &str = "connect-project-";
/// Type of a Secret that is such a copy.
pub const CREDENTIALS_COPY_TYPE: &str = "connect-operator.io/project-credentials";
/// Label of such a copy: the namespace of the project.
pub const PROJECT_NAMESPACE: &str = "connect-operator.io/project-namespace";
/// Annotation of such a copy: the name of the project, which may be longer than a label.
pub const PROJECT_NAME: &str = "connect-operator.io/project-name";
/// Label that says who made an object; its value is [`FIELD_MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
