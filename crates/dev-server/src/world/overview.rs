//! What the console shows: connectors, staged connectors and deployments of all projects, without configuration values.

use jiff::Timestamp;
use serde::Serialize;

use super::World;
use crate::connector::newest;
use crate::logs::LogEntry;
use crate::record::Record;
use crate::staged::StagedRecord;
use connect_api::model::{
    CertificationInfoComment, ConnectorStatus, DeploymentStatus, DeploymentType, IsPreviewable, ReportEntry,
};

/// Maximum number of objects of each kind. A dev server can have thousands, and the console reads this every second.
const SHOWN: usize = 200;

/// The newest objects of each kind, without lag.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    /// Published connectors, in their newest version, including those that are not listed.
    connectors: Shown<Connector>,
    staged: Shown<Staged>,
    deployments: Shown<Deployment>,
}

/// At most [`SHOWN`] of `total` objects.
#[derive(Debug, Serialize)]
struct Shown<T> {
    total: usize,
    items: Vec<T>,
}

#[derive(Debug, Serialize)]
struct Connector {
    id: String,
    key: Option<String>,
    name: String,
    version: i64,
    private: bool,
    certified: bool,
    applications: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Staged {
    id: String,
    key: Option<String>,
    name: String,
    version: i64,
    tag: String,
    status: ConnectorStatus,
    is_previewable: IsPreviewable,
    preview_report: Vec<ReportEntry>,
    publishing_report: Vec<ReportEntry>,
    comments: Vec<CertificationInfoComment>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Deployment {
    id: String,
    key: Option<String>,
    project: String,
    version: i64,
    #[serde(rename = "type")]
    kind: DeploymentType,
    region: String,
    status: DeploymentStatus,
    /// When the status changed.
    changed_at: Timestamp,
    connector: DeployedConnector,
    applications: Vec<Application>,
    report: Vec<ReportEntry>,
}

#[derive(Debug, Serialize)]
struct DeployedConnector {
    key: Option<String>,
    name: String,
    version: i64,
}

/// An application with its URL or its topic, if it has one.
#[derive(Debug, Serialize)]
struct Application {
    name: String,
    address: Option<String>,
}

impl<T> Shown<T> {
    fn of<R>(mut records: Vec<R>, show: impl Fn(R) -> T) -> Self {
        let total = records.len();
        records.truncate(SHOWN);
        Self { total, items: records.into_iter().map(show).collect() }
    }
}

impl World {
    /// Returns what the console shows at `now`.
    pub(crate) fn overview(&mut self, now: Timestamp) -> Overview {
        self.advance(now);
        let mut staged: Vec<_> = self.kept.staged.records().collect();
        staged.sort_by_key(|record| std::cmp::Reverse(record.sequence));
        let mut deployments: Vec<_> = self.kept.records.values().collect();
        deployments.sort_by_key(|record| std::cmp::Reverse(record.sequence));
        Overview {
            connectors: Shown::of(newest(self.published()), |connector| Connector {
                id: connector.id.clone(),
                key: connector.shown_key(),
                name: connector.name.clone(),
                version: connector.version,
                private: connector.private,
                certified: connector.certified,
                applications: connector.configurations.iter().map(|one| one.application_name.clone()).collect(),
            }),
            staged: Shown::of(staged, staged_connector),
            deployments: Shown::of(deployments, |record| self.deployment(record)),
        }
    }

    /// Returns the last `count` entries of the log of a deployment, oldest first, whatever `logs` of the variant is. A
    /// deployment that is gone has none.
    pub(crate) fn log_tail(&mut self, id: &str, count: usize, now: Timestamp) -> Vec<LogEntry> {
        self.advance(now);
        self.kept.records.get(id).map_or_else(Vec::new, |record| record.log.tail(id, count))
    }

    fn deployment(&self, record: &Record) -> Deployment {
        let shown = record.show_truly(&self.variant);
        let applications = shown.applications.into_iter().map(|application| Application {
            name: application.application_name,
            address: application.url.or(application.topic),
        });
        Deployment {
            id: shown.id,
            key: shown.key,
            project: record.project.clone(),
            version: shown.version,
            kind: record.kind.clone(),
            region: shown.deployed_region,
            status: shown.status,
            changed_at: record.changed_at,
            connector: DeployedConnector {
                key: shown.connector.key,
                name: shown.connector.name,
                version: shown.connector.version,
            },
            applications: applications.collect(),
            report: shown.details.build.and_then(|build| build.report).unwrap_or_default().entries,
        }
    }
}

fn staged_connector(record: &StagedRecord) -> Staged {
    let shown = record.show();
    Staged {
        id: shown.id,
        key: shown.key,
        name: shown.name,
        version: shown.version,
        tag: shown.repository.tag,
        status: shown.status,
        is_previewable: shown.is_previewable,
        preview_report: shown.previewable_report.unwrap_or_default().entries,
        publishing_report: shown.publishing_report.unwrap_or_default().entries,
        comments: shown.certification_info.map(|info| info.comments).unwrap_or_default(),
    }
}
