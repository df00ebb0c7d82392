//! Several installs in one namespace: each reconciles its share, leaves objects that another install has claimed, and
//! takes over objects whose install has ended.

use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use connect_api::Fence;
use connect_api::client_context::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{Authorities, Limits};
use connect_operator::controllers::clients::action_factory::HttpActionFactory;
use connect_operator::controllers::clients::connect_factory::HttpFactory;
use connect_operator::controllers::manager;
use connect_operator::controllers::objects::secret;
use connect_operator::controllers::tracking::tracker::ReconcileTracker;
use connect_operator::controllers::values::digest::DigestKey;
use connect_operator::crd::{ConnectProject, ConnectorDeployment};
use connect_operator::leader::{Election, LeaseName, Scope, Timing};
use connect_operator::metrics::Metrics;
use dev_server::Options;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::{conditions, wait};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cluster::Sandbox;
use crate::patience::in_time;
use crate::shop::{CREDENTIALS, NAME, PROJECT, SECRET, Shop};

/// An install of the operator: its controllers, and its leading replica.
pub(crate) struct Install {
    name: LeaseName,
    election: Option<Election>,
    end: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

/// Times that are long enough not to lose a Lease on a slow machine.
const PATIENT: Timing =
    Timing { lease: Duration::from_hours(2), renew_deadline: Duration::from_hours(1), retry: Duration::from_secs(2) };

impl Install {
    /// Starts an install that holds the Lease of this name in the namespace `home`, and reconciles what the selector
    /// selects.
    pub(crate) async fn start(shop: &Shop, home: &Sandbox, lease: &str, selector: &str) -> Self {
        Self::start_as(shop, home, Some((lease, PATIENT)), selector).await
    }

    /// Starts an install with other times, or without a Lease.
    async fn start_as(shop: &Shop, home: &Sandbox, lease: Option<(&str, Timing)>, selector: &str) -> Self {
        let (client, timing) = (home.client.clone(), lease.map(|(_, timing)| timing));
        let lease = lease.map(|(name, _)| name);
        let clock = Clock::system();
        let scope = Scope::new(std::slice::from_ref(&shop.sandbox.namespace), selector).expect("a selector");
        let scope = scope.with_cluster_projects(shop.cluster_projects);
        let name = LeaseName { namespace: home.namespace.clone(), name: lease.unwrap_or("none").to_owned() };
        let mut election = timing.map(|timing| {
            let fence = Fence::closed(clock.clone());
            Election::start(home.client.clone(), &name, &scope, name.to_string(), timing, &clock, &fence)
        });
        if let Some(election) = &mut election {
            in_time(election.won()).await.expect("it leads in time").expect("it leads");
        }
        let allowed_hosts = AllowedHosts::parse(["http://127.0.0.1:*"]).expect("a host");
        let metrics = Metrics::new(clock.now());
        let tracker = ReconcileTracker::new(clock.clone(), Arc::clone(&metrics));
        let around = ClientContext { observer: metrics, ..ClientContext::plain(clock.clone()) };
        let actions = HttpActionFactory {
            allowed_hosts: allowed_hosts.clone(),
            around: around.clone(),
            authorities: Authorities::default(),
        };
        let factory =
            HttpFactory { allowed_hosts, around, limits: Limits::default(), authorities: Authorities::default() };
        let options = manager::Options {
            client,
            scope,
            install: lease.map(|_| name.clone()),
            concurrency: 16,
            clock,
            operator_namespace: home.namespace.clone(),
            secrets: secret::Policy::default(),
            digest_key: DigestKey::new([7; 32]),
            factory: Arc::new(factory),
            actions: Arc::new(actions),
            tracker,
            default_deletion_policy: None,
            jitter_seed: 1,
        };
        let (end, asked) = oneshot::channel::<()>();
        let ended = tokio::spawn(manager::run(options, async {
            let _ = asked.await;
        }));
        Self { name, election, end, ended }
    }

    /// As on SIGTERM.
    pub(crate) async fn end(self) {
        let _ = self.end.send(());
        in_time(self.ended).await.expect("it ends in time").expect("it ends without an error");
        if let Some(election) = self.election {
            election.give_up().await;
        }
    }

