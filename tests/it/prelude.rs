//! What several of these files use.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::fmt::Write as _;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::os::unix::fs::PermissionsExt as _;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Output, Stdio};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::Duration;

pub(crate) use clock::Clock;
pub(crate) use connect_api::action::{ActionApi, ActionMethod, Preset};
pub(crate) use connect_api::api::{ConnectApi, PageRequest, Selector};
pub(crate) use connect_api::client_context::ClientContext;
pub(crate) use connect_api::error::{ApiError, Effect, Failure};
pub(crate) use connect_api::hosts::AllowedHosts;
pub(crate) use connect_api::http::{Authorities, HttpConnect, Settings};
pub(crate) use connect_api::model::{Deployment, DeploymentDraft, DeploymentStatus, RedeployAction};
pub(crate) use connect_api::rate::Rate;
pub(crate) use connect_api::routes::OPERATIONS;
pub(crate) use connect_operator::crd::ConnectorDeployment;
pub(crate) use connect_operator::operator::remote::OutageKind;
pub(crate) use connect_operator::operator::reporting::reason::Reason;
pub(crate) use connect_operator::{crd, names};
pub(crate) use dev_server::{Catalogue, Fault, FaultAnswer, Options};
pub(crate) use jiff::Timestamp;
pub(crate) use reqwest::{Method, StatusCode};
pub(crate) use secrecy::SecretSlice;
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use tempfile::TempDir;
pub(crate) use test_support::checkout::{files, in_checkout, names_in, text_of, yaml_of};
pub(crate) use test_support::go_tools::succeed;
pub(crate) use tokio::net::TcpListener;

pub(crate) use crate::client::remote::settings;
pub(crate) use crate::described::DevServer;
pub(crate) use crate::golden::{assert_golden, assert_golden_parts};
pub(crate) use crate::helm;
pub(crate) use crate::helm::CHART;
pub(crate) use crate::patience::in_time;
