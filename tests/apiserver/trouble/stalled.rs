//! What a user has to correct: reported as Stalled, retried rarely, and resolved once the cause is gone.

use super::cluster::options;
use crate::prelude::*;

use Corrects::{Credentials, Interval, Spec};

/// What a user changes.
#[derive(Clone, Copy)]
enum Corrects {
    Spec,
    Interval,
    Credentials,
}

/// The name of the case; status and code of the refusal, and the operations that are refused (none: the credentials are
/// wrong); the reason; and what heals it.
type Row = (&'static str, u16, &'static str, &'static [&'static str], &'static str, Corrects);

const CREATE: &[&str] = &["createDeployment"];
const READ: &[&str] = &["getDeploymentByKey", "queryDeployments"];

/// The registry is checked before anything is sent, so the service refuses with codes that no check predicts.
#[rustfmt::skip]
const ROWS: [Row; 8] = [
    ("connector", 400, "ConnectorReferenceNotFound", CREATE, "ConnectorNotFound", Spec),
    ("application", 400, "DeploymentUnknownApplicationConfiguration", CREATE, "ConfigurationInvalid", Spec),
    ("key", 400, "DeploymentUnknownApplicationConfigurationKey", CREATE, "ConfigurationInvalid", Spec),
    ("region", 400, "DeploymentUnsupportedRegion", CREATE, "ConfigurationInvalid", Spec),
    ("unknown code", 400, "SurprisinglyNew", CREATE, "RequestRejected", Interval),
    ("right to read", 403, "AuthorizationError", READ, "PermissionMissing", Credentials),
    ("right to write", 403, "AuthorizationError", CREATE, "PermissionMissing", Credentials),
    ("credentials", 401, "", &[], "CredentialsRejected", Credentials),
];

#[tokio::test]
async fn what_a_user_has_to_correct_is_stalled_retried_rarely_and_healed_by_the_correction() {
    futures::future::join_all(ROWS.map(is_stalled_until_it_is_corrected)).await;
}

async fn is_stalled_until_it_is_corrected((case, status, code, operations, reason, corrects): Row) {
    let shop = Shop::with(options(), stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    for operation in operations {
        shop.dev.fault(Fault::of(operation, FaultAnswer::error(status, code))).unwrap();
    }
    if operations.is_empty() {
        shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "wrong")]).await;
    }
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let object = meanwhile(&shop.clock, FINE, shop.until_reason(reason)).await;
    let found = ["Stalled", "Reconciling", "Ready"].map(|kind| has(&object, kind));
    assert_eq!(found, [true, false, false], "{case}");
    assert!(reason != "RequestRejected" || message(&object).contains(code), "{case}: {}", message(&object));
    if operations.is_empty() {
        until_reported_with::<ConnectProject>(&shop, PROJECT, reason, &[]).await;
    }

    let counted = || (shop.dev.counts().values().sum::<u64>(), shop.calls("createDeployment"));
    let (all, creates) = counted();
    assert!(creates <= 1, "{case}: {creates} creates at once");
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let (all, creates) = (counted().0 - all, counted().1 - creates);
    assert!(creates <= 3, "{case}: {creates} creates in an hour");
    let most = if operations.is_empty() { 13 } else { 60 };
    assert!((1..=most).contains(&all), "{case}: {all} calls in an hour");

    shop.dev.clear_faults();
    match corrects {
        Credentials => shop.put_credentials("api-clients-client").await,
        Interval => shop.change(&json!({"spec": {"interval": "6m"}})).await,
        Spec => drop(shop.sandbox.apply(&shop.with_level("debug")).await.unwrap()),
    }
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.there().len(), 1, "{case}");
}
