//! Routing: finds the operation for a method and path (contract sections 5.1, 5.2 and 11). Pure.
//!
//! `key=…` is tried before ids, `/connectors` and `/deployments` before projects. Empty segments are ignored, so a
//! doubled or trailing `/` has no effect.

use super::action_route::ActionRoute;
use super::names::is_key;
use super::refusal::{Refusal, cut};
use connect_api::commerce::{ResourceKind, ResourceName};
use connect_api::routes::KEY_PREFIX;
use connect_api::{ErrorCode, Selector};

/// Kind of a request: for a token, an operation of the API, or a frontend action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Token,
    Api(Operation),
    Action(ActionRoute),
}

/// An operation with the parameters of its path. `project` is `None` in the forms without a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Connector(Selector),
    Search,
    Staged(StagedOperation),
    Create {
        project: Option<String>,
    },
    List {
        project: String,
    },
    Read {
        project: String,
        selector: Selector,
    },
    Redeploy {
        project: Option<String>,
        selector: Selector,
    },
    Undeploy {
        project: String,
        selector: Selector,
    },
    Logs {
        project: String,
        selector: Selector,
    },
    /// Revisions of a deployment, which the API documents without bodies (contract section 5.2). Not supported.
    Revisions {
        project: String,
    },
    /// One resource of the HTTP API by its key.
    Resource {
        project: String,
        name: ResourceName,
    },
}

/// An operation on staged connectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StagedOperation {
    Create,
    List,
    Read(Selector),
    Update(Selector),
    Delete(Selector),
}

/// Why a request matches no operation.
#[derive(Clone, Debug)]
pub(super) enum NoOperation {
    /// The path does not exist.
    Unknown,
    /// The path exists, but not for this method.
    WrongMethod { allowed: &'static str },
    /// A part of the path is not valid.
    Invalid(Refusal),
}

impl Route {
    /// Returns the name of the operation in the contract, or `token`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Api(operation) => operation.name(),
            Self::Action(action) => action.operation(),
        }
    }
}

/// Chooses between the names of the form by id and the form by key.
fn by(selector: &Selector, id: &'static str, key: &'static str) -> &'static str {
    match selector {
        Selector::Id(_) => id,
        Selector::Key(_) => key,
    }
}

impl StagedOperation {
    fn name(&self) -> &'static str {
        match self {
            Self::Create => "createConnectorStaged",
            Self::List => "queryConnectorsStaged",
            Self::Read(selector) => by(selector, "getConnectorStagedById", "getConnectorStagedByKey"),
            Self::Update(selector) => by(selector, "updateConnectorStagedById", "updateConnectorStagedByKey"),
            Self::Delete(selector) => by(selector, "deleteConnectorStagedById", "deleteConnectorStagedByKey"),
        }
    }
}

impl Operation {
    /// Whether the operation changes the world.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::Create { .. } | Self::Redeploy { .. } | Self::Undeploy { .. } => true,
            Self::Staged(operation) => !matches!(operation, StagedOperation::List | StagedOperation::Read(_)),
            Self::Connector(_)
            | Self::Search
            | Self::List { .. }
            | Self::Read { .. }
            | Self::Logs { .. }
            | Self::Revisions { .. }
            | Self::Resource { .. } => false,
        }
    }

    /// Returns the name of the operation in the contract.
    fn name(&self) -> &'static str {
        match self {
            Self::Search => "searchConnectors",
            Self::Staged(operation) => operation.name(),
            Self::Connector(selector) => by(selector, "getConnectorById", "getConnectorByKey"),
            Self::Create { project: Some(_) } => "createDeployment",
            Self::Create { project: None } => "createDeploymentUnscoped",
            Self::List { .. } => "queryDeployments",
            Self::Read { selector, .. } => by(selector, "getDeploymentById", "getDeploymentByKey"),
            Self::Redeploy { project: Some(_), selector } => {
                by(selector, "updateDeploymentById", "updateDeploymentByKey")
            }
            Self::Redeploy { project: None, .. } => "updateDeploymentByKeyUnscoped",
            Self::Undeploy { selector, .. } => by(selector, "deleteDeploymentById", "deleteDeploymentByKey"),
            Self::Revisions { .. } => "none",
            Self::Logs { selector, .. } => by(selector, "getDeploymentLogsById", "getDeploymentLogsByKey"),
            Self::Resource { name, .. } => match name.kind {
                ResourceKind::Extension => "getExtensionByKey",
                ResourceKind::Subscription => "getSubscriptionByKey",
            },
        }
    }
}