    /// Ends without a shutdown; its Lease stays as it is.
    async fn die(self) {
        self.ended.abort();
        drop(self.election);
        let _ = self.ended.await;
    }
}

/// A shop without an operator, with its project and the Secret of its deployments, and the namespace of the operators.
async fn shop(labels: Value) -> (Shop, Sandbox) {
    let options = Options { deploy_duration: Duration::from_millis(200), ..Options::default() };
    let shop = Shop::without_operator(options, Clock::system()).await;
    let home = Sandbox::new().await;
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let mut project = shop.project();
    project["metadata"]["labels"] = labels;
    shop.sandbox.apply(&project).await.unwrap();
    (shop, home)
}

fn team(name: &str) -> Value {
    json!({"team": name})
}

/// A deployment with this name and team.
fn deployment(shop: &Shop, name: &str, team: &str) -> Value {
    let mut manifest = shop.deployment();
    manifest["metadata"] = json!({"name": name, "labels": {"team": team}});
    manifest
}

fn controller(object: &ConnectorDeployment) -> Option<&str> {
    object.status.as_ref()?.controller.as_deref()
}

/// Returns once this deployment is live and claimed by this install.
async fn until_live(shop: &Shop, name: &str, install: Option<&LeaseName>) -> ConnectorDeployment {
    let install = install.map(ToString::to_string);
    shop.until_object::<ConnectorDeployment>(name, "live and claimed by the install", |object| {
        let ready =
            object.status.iter().flat_map(|status| &status.conditions).any(|condition| condition.reason == "Deployed");
        ready && controller(object) == install.as_deref()
    })
    .await
}

async fn relabel(shop: &Shop, name: &str, team: &str) {
    let labels = Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
    shop.api::<ConnectorDeployment>().patch(name, &PatchParams::default(), &labels).await.unwrap();
}

/// Changes the Secret; returns once this many more deployments were redeployed.
async fn rotate(shop: &Shop, value: &str, redeploys: u64) {
    let before = shop.calls("updateDeploymentById");
    shop.put_secret(SECRET, &[("token", value)]).await;
    let carried = async {
        while shop.calls("updateDeploymentById") < before + redeploys {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(carried).await.expect("the new value is deployed in time");
}

/// Number of calls that change the remote: create, redeploy, undeploy.
fn changes(shop: &Shop) -> (u64, u64, u64) {
    (shop.calls("createDeployment"), shop.calls("updateDeploymentById"), shop.calls("deleteDeploymentById"))
}

#[tokio::test]
async fn each_shard_works_on_its_share_of_one_project() {
    let (shop, home) = shop(team("tax")).await;
    let tax = Install::start(&shop, &home, "tax", "team=tax").await;
    let cart = Install::start(&shop, &home, "cart", "team=cart").await;
    for name in ["tax", "cart"] {
        shop.sandbox.apply(&deployment(&shop, name, name)).await.unwrap();
    }
    until_live(&shop, "tax", Some(&tax.name)).await;
    until_live(&shop, "cart", Some(&cart.name)).await;
    assert_eq!(changes(&shop), (2, 0, 0));
    let speaks = tax.name.to_string();
    shop.until_project("one install reconciles the project", |project| {
        project.status.as_ref().is_some_and(|status| status.controller.as_ref() == Some(&speaks))
    })
    .await;
    rotate(&shop, "second-token-of-the-shop", 2).await;
    until_live(&shop, "tax", Some(&tax.name)).await;
    until_live(&shop, "cart", Some(&cart.name)).await;
    assert_eq!(changes(&shop), (2, 2, 0));
    tax.end().await;
    cart.end().await;
}

#[tokio::test]
async fn rule_26_labels_move_a_live_deployment_to_another_shard_and_back() {
    let (shop, home) = shop(team("tax")).await;
    let tax = Install::start(&shop, &home, "tax", "team=tax").await;
    let rest = Install::start(&shop, &home, "rest", "team!=tax").await;
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME, Some(&tax.name)).await;
    for (team, install) in [("cart", &rest), ("tax", &tax), ("cart", &rest)] {
        relabel(&shop, NAME, team).await;
        until_live(&shop, NAME, Some(&install.name)).await;
    }
    assert_eq!(changes(&shop), (1, 0, 0), "changed labels send nothing");
    rotate(&shop, "second-token-of-the-shop", 1).await;
    until_live(&shop, NAME, Some(&rest.name)).await;
    assert_eq!(changes(&shop), (1, 1, 0), "a change is deployed once");
    shop.delete().await;
    shop.until_gone().await;
    assert_eq!(changes(&shop), (1, 1, 1));
    tax.end().await;
    rest.end().await;
}

#[tokio::test]
async fn rule_26_an_object_of_a_live_install_is_not_reconciled_which_is_reported_once() {
    let (shop, home) = shop(team("tax")).await;
    let first = Install::start(&shop, &home, "first", "").await;
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME, Some(&first.name)).await;
    shop.until_project("available", |project| {
        project.status.as_ref().is_some_and(|status| status.deployments == Some(1))
    })
    .await;
    let before = shop.get().await.resource_version();
    let second = Install::start(&shop, &home, "second", "team=tax").await;
    let other = Install::start_as(&shop, &home, None, "").await;
    let both = async {
        // One for the deployment and one for the project, by each install that leaves them.
        while shop.events("ManagedElsewhere").await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    in_time(both).await.expect("the Events are written in time");
    for note in shop.events("ManagedElsewhere").await {
        assert!(note.contains(&first.name.to_string()) && note.contains("--selector"), "{note}");
    }
    rotate(&shop, "second-token-of-the-shop", 1).await;
    let live = until_live(&shop, NAME, Some(&first.name)).await;
    assert_ne!(live.resource_version(), before);
    assert_eq!(changes(&shop), (1, 1, 0));
    second.end().await;
    other.end().await;
    until_live(&shop, NAME, Some(&first.name)).await;
    first.end().await;
}

#[tokio::test]
async fn rule_26_objects_of_an_ended_install_are_taken_over_and_nothing_is_sent() {
    let (shop, home) = shop(team("tax")).await;
    let first = Install::start(&shop, &home, "first", "").await;
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME, Some(&first.name)).await;
    let second = Install::start(&shop, &home, "second", "").await;
    first.end().await;
    until_live(&shop, NAME, Some(&second.name)).await;
    // A killed install keeps its claim until its Lease has expired, or is deleted.
    let third = Install::start_as(&shop, &home, None, "").await;
    second.die().await;
    let leases = Api::<Lease>::namespaced(home.client.clone(), &home.namespace);
    leases.delete("second", &DeleteParams::default()).await.unwrap();
    let live = until_live(&shop, NAME, None).await;
    assert_eq!(controller(&live), None, "an install without a Lease claims nothing");
    assert_eq!(changes(&shop), (1, 0, 0));
    third.end().await;
}

#[tokio::test]
async fn an_expired_lease_is_noticed_without_an_event() {
    let (shop, home) = shop(team("tax")).await;
    let first = Install::start_as(&shop, &home, Some(("first", Timing::default())), "").await;
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME, Some(&first.name)).await;
    first.die().await;
    let second = Install::start(&shop, &home, "second", "").await;
    until_live(&shop, NAME, Some(&second.name)).await;
    assert_eq!(changes(&shop), (1, 0, 0));
    second.end().await;
}

