//! What most of these files use.

pub(crate) use std::collections::BTreeMap;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use connect_operator::crd::ConnectorDeployment;
pub(crate) use connect_operator::names;
pub(crate) use connect_operator::operator::object_ref::ObjectRef;
pub(crate) use jiff::Timestamp;
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::checker::Checker;
pub(crate) use crate::cluster::{Cluster, Key, Kind};
pub(crate) use crate::history::{Reading, Shape, Step};
pub(crate) use crate::interceptor::{Callee, lock};
pub(crate) use crate::replay::simulate;
pub(crate) use crate::simulation::{Armed, Outage, Simulation};
