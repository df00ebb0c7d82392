//! What has to be there before the controllers start: the CRDs, and the digest key. Waits for it, and says what is missing.

use std::time::Duration;

use kube::Client;

use crate::error_text::with_causes;
use crate::leader::scope::Labels;
use crate::operator::clients::served_crds;
use crate::operator::cluster::objects::digest_key::{self, DATA_KEY, KEY_LENGTH};
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::values::digest::DigestKey;

/// First and longest pause between two attempts; doubles. An install often creates the CRDs together with the operator, and
/// the API server serves them a moment later.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Repeats an attempt, with growing pauses, until it has a result; until then logs why it has none, whenever that changes.
async fn until_there<T, A>(mut attempt: impl FnMut() -> A) -> T
where
    A: Future<Output = Result<T, String>>,
{
    let (mut pause, longest) = AGAIN;
    let mut reported = String::new();
    loop {
        match attempt().await {
            Ok(result) => return result,
            Err(why) if why != reported => {
                tracing::warn!("{why}");
                reported = why;
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// Returns once the served CRDs have the fields that this version needs, or if the API server does not tell: an operator
/// of some namespaces has no right to ask, where the cluster does not grant it to everybody. A write that an older CRD
/// cuts is noticed then.
pub(super) async fn crds_are_served(client: &Client) {
    until_there(|| are_served(client)).await;
}

async fn are_served(client: &Client) -> Result<(), String> {
    match served_crds::missing(client).await {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => Err(format!(
            "waiting for the CRDs of this version: connect-operator crds | kubectl apply --server-side -f -; missing: {}",
            missing.join(", ")
        )),
        Err(error) if served_crds::is_not_told(&error) => {
            let (why, remedy) = (with_causes(&error), served_crds::DISCOVERY);
            tracing::warn!("it is not checked whether the CRDs are those of this version, because of {why}. {remedy}");
            Ok(())
        }
        Err(error) => Err(format!("the CRDs cannot be read, which is tried again: {}", with_causes(&error))),
    }
}

/// Returns the digest key once it can be read or created.
///
/// # Errors
/// That the Secret has something else: only a user can tell what is lost if it is replaced.
pub(super) async fn digest_key(
    client: &Client,
    namespace: &str,
    name: &str,
    labels: &Labels,
) -> Result<DigestKey, String> {
    let known = until_there(|| async move {
        let known = digest_key::load_or_create(client, namespace, name, labels).await;
        known.map_err(|error| why_no_key(namespace, name, &error))
    });
    known.await.ok_or_else(|| {
        format!(
            "the Secret {namespace}/{name} does not hold a digest key ({KEY_LENGTH} bytes under `{DATA_KEY}`): name another one \
             with --digest-key-secret, or delete it to have a new one created"
        )
    })
}

fn why_no_key(namespace: &str, name: &str, error: &kube::Error) -> String {
    let what = format!("the Secret {namespace}/{name} with the digest key cannot be read or created");
    let why = with_causes(error);
    if refusal::definite(Access::Write, error).is_none() {
        return format!("{what}, which is tried again: {why}");
    }
    format!(
        "{what}, and nothing is reconciled until it is there: {why}. {}; let the operator get and create Secrets in its \
         namespace; or create this one: kubectl create secret generic {name} --namespace {namespace} \
         --from-literal={}=\"$(openssl rand -hex {})\"",
        refusal::LABELS,
        DATA_KEY,
        KEY_LENGTH / 2
    )
}
