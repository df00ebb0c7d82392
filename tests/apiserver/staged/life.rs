//! Creating, changing, previewing and publishing.

use connect_api::model::ConnectorUpdateAction;
use connect_operator::crd::{ConnectorStagedStatus, PreviewPermission, StagedCallKind};

use super::{apply, apply_until, change, open, record, until_reason, updates};
use crate::prelude::*;

/// Returns the call of which no response was recorded.
fn begun(status: &ConnectorStagedStatus) -> Option<StagedCallKind> {
    let state = status.remembered().unwrap();
    state.call.filter(|call| call.open).map(|call| call.kind)
}

/// Returns the tag for which the permission for a preview was requested.
fn previewed(status: &ConnectorStagedStatus) -> Option<String> {
    status.remembered().unwrap().preview.map(|preview| preview.tag)
}

#[tokio::test]
async fn a_tag_goes_from_git_to_its_publication_and_so_does_the_next() {
    let shop = open(&[]).await;
    let published = apply_until(&shop, &json!({"preview": "Request", "publishPolicy": "Private"}), "Published").await;
    let status = published.status.unwrap();
    assert_eq!(status.remote.as_ref().unwrap().state.as_deref(), Some("Published"));
    assert_eq!(status.preview, Some(PreviewPermission::Granted));
    assert_eq!(status.published_tag.as_deref(), Some("1.0.0"));
    assert_eq!(previewed(&status).as_deref(), Some("1.0.0"));
    assert_eq!(begun(&status), None);
    assert_eq!((shop.calls("createConnectorStaged"), updates(&shop)), (1, 2), "created, previewed, published");

    change(&shop, &json!({"spec": {"repository": {"tag": "1.1.0"}}})).await;
    let published = shop
        .until_object("kit", "the next tag", |object: &ConnectorStaged| {
            has(object, "Ready")
                && object.status.as_ref().is_some_and(|status| status.published_tag.as_deref() == Some("1.1.0"))
        })
        .await;
    assert_eq!(previewed(&published.status.unwrap()).as_deref(), Some("1.1.0"), "permission is for each tag");
    assert_eq!(updates(&shop), 5, "changed, previewed, published");
    let record = record(&shop);
    assert_eq!(record.repository.tag, "1.1.0");
    assert!(!record.has_changes);
    shop.until_events("Published", 2).await;
    assert_eq!(shop.events("Published").await, ["Tag 1.0.0 is published", "Tag 1.1.0 is published"]);
    let publications = shop.events("Publishing").await;
    let sent = |note: &String| note.starts_with("Sent the publication of staged connector kit: version ");
    assert!(publications.len() == 2 && publications.iter().all(sent), "{publications:?}");
}

#[tokio::test]
async fn all_differences_become_one_update_and_equal_fields_are_not_sent() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({"description": "first"}), "Staged").await;
    assert_eq!(updates(&shop), 0, "the create has all fields");
    let before = record(&shop);
    change(
        &shop,
        &json!({"spec": {
            "name": "Another kit",
            "creator": {"company": "Example", "noOfContributors": 3},
            "integrationTypes": ["oms", "tax"],
            "supportedRegions": ["europe-west1.gcp"],
            "privateProjects": [{"region": "europe-west1.gcp", "projectKey": "other"}],
            "repository": {"tag": "1.1.0"},
        }}),
    )
    .await;
    shop.until_object("kit", "all of it", |object: &ConnectorStaged| {
        has(object, "Ready") && object.status.as_ref().is_some_and(|status| status.observed_generation == 2)
    })
    .await;
    assert_eq!(updates(&shop), 1, "one update");
    let after = record(&shop);
    assert_eq!(after.version, before.version + 1);
    assert_eq!((after.name.as_str(), after.description.as_str()), ("Another kit", "first"));
    assert_eq!((after.creator.company.as_deref(), after.creator.no_of_contributors), (Some("Example"), Some(3)));
    assert_eq!(after.integration_types.iter().map(ToString::to_string).collect::<Vec<_>>(), ["oms", "tax"]);
    assert_eq!(after.supported_regions, ["europe-west1.gcp"]);
    assert_eq!(after.private_projects, ["europe-west1.gcp:other"]);
    assert_eq!(after.repository.tag, "1.1.0");

    // What is left out stays, and is named until it is in the spec again.
    change(&shop, &json!({"spec": {"description": null, "creator": {"noOfContributors": null}}})).await;
    let named = shop.until_object("kit", "named", |object: &ConnectorStaged| has(object, "ValuesRetained")).await;
    let conditions = named.status.expect("a status").conditions;
    let retained = conditions.iter().find(|condition| condition.type_ == "ValuesRetained").expect("it is there");
    assert!(retained.message.contains(": description, creator.noOfContributors."), "{}", retained.message);
    change(&shop, &json!({"spec": {"description": "second", "creator": {"noOfContributors": 3}}})).await;
    shop.until_object("kit", "nothing is left", |object: &ConnectorStaged| {
        has(object, "Ready") && !has(object, "ValuesRetained")
    })
    .await;
    assert_eq!((updates(&shop), record(&shop).description.as_str()), (2, "second"));
}

