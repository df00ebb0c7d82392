//! The state of each `ConnectorStaged` that its own controller found, for deployments that refer to it by `stagedRef`.

/// The state of a `ConnectorStaged` that its controller found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConnector {
    /// Id of the staged connector, once it exists.
    pub id: Option<String>,
    /// The first version that can be deployed as the spec asks for, or why none can.
    pub deployable: Result<i64, String>,
}
