//! Texts of the service that are longer than anybody expects: ids, names, and what a decision compares.

use crate::prelude::*;
use crate::rewriting::{self, Rewrite};

/// What the gateway puts before each text; longer than any bound that a schema would have for an id.
const LONG: &str = concat!(
    "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-",
    "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-",
    "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-",
);

/// Makes the ids of deployments and builds longer, and other texts much longer.
fn lengthen(object: &mut Value) {
    // A record has both, and only its own ids are in paths.
    if object.get("deployedRegion").is_some() {
        for (path, times) in [
            ("/id", 1),
            ("/details/build/id", 1),
            ("/rollbackRevision", 1),
            ("/connector/name", 5),
            ("/connector/repository/tag", 5),
            ("/applications/0/url", 30),
            ("/applications/0/topic", 30),
        ] {
            if let Some(Value::String(text)) = object.pointer_mut(path) {
                *text = format!("{}{text}", LONG.repeat(times));
            }
        }
    }
}

async fn shop(clock: Clock) -> Shop {
    let rewrite = Rewrite { path: |path| path.replace(LONG, ""), object: lengthen };
    rewriting::live(quick(), clock, rewrite, &json!({})).await
}

#[tokio::test]
async fn long_texts_of_the_service_make_no_status_invalid() {
    let shop = shop(fast()).await;
    let live = shop.get().await;
    assert!(live.status.and_then(|status| status.id).is_some_and(|id| id.starts_with(LONG)), "the id is whole");
    shop.change(&json!({"spec": level("debug")})).await;
    shop.until("redeployed", |object| {
        status(object).remote_version() == Some(2) && status(object).remote_state() == Some("Deployed")
    })
    .await;
    shop.until_reason("Deployed").await;
    let id = shop.there().remove(0).id;
    shop.dev.world().rollback_elsewhere(&id, shop.dev.now()).unwrap();
    shop.annotate("connect-operator.io/reconcile-requested-at", "now").await;
    shop.until("rolled back", |object| json!(object.status).to_string().contains("RolledBack")).await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("updateDeploymentById")), (1, 1));
    shop.delete_wholly().await;
    assert!(shop.there().is_empty());
}

/// Only the end of the build id tells that a redeploy has arrived whose response was lost, and which is over before
/// anybody
/// looks.
#[tokio::test]
async fn a_build_id_is_compared_to_its_end() {
    let shop = shop(stepped()).await;
    pass(&shop.clock, COARSE, Duration::from_mins(5)).await;
    let lost = Fault::of("updateDeploymentById", FaultAnswer::dropped()).after_the_effect().times(1);
    shop.dev.fault(lost).unwrap();
    shop.put_token("second-token-of-the-shop").await;
    until_called(&shop, "updateDeploymentById", 1).await;
    pass(&shop.clock, FINE, Duration::from_mins(4)).await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.calls("updateDeploymentById"), 1);
}