/// Finds the route of a request.
pub(super) fn route(method: &str, path: &str) -> Result<Route, NoOperation> {
    let raw: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some(segments) = raw.iter().map(|segment| decode(segment)).collect::<Option<Vec<_>>>() else {
        // Actions have their own error format, even for names that cannot be decoded.
        let action = ActionRoute::of(method, &raw).map(Route::Action);
        return action.ok_or_else(|| invalid("The path is not percent-encoded UTF-8."));
    };
    let segments: Vec<_> = segments.iter().map(String::as_str).collect();
    if (method, segments.as_slice()) == ("POST", &["oauth", "token"]) {
        return Ok(Route::Token);
    }
    if let Some(action) = ActionRoute::of(method, &segments) {
        return Ok(Route::Action(action));
    }
    operation(method, &segments).map(Route::Api)
}

fn operation(method: &str, segments: &[&str]) -> Result<Operation, NoOperation> {
    let wrong = |allowed| Err(NoOperation::WrongMethod { allowed });
    match (method, segments) {
        ("GET", ["connectors", "search"]) => Ok(Operation::Search),
        (method, ["connectors", "drafts", rest @ ..]) => staged(method, rest).map(Operation::Staged),
        ("GET", ["connectors", segment]) => Ok(Operation::Connector(selector(segment)?)),
        (_, ["connectors", _]) => wrong("GET"),
        ("POST", ["deployments"]) => Ok(Operation::Create { project: None }),
        (_, ["oauth", "token"] | ["deployments"]) => wrong("POST"),
        ("POST", ["deployments", segment]) if segment.starts_with(KEY_PREFIX) => {
            Ok(Operation::Redeploy { project: None, selector: selector(segment)? })
        }
        (_, ["deployments", segment]) if segment.starts_with(KEY_PREFIX) => wrong("POST"),
        (_, ["deployments" | "connectors" | "oauth", ..]) => Err(NoOperation::Unknown),
        (method, [project, "deployments", rest @ ..]) => of_project(method, project, rest),
        (method, [project, "extensions", segment]) => resource(method, project, ResourceKind::Extension, segment),
        (method, [project, "subscriptions", segment]) => resource(method, project, ResourceKind::Subscription, segment),
        _ => Err(NoOperation::Unknown),
    }
}

fn staged(method: &str, rest: &[&str]) -> Result<StagedOperation, NoOperation> {
    let wrong = |allowed| Err(NoOperation::WrongMethod { allowed });
    match (method, rest) {
        ("GET", []) => Ok(StagedOperation::List),
        ("POST", []) => Ok(StagedOperation::Create),
        (_, []) => wrong("GET, POST"),
        ("GET", [segment]) => Ok(StagedOperation::Read(selector(segment)?)),
        ("POST", [segment]) => Ok(StagedOperation::Update(selector(segment)?)),
        ("DELETE", [segment]) => Ok(StagedOperation::Delete(selector(segment)?)),
        (_, [_]) => wrong("GET, POST, DELETE"),
        _ => Err(NoOperation::Unknown),
    }
}

