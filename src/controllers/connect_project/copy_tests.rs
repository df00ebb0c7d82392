//! Tests of what is copied, when a copy is written, and which changes are noticed. Writing itself needs an API server.

use super::*;

fn secret(data: &[(&str, &str)]) -> Secret {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
    Secret { data: Some(data.collect()), ..Secret::default() }
}

const ORIGINAL: &[(&str, &str)] = &[("clientId", "id"), ("clientSecret", "first"), ("password", "of-something-else")];

#[test]
fn rule_24_only_the_credentials_are_copied() {
    let data = copied(&secret(ORIGINAL), &CredentialsRef::default());
    assert_eq!(data.keys().collect::<Vec<_>>(), ["clientId", "clientSecret"]);
    let named = CredentialsRef { client_secret_key: Some("password".to_owned()), ..CredentialsRef::default() };
    let data = copied(&secret(ORIGINAL), &named);
    assert_eq!(data.keys().collect::<Vec<_>>(), ["clientId", "password"], "under the keys that it names");
}

#[test]
fn rule_24_a_copy_is_written_when_it_differs() {
    let data = copied(&secret(ORIGINAL), &CredentialsRef::default());
    for (case, found, patch) in [
        ("the same", &[("clientId", "id"), ("clientSecret", "first")][..], None),
        ("rotated", &[("clientId", "id"), ("clientSecret", "old")], Some(json!({"clientSecret": "Zmlyc3Q="}))),
        (
            "scopes are gone",
            &[("clientId", "id"), ("clientSecret", "first"), ("scopes", "a")],
            Some(json!({"scopes": null})),
        ),
        ("emptied by hand", &[], Some(json!({"clientId": "aWQ=", "clientSecret": "Zmlyc3Q="}))),
    ] {
        assert_eq!(
            changed(&secret(found), &data, &BTreeMap::new()).map(|patch| patch["data"].clone()),
            patch,
            "{case}"
        );
    }
}

#[test]
fn fingerprints_distinguish_credentials() {
    let of = |data: &[(&str, &str)]| fingerprint(&copied(&secret(data), &CredentialsRef::default()));
    let first = of(ORIGINAL);
    assert_eq!(first, of(&[("clientId", "id"), ("clientSecret", "first")]), "another key of the Secret");
    for (case, data) in [
        ("another secret", &[("clientId", "id"), ("clientSecret", "second")][..]),
        ("a letter moved", &[("clientId", "idf"), ("clientSecret", "irst")]),
        ("scopes beside it", &[("clientId", "id"), ("clientSecret", "first"), ("scopes", "")]),
    ] {
        assert_ne!(first, of(data), "{case}");
    }
}

#[tokio::test]
async fn rule_24_a_possible_leftover_copy_starts_a_search() {
    let object_ref = ObjectRef::project("shop", "shop");
    let kept = |uid: &str| Kept { uid: uid.to_owned(), fingerprint: [0; 32] };
    let notified = |copies: &Copies| futures::FutureExt::now_or_never(copies.left()).is_some();

    let copies = Copies::new("operator".to_owned());
    copies.gone(&object_ref);
    assert!(!notified(&copies), "an unknown copy was removed before, or another process knows it");
    copies.note(&object_ref, kept("one"));
    assert!(copies.is_kept(&object_ref, &kept("one")) && !copies.is_kept(&object_ref, &kept("two")));
    assert!(!notified(&copies), "nothing is left over");
    copies.note(&object_ref, kept("two"));
    assert!(notified(&copies), "another project of the same name: the deletion of the first was not observed");
    copies.gone(&object_ref);
    assert!(notified(&copies), "the project was deleted while its copy existed");
}