#[tokio::test]
async fn rule_24_a_project_stays_while_a_deployment_of_another_shard_names_it() {
    let (shop, home) = shop(team("nobody")).await;
    let tax = Install::start(&shop, &home, "tax", "team=tax").await;
    let cart = Install::start(&shop, &home, "cart", "team=cart").await;
    for name in ["tax", "cart"] {
        shop.sandbox.apply(&deployment(&shop, name, name)).await.unwrap();
    }
    until_live(&shop, "tax", Some(&tax.name)).await;
    until_live(&shop, "cart", Some(&cart.name)).await;
    let projects = shop.api::<ConnectProject>();
    let project = projects.get(PROJECT).await.unwrap();
    assert!(!project.finalizers().is_empty(), "it has a finalizer although no install reconciles it");
    assert!(project.status.as_ref().is_none_or(|status| status.controller.is_none()));
    projects.delete(PROJECT, &DeleteParams::default()).await.unwrap();
    let deployments = shop.api::<ConnectorDeployment>();
    for (name, left) in [("tax", true), ("cart", false)] {
        let uid = deployments.get(name).await.unwrap().uid().unwrap();
        deployments.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = wait::await_condition(deployments.clone(), name, conditions::is_deleted(&uid));
        in_time(gone).await.expect("it is deleted in time").unwrap();
        if left {
            assert!(projects.get_opt(PROJECT).await.unwrap().is_some(), "the other deployment still needs it");
        }
    }
    let uid = project.uid().unwrap();
    let gone = wait::await_condition(projects, PROJECT, conditions::is_deleted(&uid));
    in_time(gone).await.expect("the project is deleted in time").unwrap();
    assert_eq!(changes(&shop), (2, 0, 2));
    tax.end().await;
    cart.end().await;
}