fn of_project(method: &str, project: &str, rest: &[&str]) -> Result<Operation, NoOperation> {
    if !is_key(project, 36) {
        return Err(invalid("The project key must be 2 to 36 characters of A-Z a-z 0-9 _ -."));
    }
    let project = project.to_owned();
    let wrong = |allowed| Err(NoOperation::WrongMethod { allowed });
    match (method, rest) {
        ("GET", []) => Ok(Operation::List { project }),
        ("POST", []) => Ok(Operation::Create { project: Some(project) }),
        (_, []) => wrong("GET, POST"),
        ("GET", [segment]) => Ok(Operation::Read { project, selector: selector(segment)? }),
        ("POST", [segment]) => Ok(Operation::Redeploy { project: Some(project), selector: selector(segment)? }),
        ("DELETE", [segment]) => Ok(Operation::Undeploy { project, selector: selector(segment)? }),
        (_, [_]) => wrong("GET, POST, DELETE"),
        ("GET", [segment, "logs"]) => Ok(Operation::Logs { project, selector: selector(segment)? }),
        (_, [_, "logs"]) => wrong("GET"),
        ("GET" | "POST", [segment, "revisions", ..]) => {
            selector(segment)?;
            Ok(Operation::Revisions { project })
        }
        _ => Err(NoOperation::Unknown),
    }
}

/// Finds the operation on a resource of the HTTP API, which exists only by key.
fn resource(method: &str, project: &str, kind: ResourceKind, segment: &str) -> Result<Operation, NoOperation> {
    if !is_key(project, 36) {
        return Err(invalid("The project key must be 2 to 36 characters of A-Z a-z 0-9 _ -."));
    }
    match (method, selector(segment)?) {
        (_, Selector::Id(_)) => Err(NoOperation::Unknown),
        ("GET", Selector::Key(key)) => {
            Ok(Operation::Resource { project: project.to_owned(), name: ResourceName { kind, key } })
        }
        _ => Err(NoOperation::WrongMethod { allowed: "GET" }),
    }
}

fn selector(segment: &str) -> Result<Selector, NoOperation> {
    match segment.strip_prefix(KEY_PREFIX) {
        Some(key) if is_key(key, 256) => Ok(Selector::Key(key.to_owned())),
        Some(key) => Err(invalid(&format!("The key '{}' must be 2 to 256 characters of A-Z a-z 0-9 _ -.", cut(key)))),
        None => Ok(Selector::Id(segment.to_owned())),
    }
}

fn invalid(details: &str) -> NoOperation {
    NoOperation::Invalid(Refusal::with_details(
        ErrorCode::InvalidPathParam,
        "A part of the path is not valid.",
        details,
    ))
}

