//! The columns that `kubectl get` prints for each kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition as Column;

fn column(type_: &str, name: &str, path: &str, description: &str) -> Column {
    Column {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: path.to_owned(),
        description: Some(description.to_owned()),
        ..Column::default()
    }
}

fn text(name: &str, path: &str, description: &str) -> Column {
    column("string", name, path, description)
}

/// A member of the Ready condition.
fn ready(name: &str, description: &str) -> Column {
    text(name, &format!(r#".status.conditions[?(@.type=="Ready")].{}"#, name.to_lowercase()), description)
}

fn reason() -> Column {
    ready("Reason", "Reason of the Ready condition")
}

fn message() -> Column {
    wide(ready("Message", "Message of the Ready condition"))
}

fn age() -> Column {
    column("date", "Age", ".metadata.creationTimestamp", "Time since creation")
}

/// Whether the Ready condition is true, which means this.
fn is_ready(meaning: &str) -> Column {
    Column { name: "Ready".to_owned(), ..ready("Status", meaning) }
}

/// Only `-o wide` shows it.
fn wide(column: Column) -> Column {
    Column { priority: Some(1), ..column }
}

/// Columns of `ConnectProject` and `ClusterConnectProject`.
pub(super) fn of_projects() -> Vec<Column> {
    let users = "Number of ConnectorDeployments that refer to this project";
    vec![
        text("Project", ".spec.projectKey", "Key of the project"),
        text("Region", ".spec.region", "Region of the project"),
        is_ready("Whether the project responds with these credentials"),
        reason(),
        column("integer", "Deployments", ".status.deployments", users),
        age(),
        message(),
    ]
}

/// Columns of `ConnectorDeployment`.
pub(super) fn of_deployments() -> Vec<Column> {
    let connector = "Connector as the spec names it: its key, its id, or its ConnectorStaged";
    let version = "Version of the connector that is deployed";
    let deletion = "What happens to the remote deployment when this object is deleted";
    vec![
        // There from the start: the spec has exactly one of key, id and stagedRef.name.
        text("Connector", ".spec.connector..['key','id','name']", connector),
        column("integer", "Version", ".status.connector.version", version),
        is_ready("Whether the deployment is live as the spec asks for"),
        reason(),
        age(),
        wide(text("Key", ".status.key", "Key of the remote deployment")),
        wide(text("Status", ".status.remote.state", "Status of the remote deployment, as the API reports it")),
        wide(text("URL", ".status.applications[*].url", "Address of the first application that has one")),
        wide(text("Region", ".status.remote.region", "Region of the remote deployment")),
        wide(text("Tag", ".status.connector.tag", "Git tag of the connector that is deployed")),
        wide(text("Deletion", ".status.deletionPolicy", deletion)),
        message(),
    ]
}

/// Columns of `ConnectorStaged`.
pub(super) fn of_staged() -> Vec<Column> {
    vec![
        text("Key", ".spec.key", "Key of the connector"),
        text("Tag", ".spec.repository.tag", "Git tag in the spec"),
        text("Status", ".status.remote.state", "Status of the staged connector, as the API reports it"),
        text("Preview", ".status.preview", "Whether it may be deployed while staged"),
        is_ready("Whether the remote matches the spec"),
        reason(),
        age(),
        message(),
    ]
}

/// Columns of `ActionCheck`.
pub(super) fn of_checks() -> Vec<Column> {
    vec![
        text("Action", ".spec.action.name", "Name of the action"),
        text("Method", ".spec.method", "GET, POST or PUT"),
        is_ready("Whether the action responded as expected"),
        reason(),
        column("date", "Last", ".status.checkedAt", "Time since the last call that is recorded"),
        age(),
        message(),
    ]
}
