//! The operator as people install it: the chart and the image on a real node, from `helm install` to the last command of
//! an uninstallation.
//!
//! It wants a cluster of its own, since CustomResourceDefinitions belong to all of it:
//!
//! ```sh
//! NODE_KUBECONFIG=kubeconfig NODE_IMAGE=local/connect-operator:1 cargo test --test node
//! ```
//!
//! `NODE_IMAGE` must be on every node already, or be pulled by it. `helm` and `kubectl` are taken from `PATH`. Without
//! `NODE_KUBECONFIG` nothing is tried, which is said; with `REQUIRE_NODE_CLUSTER` that is a failure.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod installed;
mod node;
#[path = "../common/patience.rs"]
#[allow(dead_code, reason = "each test binary asks other things of it")]
mod patience;
mod shop;

use node::Node;

/// One story, since one chart after the other has the CustomResourceDefinitions.
#[test]
fn the_chart_lives_on_a_real_node() {
    let Some(node) = Node::of_the_environment() else {
        assert!(std::env::var_os("REQUIRE_NODE_CLUSTER").is_none(), "NODE_KUBECONFIG is not set");
        eprintln!("NOT TRIED: the chart on a real node. Set NODE_KUBECONFIG and NODE_IMAGE (tests/node/main.rs)");
        return;
    };
    installed::with_the_defaults(&node);
    installed::in_some_namespaces(&node);
}
