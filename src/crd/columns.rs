//! The columns that `kubectl get` prints for each kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;

/// A printer column.
pub(super) struct Column {
    name: &'static str,
    type_: &'static str,
    path: &'static str,
    description: &'static str,
    /// Whether only `-o wide` shows it.
    wide: bool,
}

impl Column {
    const fn of(type_: &'static str, name: &'static str, path: &'static str, description: &'static str) -> Self {
        Self { name, type_, path, description, wide: false }
    }

    const fn text(name: &'static str, path: &'static str, description: &'static str) -> Self {
        Self::of("string", name, path, description)
    }

    /// The status of the Ready condition.
    const fn ready(description: &'static str) -> Self {
        Self::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, description)
    }

    const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    pub(super) fn definition(&self) -> CustomResourceColumnDefinition {
        CustomResourceColumnDefinition {
            name: self.name.to_owned(),
            type_: self.type_.to_owned(),
            json_path: self.path.to_owned(),
            description: Some(self.description.to_owned()),
            priority: self.wide.then_some(1),
            format: None,
        }
    }
}

const REASON: Column =
    Column::text("Reason", r#".status.conditions[?(@.type=="Ready")].reason"#, "Reason of the Ready condition");
const MESSAGE: Column =
    Column::text("Message", r#".status.conditions[?(@.type=="Ready")].message"#, "Message of the Ready condition")
        .wide();
const AGE: Column = Column::of("date", "Age", ".metadata.creationTimestamp", "Time since creation");

/// Columns of `ConnectProject` and `ClusterConnectProject`.
pub(super) const PROJECT: &[Column] = &[
    Column::text("Project", ".spec.projectKey", "Key of the project"),
    Column::text("Region", ".spec.region", "Region of the project"),
    Column::ready("Whether the project responds with these credentials"),
    REASON,
    Column::of(
        "integer",
        "Deployments",
        ".status.deployments",
        "Number of ConnectorDeployments that refer to this project",
    ),
    AGE,
    MESSAGE,
];

/// Columns of `ConnectorDeployment`.
pub(super) const DEPLOYMENT: &[Column] = &[
    Column::text("Key", ".status.key", "Key of the remote deployment"),
    // There from the start: the spec has exactly one of key, id and stagedRef.name.
    Column::text(
        "Connector",
        ".spec.connector..['key','id','name']",
        "Connector as the spec names it: its key, its id, or its ConnectorStaged",
    ),
    Column::text("Status", ".status.deploymentStatus", "Status of the remote deployment, as the API reports it"),
    Column::ready("Whether the deployment is live as the spec asks for"),
    REASON,
    AGE,
    Column::text("URL", ".status.applications[*].url", "Address of the first application that has one").wide(),
    Column::text("Region", ".status.region", "Region of the remote deployment").wide(),
    Column::of("integer", "Version", ".status.connector.version", "Version of the connector that is deployed").wide(),
    Column::text("Tag", ".status.connector.tag", "Git tag of the connector that is deployed").wide(),
    Column::text(
        "Deletion",
        ".status.deletionPolicy",
        "What happens to the remote deployment when this object is deleted",
    )
    .wide(),
    MESSAGE,
];

/// Columns of `ConnectorStaged`.
pub(super) const STAGED: &[Column] = &[
    Column::text("Key", ".spec.key", "Key of the connector"),
    Column::text("Tag", ".spec.repository.tag", "Git tag in the spec"),
    Column::text("Status", ".status.connectorStatus", "Status of the staged connector, as the API reports it"),
    Column::text("Preview", ".status.previewable", "Whether it may be deployed while staged"),
    Column::ready("Whether the remote matches the spec"),
    REASON,
    AGE,
    MESSAGE,
];

/// Columns of `ActionCheck`.
pub(super) const CHECK: &[Column] = &[
    Column::text("Action", ".spec.action.name", "Name of the action"),
    Column::text("Method", ".spec.method", "GET, POST or PUT"),
    Column::of("integer", "HTTP", ".status.httpStatus", "HTTP status of the last response"),
    Column::ready("Whether the action responded as expected"),
    REASON,
    Column::of("date", "Last", ".status.checkedAt", "Time since the last call"),
    AGE,
    MESSAGE,
];