/// Decodes percent-encoding (RFC 3986 section 2.1); `None` if it is not valid or not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows;
    use connect_api::routes::OPERATIONS;

    fn named(method: &str, path: &str) -> String {
        match route(method, path) {
            Ok(route) => route.name().to_owned(),
            Err(NoOperation::Unknown) => "404".to_owned(),
            Err(NoOperation::WrongMethod { allowed }) => format!("405 {allowed}"),
            Err(NoOperation::Invalid(refusal)) => refusal.codes().join(" "),
        }
    }

    #[test]
    fn every_path_of_the_contract_is_its_operation() {
        let mut seen = std::collections::BTreeSet::new();
        let id = "ae4b0e53-c6b0-4d5d-9ba7-3e60496c17a1";
        for [request, expected] in rows(
            "
            POST /oauth/token | token
            GET /connectors/key=demo-connector | getConnectorByKey
            GET /connectors/ID | getConnectorById
            POST /demo/deployments | createDeployment
            POST /deployments | createDeploymentUnscoped
            GET /demo/deployments | queryDeployments
            GET /demo/deployments/ | queryDeployments
            GET //demo//deployments | queryDeployments
            GET /demo/deployments/ID | getDeploymentById
            GET /demo/deployments/key=tax_eu | getDeploymentByKey
            GET /demo/deployments/key%3Dtax_eu | getDeploymentByKey
            POST /demo/deployments/ID | updateDeploymentById
            POST /demo/deployments/key=tax | updateDeploymentByKey
            POST /deployments/key=tax | updateDeploymentByKeyUnscoped
            DELETE /demo/deployments/ID | deleteDeploymentById
            DELETE /demo/deployments/key=tax | deleteDeploymentByKey
            GET /demo/deployments/ID/logs | getDeploymentLogsById
            GET /demo/deployments/key=tax/logs | getDeploymentLogsByKey
            GET /demo/deployments/key=tax/revisions | none
            POST /demo/deployments/ID/revisions/7/rollback | none
            GET /demo/deployments/key=a.b/revisions | InvalidPathParam
            GET /demo/extensions/key=tax-cart | getExtensionByKey
            GET /demo/subscriptions/key=tax-orders | getSubscriptionByKey
            DELETE /demo/extensions/key=tax-cart | 405 GET
            GET /demo/extensions/key=a.b | InvalidPathParam
            GET /demo/extensions/some-id | 404
            GET /demo/extensions | 404
            GET /service/action/cart/getCart | readAction
            POST /service/action/cart/addToCart | writeActionPost
            PUT /service/action/cart/addToCart | writeActionPut
            GET /frontastic/action/cart/getCart | readFrontasticAction
            POST /frontastic/action/cart/addToCart | writeFrontasticActionPost
            PUT /frontastic/action/cart%2F/add%20ToCart | writeFrontasticActionPut
            DELETE /service/action/cart/getCart | none
            GET /other/action/cart/getCart | 404
            GET /service/action/cart | 404
            GET /service/actions/cart/getCart | 404
            GET /service/action/cart/getCart/more | 404
            GET /service/action/cart/%4 | readAction
            GET /service/action/%FF | InvalidPathParam
            GET / | 404
            GET /connectors | 404
            GET /connectors/search | searchConnectors
            GET /connectors/search/ | searchConnectors
            POST /connectors/search | 405 GET
            GET /connectors/search/more | 404
            POST /connectors/drafts | createConnectorStaged
            GET /connectors/drafts | queryConnectorsStaged
            PUT /connectors/drafts | 405 GET, POST
            GET /connectors/drafts/ID | getConnectorStagedById
            GET /connectors/drafts/key=my-tax | getConnectorStagedByKey
            POST /connectors/drafts/ID | updateConnectorStagedById
            POST /connectors/drafts/key=my-tax | updateConnectorStagedByKey
            DELETE /connectors/drafts/ID | deleteConnectorStagedById
            DELETE /connectors/drafts/key=my-tax | deleteConnectorStagedByKey
            PATCH /connectors/drafts/key=my-tax | 405 GET, POST, DELETE
            GET /connectors/drafts/a/b | 404
            GET /connectors/drafts/key=a.b | InvalidPathParam
            GET /connectors/drafts/%2e%2e | getConnectorStagedById
            POST /deployments/some-id | 404
            GET /demo/deployments/a/b | 404
            GET /oauth/token | 405 POST
            PUT /demo/deployments | 405 GET, POST
            PATCH /demo/deployments/key=tax | 405 GET, POST, DELETE
            GET /deployments | 405 POST
            DELETE /deployments/key=tax | 405 POST
            GET /demo/deployments/key=x | InvalidPathParam
            GET /demo/deployments/key=a.b | InvalidPathParam
            GET /d/deployments | InvalidPathParam
            GET /demo/deployments/%FF | InvalidPathParam
            GET /demo/deployments/%4 | InvalidPathParam
            ",
        ) {
            let (method, path) = request.split_once(' ').expect("a method and a path");
            assert_eq!(named(method, &path.replace("ID", id)), expected, "{request}");
            seen.insert(expected);
        }
        assert!(OPERATIONS.iter().all(|name| seen.contains(*name)), "the table covers each name that a fault may have");
    }
}
