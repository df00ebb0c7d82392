//! What several files of this binary use.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::fs::File;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::os::unix::fs::symlink;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Output, Stdio};
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::{Duration, Instant};

pub(crate) use axum::Router;
pub(crate) use axum::body::{Body, to_bytes};
pub(crate) use axum::response::{IntoResponse, Response};
pub(crate) use clock::{Clock, between, later};
pub(crate) use connect_api::client_context::ClientContext;
pub(crate) use connect_api::http::Limits;
pub(crate) use connect_api::model::{DeploymentStatus, RedeployAction, StandardKey};
pub(crate) use connect_operator::crd::{
    ActionCheck, CheckOutcome, ConnectProject, ConnectorDeployment, ConnectorDeploymentStatus, ConnectorStaged,
};
pub(crate) use connect_operator::leader::Scope;
pub(crate) use connect_operator::metrics::Metrics;
pub(crate) use connect_operator::operator::clients::action_factory::ActionFactory;
pub(crate) use connect_operator::operator::clients::connect_factory::HttpFactory;
pub(crate) use connect_operator::operator::cluster::initial_lists::InitialLists;
pub(crate) use connect_operator::operator::deployment::persisted::OperationState;
pub(crate) use connect_operator::operator::kinds::managed_kind::Object;
pub(crate) use connect_operator::{crd, names};
pub(crate) use dev_server::{
    Call, Catalogue, ConnectorDefinition, DevServer, Fault, FaultAnswer, FaultEffect, Options, PlannedOutcome, Shown,
    Variant,
};
pub(crate) use futures::future::join_all;
pub(crate) use futures::{StreamExt, stream};
pub(crate) use http::{Method, Request, StatusCode, Uri};
pub(crate) use jiff::Timestamp;
pub(crate) use k8s_openapi::api::coordination::v1::Lease;
pub(crate) use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
pub(crate) use k8s_openapi::api::events::v1::Event;
pub(crate) use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub(crate) use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
pub(crate) use kube::core::NamespaceResourceScope;
pub(crate) use kube::runtime::{WatchStreamExt, watcher};
pub(crate) use kube::{Api, Client, Resource, ResourceExt};
pub(crate) use rand::RngExt;
pub(crate) use rand::rngs::StdRng;
pub(crate) use rustix::process::Signal;
pub(crate) use serde::de::DeserializeOwned;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Value, json};
pub(crate) use tempfile::TempDir;
pub(crate) use test_support::checkout::{files, in_checkout, names_in, text_of, yaml_of};
pub(crate) use tokio::io::{AsyncBufReadExt, BufReader};
pub(crate) use tokio::net::{TcpListener, TcpStream};
pub(crate) use tokio::process::{Child, Command};
pub(crate) use tokio::sync::{OnceCell, watch};
pub(crate) use tokio::task::JoinHandle;
pub(crate) use tower::BoxError;

pub(crate) use crate::at_the_remote::with_client;
pub(crate) use crate::checks::{CHECK, check};
pub(crate) use crate::cluster::Sandbox;
pub(crate) use crate::manifests::{documents, named, secret, with_spec};
pub(crate) use crate::operators::Running;
pub(crate) use crate::patience::{in_time, timeout_option};
pub(crate) use crate::reported::{has, message, reason};
pub(crate) use crate::rules::{
    DEPLOYING, GATHER, Leaping, QUIET, QUIET_PERIOD, condition, is, is_accepted, level, ready, status,
};
pub(crate) use crate::security::{client_of, quick};
pub(crate) use crate::shop::{CREDENTIALS, NAME, PROJECT, SECRET, Shop, fast, state};
pub(crate) use crate::staged::{KIT, kit};
pub(crate) use crate::storm::checker::Report;
pub(crate) use crate::storm::environment::Environment;
pub(crate) use crate::storm::operator::{Operator, last_lines};
pub(crate) use crate::storm::size::pick;
pub(crate) use crate::storm::{life, size};
pub(crate) use crate::trouble::pace::{COARSE, FINE, SLOW, meanwhile, pass, stepped, until_called};
pub(crate) use crate::trouble::until_reported_with;
pub(crate) use crate::unreliable::{Hold, Unreliable, Which, Wrong};
pub(crate) use crate::verbs::{printed, run};
pub(crate) use crate::watching::{awaited, until, until_deleted};
pub(crate) use crate::written::Shell;
pub(crate) use crate::{addresses, go_tools, helm, manifests, operators};
