//! A namespace whose reconciles hang leaves slots of its kind for other namespaces.

use futures::TryStreamExt as _;

use crate::prelude::*;
use crate::reported;

/// Number of objects beyond the slots.
const MORE: u64 = 20;

/// A kind, and the objects of it in this test.
struct Kind {
    /// What the names of its objects begin with.
    prefix: &'static str,
    /// Maximum number of concurrent reconciles.
    slots: u64,
    /// An object whose reconcile reads this Secret.
    reading: fn(&Shop, &str) -> Value,
    /// An object whose reconcile ends at once, and the reason that it reports.
    quick: (fn(&Shop) -> Value, &'static str),
}

const KINDS: [Kind; 3] = [
    Kind {
        prefix: "check-",
        slots: 16,
        reading: check_with,
        quick: (|shop| check_with(shop, "none"), "SecretMissing"),
    },
    Kind {
        prefix: "project-",
        slots: 32,
        reading: project_with,
        quick: (|shop| project_with(shop, "none"), "SecretMissing"),
    },
    Kind { prefix: "deployment-", slots: 128, reading: deployment_with, quick: (without_project, "ProjectMissing") },
];

fn check_with(shop: &Shop, secret: &str) -> Value {
    let from = json!([{"name": "Cookie", "valueFrom": {"secretKeyRef": {"name": secret, "key": "cookie"}}}]);
    with_spec(check(shop), &json!({"headers": from}))
}

fn project_with(shop: &Shop, secret: &str) -> Value {
    with_spec(shop.project(), &json!({"credentialsSecretRef": {"name": secret}}))
}

fn deployment_with(shop: &Shop, secret: &str) -> Value {
    let mut manifest = shop.deployment();
    manifest["spec"]["configurations"][0]["securedConfiguration"][0]["valueFrom"]["secretKeyRef"]["name"] =
        json!(secret);
    manifest
}

fn without_project(shop: &Shop) -> Value {
    with_spec(shop.deployment(), &json!({"projectRef": {"name": "none"}}))
}

#[tokio::test]
async fn rule_27_a_namespace_whose_reconciles_hang_keeps_no_other_waiting() {
    let sandbox = Sandbox::with_definitions(crd::all()).await;
    let mut shop = Shop::on(sandbox, Options::default(), fast()).await;
    (shop.everywhere, shop.concurrency) = (true, 1_000);
    let (cluster, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    shop.put_credentials("dev-client").await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.until_available().await;
    for kind in KINDS {
        // Not those of the kind before, whose late events cause reads, too.
        cluster.hold(Hold::Secrets(kind.prefix));
        let held = |number: u64| format!("{}{number:03}", kind.prefix);
        let apply = async |number: u64| {
            let name = held(number);
            shop.sandbox.apply(&named((kind.reading)(&shop, &name), &name)).await.map(|_| ())
        };
        stream::iter(0..kind.slots + MORE).map(apply).buffer_unordered(8).try_collect::<()>().await.unwrap();
        let most = kind.slots * 3 / 4;
        cluster.until_held(most).await;
        let other = shop.sandbox.another().await;
        let (quick, reason) = kind.quick;
        let manifest = quick(&shop);
        let name = manifest["metadata"]["name"].as_str().unwrap();
        other.apply(&manifest).await.unwrap();
        until_reason(&other.api(&manifest), name, reason).await;
        assert_eq!(cluster.most_held(), most, "{name}");
        cluster.release();
        for number in 0..kind.slots + MORE {
            until_reason(&shop.sandbox.api(&manifest), &held(number), "SecretMissing").await;
        }
    }
}

async fn until_reason(api: &Api<DynamicObject>, name: &str, reason: &str) {
    let is = |object: Option<&DynamicObject>| object.is_some_and(|object| reported::reason(object) == reason);
    let seen = in_time(awaited(api.clone(), name, is)).await;
    assert!(seen.is_ok(), "{name} did not report {reason} in time");
}
