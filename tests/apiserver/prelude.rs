//! What most tests of this binary use.

pub(crate) use std::time::Duration;

pub(crate) use clock::Clock;
pub(crate) use connect_api::model::DeploymentStatus;
pub(crate) use connect_operator::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
pub(crate) use connect_operator::names;
pub(crate) use dev_server::{Fault, FaultAnswer, Options, Variant};
pub(crate) use k8s_openapi::api::core::v1::{ConfigMap, Secret};
pub(crate) use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
pub(crate) use kube::{Api, Client, ResourceExt};
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::checks::{CHECK, check};
pub(crate) use crate::cluster::Sandbox;
pub(crate) use crate::manifests::{named, with_spec};
pub(crate) use crate::patience::in_time;
pub(crate) use crate::reported::{has, message, reason};
pub(crate) use crate::security::quick;
pub(crate) use crate::shop::{CREDENTIALS, NAME, PROJECT, SECRET, Shop, fast, state};
pub(crate) use crate::staged::{KIT, kit};
pub(crate) use crate::trouble::pace::{COARSE, FINE, SLOW, meanwhile, pass, stepped};
pub(crate) use crate::trouble::until_reported_with;
