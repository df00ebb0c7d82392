//! What only a `ConnectorDeployment` keeps between its reconciles. Losing it costs time, never correctness.

use jiff::Timestamp;

/// What is kept of one deployment, beside what the driver keeps of every kind.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// When the response to the last call came. Older observations are not used.
    pub last_call: Option<Timestamp>,
    /// The observation that was used last.
    pub last_observation: Option<Timestamp>,
    /// The version of the connector in the registry, as it was known last.
    pub registered: Option<i64>,
    /// Generation for which the registry is asked past its cache, and since when.
    pub doubted: Option<(i64, Timestamp)>,
    /// Since when the registry is read again for the declarations that a call needs.
    pub declarations_asked: Option<Timestamp>,
    /// The version of the deployment that is verified, and since when it is settled in this version. Older lookups are
    /// not used.
    pub verified_since: Option<(i64, Timestamp)>,
    /// Keys of `…From` objects that an Event has named.
    pub undeclared: Vec<String>,
    /// The note about values with invisible characters at an end that an Event has had.
    pub invisible_note: Option<String>,
}
