//! Each ConnectProject costs a client and a poller, so there is a limit for each namespace and one for all.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use clock::Clock;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{Authorities, Limits};
use connect_api::{ClientContext, CommerceApi};
use connect_operator::controllers::clients::connect_factory::HttpFactory;
use connect_operator::controllers::project_access::project_quota::ProjectLimits;
use connect_operator::controllers::remote::{ConnectFactory, Connection, Settings};
use connect_operator::controllers::reporting::conditions::{is_true, ready_message, ready_reason};
use connect_operator::crd::ConnectProject;
use dev_server::{Catalogue, Options};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::DeleteParams;
use kube::runtime::wait;
use serde_json::{Value, json};

use crate::patience::in_time;
use crate::shop::{CREDENTIALS, Shop};

type Made = Arc<Mutex<Vec<(String, Weak<dyn Connection>)>>>;

/// Makes HTTP clients, and records the project key of each.
struct Counted {
    factory: HttpFactory,
    made: Made,
}

impl ConnectFactory for Counted {
    fn connect(&self, settings: &Settings) -> Result<Arc<dyn Connection>, String> {
        let client = self.factory.connect(settings)?;
        self.made.lock().unwrap().push((settings.project_key.clone(), Arc::downgrade(&client)));
        Ok(client)
    }

    fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        self.factory.commerce(settings, url)
    }
}

/// Project keys of all clients that were made, and of those that still exist.
fn clients(made: &Made) -> (Vec<String>, Vec<String>) {
    let made = made.lock().unwrap();
    let mut all: Vec<_> = made.iter().map(|(key, _)| key.clone()).collect();
    let mut held: Vec<_> =
        made.iter().filter(|(_, client)| client.strong_count() > 0).map(|(key, _)| key.clone()).collect();
    all.sort();
    held.sort();
    (all, held)
}

/// A shop with credentials for several project keys, and the record of the clients that its operator makes.
async fn shop(limits: ProjectLimits) -> (Shop, Made) {
    let scopes: Vec<_> = ["aa", "bb", "cc", "dd"].map(|key| format!("manage_project:{key}")).into();
    let client = json!({"clients": [{"id": "many", "secret": "dev-secret", "scopes": scopes}]});
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&client.to_string()).unwrap());
    let mut shop = Shop::without_operator(Options { catalogue, ..Options::default() }, Clock::system()).await;
    shop.put_secret(CREDENTIALS, &[("clientId", "many"), ("clientSecret", "dev-secret")]).await;
    shop.project_limits = limits;
    let made = count_clients(&mut shop);
    (shop, made)
}

/// Records the clients from the next start of the operator.
fn count_clients(shop: &mut Shop) -> Made {
    let made = Made::default();
    let factory = HttpFactory {
        allowed_hosts: AllowedHosts::parse(["http://127.0.0.1:*"]).expect("a host"),
        around: ClientContext::plain(shop.clock.clone()),
        limits: Limits::default(),
        authorities: Authorities::default(),
    };
    shop.remotes = Some(Arc::new(Counted { factory, made: Arc::clone(&made) }));
    made
}

/// A project with this name and key.
fn project(shop: &Shop, key: &str) -> Value {
    let mut manifest = shop.project();
    manifest["metadata"]["name"] = json!(key);
    manifest["spec"]["projectKey"] = json!(key);
    manifest
}

/// Creates a project whose creation timestamp is later than `before`; these timestamps are whole seconds. Returns it.
async fn make(shop: &Shop, key: &str, before: Timestamp) -> Timestamp {
    loop {
        let made = shop.sandbox.apply(&project(shop, key)).await.unwrap();
        let created = made.metadata.creation_timestamp.unwrap().0;
        if created > before {
            return created;
        }
        delete(shop, key).await;
    }
}

async fn delete(shop: &Shop, key: &str) {
    let api = shop.api::<ConnectProject>();
    api.delete(key, &DeleteParams::default()).await.unwrap();
    let gone = wait::await_condition(api, key, |object: Option<&ConnectProject>| object.is_none());
    in_time(gone).await.expect("it is deleted in time").unwrap();
}

fn conditions(project: &ConnectProject) -> &[Condition] {
    project.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
}

/// Returns the message of a project once its Ready condition has this reason for its generation.
async fn until_reason(shop: &Shop, key: &str, reason: &str) -> String {
    let is = |object: &ConnectProject| {
        ready_reason(conditions(object)) == Some(reason)
            && object.status.as_ref().map(|status| status.observed_generation) == object.metadata.generation
    };
    let project = shop.until_object(key, reason, is).await;
    assert_eq!(is_true(conditions(&project), "Stalled"), reason == "TooManyProjects");
    ready_message(conditions(&project)).unwrap_or_default().to_owned()
}

