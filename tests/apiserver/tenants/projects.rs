//! Each ConnectProject costs a client and a poller.

use std::sync::Weak;

use connect_api::CommerceApi;
use connect_operator::operator::remote::{ConnectFactory, Connection, Settings};

use crate::operators::http_factories;
use crate::prelude::*;

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
async fn shop() -> (Shop, Made) {
    let scopes = ["aa", "bb", "cc"].map(|key| format!("manage_project:{key}"));
    let catalogue = with_client("many", &scopes.each_ref().map(String::as_str));
    let mut shop = Shop::without_operator(Options { catalogue, ..Options::default() }, fast()).await;
    shop.put_credentials("many").await;
    let made = count_clients(&mut shop);
    (shop, made)
}

/// Records the clients from the next start of the operator.
fn count_clients(shop: &mut Shop) -> Made {
    let made = Made::default();
    let factory = http_factories(ClientContext::plain(shop.clock.clone())).0;
    shop.remotes = Some(Arc::new(Counted { factory, made: Arc::clone(&made) }));
    made
}

/// A project with this name and key.
fn project(shop: &Shop, key: &str) -> Value {
    with_spec(named(shop.project(), key), &json!({"projectKey": key}))
}

/// Returns once the project is available.
async fn until_available(shop: &Shop, key: &str) {
    shop.until_reason_of::<ConnectProject>(key, "Available").await;
}

/// Returns once the operator has clients for exactly these project keys.
async fn until_held(made: &Made, keys: &[&str]) {
    until(&format!("clients of {keys:?}"), async || clients(made).1 == keys).await;
}

#[tokio::test]
async fn a_deleted_project_releases_its_client() {
    let (mut shop, made) = shop().await;
    shop.start_operator();
    for key in ["aa", "bb", "cc"] {
        shop.sandbox.apply(&project(&shop, key)).await.unwrap();
        until_available(&shop, key).await;
    }
    assert_eq!(clients(&made).1, ["aa", "bb", "cc"]);
    shop.sandbox.delete::<ConnectProject>("bb").await;
    until_held(&made, &["aa", "cc"]).await;
    shop.sandbox.delete::<ConnectProject>("aa").await;
    shop.sandbox.delete::<ConnectProject>("cc").await;
    until_held(&made, &[]).await;
}
