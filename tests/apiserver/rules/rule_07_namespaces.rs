//! Rule 7: digests tell nothing to whoever can read the statuses of two namespaces.

use crate::prelude::*;

/// Each text in a state that looks like a digest.
fn digests(state: &Value, found: &mut BTreeSet<String>) {
    match state {
        Value::String(text) => {
            let is_digest = text.len() >= 20 && text.chars().all(|it| it.is_ascii_hexdigit() || it == ':');
            found.extend(is_digest.then(|| text.clone()));
        }
        Value::Array(all) => all.iter().for_each(|part| digests(part, found)),
        Value::Object(all) => all.values().for_each(|part| digests(part, found)),
        _ => {}
    }
}

fn digests_of(object: &ConnectorDeployment) -> BTreeSet<String> {
    let state = object.status.as_ref().and_then(|status| status.state.as_deref()).expect("it has a state");
    let mut found = BTreeSet::new();
    digests(&serde_json::from_str(state).expect("it is JSON"), &mut found);
    found
}

#[tokio::test]
async fn rule_07_equal_values_in_two_namespaces_have_different_digests() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let other = shop.sandbox.another().await;
    shop.also_watched = vec![other.namespace.clone()];
    shop.put_project_and_secrets().await;
    other.put_credentials("dev-client").await;
    other.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    other.apply(&shop.project()).await.unwrap();
    shop.start_operator();
    for sandbox in [&shop.sandbox, &other] {
        sandbox.apply(&shop.deployment()).await.unwrap();
        sandbox.until_reason(NAME, "Deployed").await;
    }
    let (one, two) = (digests_of(&shop.get().await), digests_of(&other.objects().get(NAME).await.unwrap()));
    assert!(!one.is_empty() && one.len() == two.len(), "{one:?} {two:?}");
    assert!(one.is_disjoint(&two), "{:?} are equal", one.intersection(&two).collect::<Vec<_>>());
}