/// Returns once the operator has clients for exactly these project keys.
async fn until_held(made: &Made, keys: &[&str]) {
    let held = async {
        while clients(made).1 != keys {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(held).await.unwrap_or_else(|_| panic!("not in time: {keys:?}, but {:?}", clients(made)));
}

#[tokio::test]
async fn rule_28_the_oldest_projects_of_a_namespace_are_used_and_a_newer_one_continues_when_one_is_deleted() {
    let (mut shop, made) = shop(ProjectLimits { per_namespace: 2, total: 1_000 }).await;
    // Created while no operator runs, so that the order of the first list does not matter.
    let mut newest = Timestamp::MIN;
    for key in ["cc", "bb", "aa"] {
        newest = make(&shop, key, newest).await;
    }
    shop.start_operator();
    let message = until_reason(&shop, "aa", "TooManyProjects").await;
    assert!(message.contains("2 oldest ConnectProjects of a namespace"), "{message}");
    until_reason(&shop, "bb", "Available").await;
    until_reason(&shop, "cc", "Available").await;
    // Newer than all others, with a name that sorts before theirs.
    make(&shop, "dd", newest).await;
    until_reason(&shop, "dd", "TooManyProjects").await;
    assert_eq!(clients(&made).0, ["bb", "cc"], "no client was made for the others, and so no call");
    let page = shop.tracker.as_ref().unwrap().metrics().encode();
    let aged =
        page.lines().filter(|line| line.starts_with("connect_operator_project_") && line.contains("project=\"aa\""));
    assert_eq!(aged.collect::<Vec<_>>(), Vec::<&str>::new(), "no series for a project that is not worked with");

    // Another process selects the same projects.
    shop.stop_operator().await;
    let made = count_clients(&mut shop);
    shop.start_operator();
    for key in ["aa", "dd"] {
        shop.sandbox.change(&project(&shop, key), &json!({"spec": {"requestsPerSecond": 7}})).await.unwrap();
        until_reason(&shop, key, "TooManyProjects").await;
    }
    until_held(&made, &["bb", "cc"]).await;

    delete(&shop, "bb").await;
    until_reason(&shop, "aa", "Available").await;
    assert_eq!(clients(&made).0, ["aa", "bb", "cc"], "a deleted project makes room for another one");

    // A lower limit removes the newest.
    shop.stop_operator().await;
    shop.project_limits.per_namespace = 1;
    let made = count_clients(&mut shop);
    shop.start_operator();
    until_reason(&shop, "aa", "TooManyProjects").await;
    until_held(&made, &["cc"]).await;
    assert_eq!(clients(&made).0, ["cc"]);
}

#[tokio::test]
async fn rule_28_all_namespaces_together_have_a_limit_too() {
    let (mut shop, made) = shop(ProjectLimits { per_namespace: 2, total: 2 }).await;
    let aa = make(&shop, "aa", Timestamp::MIN).await;
    let bb = make(&shop, "bb", aa).await;
    let other = shop.sandbox.another().await;
    shop.also_watched = vec![other.namespace.clone()];
    shop.start_operator();
    until_reason(&shop, "aa", "Available").await;
    let mine = std::mem::replace(&mut shop.sandbox, other);
    shop.put_secret(CREDENTIALS, &[("clientId", "many"), ("clientSecret", "dev-secret")]).await;
    make(&shop, "cc", bb).await;
    let message = until_reason(&shop, "cc", "TooManyProjects").await;
    assert!(message.contains("2 oldest projects of all namespaces"), "{message}");
    assert!(!message.contains(&mine.namespace), "other namespaces are not named: {message}");
    let other = std::mem::replace(&mut shop.sandbox, mine);
    delete(&shop, "aa").await;
    shop.sandbox = other;
    until_reason(&shop, "cc", "Available").await;
    until_held(&made, &["bb", "cc"]).await;
}

#[tokio::test]
async fn a_deleted_project_releases_its_client() {
    let (mut shop, made) = shop(ProjectLimits::DEFAULT).await;
    shop.start_operator();
    for key in ["aa", "bb", "cc"] {
        shop.sandbox.apply(&project(&shop, key)).await.unwrap();
        until_reason(&shop, key, "Available").await;
    }
    assert_eq!(clients(&made).1, ["aa", "bb", "cc"]);
    delete(&shop, "bb").await;
    until_held(&made, &["aa", "cc"]).await;
    delete(&shop, "aa").await;
    delete(&shop, "cc").await;
    until_held(&made, &[]).await;
}
