//! The operator as users install it: the chart and the image on a real node, from `helm install` to the last command of
//! an uninstallation.
//!
//! It needs a cluster of its own, since CustomResourceDefinitions are cluster-wide:
//!
//! ```sh
//! NODE_KUBECONFIG=kubeconfig NODE_IMAGE=local/connect-operator:1 cargo test --test node
//! ```
//!
//! `NODE_IMAGE` must be on every node already, or be pulled by it. `helm` and `kubectl` are taken from `PATH`. Without
//! `NODE_KUBECONFIG` the tests are skipped with a notice; with `REQUIRE_NODE_CLUSTER` that is a failure.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod commands;
mod flux;
mod installed;
mod node;
mod shop;

use test_support::{gitops, patience};

use node::Node;

/// One test for all steps, since only one installation at a time can have the CustomResourceDefinitions.
#[test]
fn the_chart_works_on_a_real_node() {
    let Some(node) = Node::of_the_environment() else {
        assert!(std::env::var_os("REQUIRE_NODE_CLUSTER").is_none(), "NODE_KUBECONFIG is not set");
        eprintln!("NOT TRIED: the chart on a real node. Set NODE_KUBECONFIG and NODE_IMAGE (tests/node/main.rs)");
        return;
    };
    installed::with_the_defaults(&node);
    installed::in_some_namespaces(&node);
    if gitops::is_requested() {
        flux::installs_the_chart(&node);
    }
}