#[tokio::test]
async fn a_pending_certification_is_reported_with_its_remarks_and_changes_continue() {
    let shop = open(&["certification=by-hand"]).await;
    let waits = apply_until(&shop, &json!({"publishPolicy": "Certified"}), "InCertification").await;
    assert!(has(&waits, "Reconciling") && !has(&waits, "Stalled"), "no user has to act");
    assert_eq!(updates(&shop), 1);
    let id = record(&shop).id;
    shop.dev.world().comment_on_staged(&id, "reviewers", "The logo is missing", shop.dev.now()).unwrap();
    let asked = json!({"metadata": {"annotations": {"connect-operator.io/reconcile-requested-at": "now"}}});
    change(&shop, &asked).await;
    let reported = shop
        .until_object("kit", "the remark", |object: &ConnectorStaged| message(object).contains("The logo is missing"))
        .await;
    let comments = reported.status.unwrap().certification_comments;
    assert_eq!(comments.iter().map(|comment| comment.project_key.as_str()).collect::<Vec<_>>(), ["reviewers"]);

    change(&shop, &json!({"spec": {"creator": {"logoUrl": "https://example.com/logo.png"}}})).await;
    shop.until_object("kit", "the logo", |object: &ConnectorStaged| {
        object.status.as_ref().is_some_and(|status| status.observed_generation == 2 && begun(status).is_none())
            && updates(&shop) == 2
    })
    .await;
    assert_eq!(record(&shop).creator.logo_url.as_deref(), Some("https://example.com/logo.png"));
    shop.dev.world().finish_staged(&id, shop.dev.now()).unwrap();
    change(&shop, &json!({"metadata": {"annotations": {"connect-operator.io/reconcile-requested-at": "again"}}})).await;
    // A change during the certification is published after it.
    shop.until_object("kit", "another certification", |_: &ConnectorStaged| updates(&shop) == 3).await;
    assert!(record(&shop).already_listed);
}

#[tokio::test]
async fn foreign_changes_are_corrected() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({}), "Staged").await;
    let theirs = vec![ConnectorUpdateAction::SetName { name: "Theirs".to_owned() }];
    let id = record(&shop).id;
    shop.dev.world().change_staged(&id, theirs, shop.dev.now()).unwrap();
    assert_eq!(record(&shop).name, "Theirs");
    change(&shop, &json!({"metadata": {"annotations": {"connect-operator.io/reconcile-requested-at": "now"}}})).await;
    shop.until_object("kit", "its own name", |_: &ConnectorStaged| record(&shop).name == "Kit").await;
}

#[tokio::test]
async fn an_operator_killed_during_publishing_publishes_once() {
    let mut shop = open(&["certification=by-hand"]).await;
    let mut answers = shop.dev.listen();
    apply(&shop, &json!({"preview": "Request", "publishPolicy": "Private"})).await;
    // Killed once the record exists, and after each later step has begun.
    for step in [None, Some(StagedCallKind::Preview), Some(StagedCallKind::Publish)] {
        shop.until_object("kit", "the next step", |object: &ConnectorStaged| {
            object.status.as_ref().is_some_and(|status| match step {
                None => status.id.is_some(),
                Some(step) => status.remembered().unwrap().call.is_some_and(|call| call.kind == step),
            })
        })
        .await;
        shop.revive_operator().await;
    }
    until_reason(&shop, "Published").await;
    let record = record(&shop);
    assert!(record.already_listed && !record.has_changes);
    let mut accepted = BTreeMap::<String, u32>::new();
    while let Ok(answer) = answers.try_recv() {
        if answer.status != 201 {
            continue;
        }
        let body: serde_json::Value = serde_json::from_slice(&answer.asked.body).unwrap_or_default();
        let action = body["actions"][0]["action"].as_str().unwrap_or(answer.operation);
        *accepted.entry(action.to_owned()).or_default() += 1;
    }
    // A permission counts only if the response to its request was read, so each of the first two kills may cost another one.
    let previews = accepted.remove("updatePreviewable");
    assert!(matches!(previews, Some(1..=3)), "{previews:?}");
    assert_eq!(accepted, BTreeMap::from([("createConnectorStaged".to_owned(), 1), ("publish".to_owned(), 1)]));
}
