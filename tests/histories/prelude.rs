//! What several of these files use.

pub(crate) use std::collections::{BTreeMap, BTreeSet, VecDeque};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::time::Duration;

pub(crate) use clock::{Clock, between, later};
pub(crate) use connect_api::api::{Answer, Selector};
pub(crate) use connect_api::model::Deployment;
pub(crate) use connect_operator::crd::{ConnectorDeployment, ConnectorDeploymentStatus};
pub(crate) use connect_operator::names;
pub(crate) use connect_operator::operator::context::Context;
pub(crate) use connect_operator::operator::deployment::state::shown;
pub(crate) use connect_operator::operator::object_ref::ObjectRef;
pub(crate) use connect_operator::operator::reporting::conditions;
pub(crate) use dev_server::World;
pub(crate) use jiff::Timestamp;
pub(crate) use json_patch::merge;
pub(crate) use kube::ResourceExt;
pub(crate) use serde::Deserialize;
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::checker::Checker;
pub(crate) use crate::checks::{CheckShape, stored};
pub(crate) use crate::cluster::{Cluster, Key, Kind};
pub(crate) use crate::history::{Foreign, History, Reading, Shape, Step};
pub(crate) use crate::interceptor::{Callee, Failure, Interceptor, What, lock};
pub(crate) use crate::remote::{Arrived, Asked, PROJECT, Remote, Values, Verb};
pub(crate) use crate::replay::simulate;
pub(crate) use crate::sharing;
pub(crate) use crate::simulation::{Armed, Outage, Simulation};
pub(crate) use crate::staged::Plan;
pub(crate) use crate::users::{PROJECT_NAME, RESOURCES, Resource, SHOP};
