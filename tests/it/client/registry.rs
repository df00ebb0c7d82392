//! Registry and staged connectors: what each operation sends, how it interprets the answer, and lists over many pages.

use connect_api::model::{ConnectorStagedDraft, ConnectorUpdate, ConnectorUpdateAction, Repository};
use connect_api::paging;
use connect_api::registry::StagedApi;
use futures::TryStreamExt as _;
use http::header;

use super::remote::{Remote, answer, deployment, error_answer, id, json_answer, no_hurry, settings, with_header};
use crate::prelude::*;

fn draft() -> ConnectorStagedDraft {
    serde_json::from_value(json!({
        "key": "my-tax", "name": "Tax", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "v1"}, "integrationTypes": ["tax"],
    }))
    .expect("a draft")
}

fn update() -> ConnectorUpdate {
    let repository = Repository { url: "https://example.com/tax.git".into(), tag: "v2".into() };
    ConnectorUpdate {
        version: 3,
        actions: vec![
            ConnectorUpdateAction::SetRepository(repository.into()),
            ConnectorUpdateAction::Publish { certification: false },
        ],
    }
}

fn staged(id: &str) -> Value {
    json!({
        "id": id, "key": "my-tax", "version": 3, "name": "Tax", "description": "", "integrationTypes": ["tax"],
        "creator": {"email": "dev@example.com"}, "repository": {"url": "https://example.com/tax.git", "tag": "v1"},
        "configurations": [], "private": true, "privateProjects": [], "supportedRegions": [], "status": "Draft",
        "alreadyListed": false, "hasChanges": false, "isPreviewable": "none",
    })
}

fn connector(id: &str) -> Value {
    json!({
        "id": id, "version": 1, "name": "Tax", "integrationTypes": ["tax"], "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "v1"}, "private": false, "supportedRegions": [],
        "certified": true,
    })
}

#[tokio::test]
async fn a_delete_whose_answer_has_no_record_is_followed_by_a_read() {
    let gone = || error_answer(404, "ResourceNotFound", "gone");
    for (case, deleted, read, expected) in [
        ("404 without a body, and it does not exist", answer(404, ""), gone(), Ok(false)),
        ("404 without a body, and it exists", answer(404, ""), json_answer(200, &staged("42")), Err(Some(404))),
        ("404 without a body, and unknown", answer(404, ""), answer(500, ""), Err(Some(404))),
        ("success without a body, and it does not exist", answer(204, ""), gone(), Ok(false)),
        ("success without a body, and it exists", answer(200, "{}"), json_answer(200, &staged("42")), Ok(true)),
        ("success without a body, and unknown", answer(200, ""), answer(500, ""), Err(None)),
    ] {
        let answers = std::sync::Mutex::new(vec![read, deleted]);
        let remote = Remote::start(move |_| answers.lock().expect("not poisoned").pop().expect("two requests")).await;
        let outcome = remote.client().discard(&id(), no_hurry()).await;
        assert_eq!(outcome.map(|left| left.is_some()).map_err(|error| error.status()), expected, "{case}");
        let lines: Vec<_> = remote.seen().into_iter().map(|seen| seen.line).collect();
        assert_eq!(lines, ["DELETE /connectors/drafts/42", "GET /connectors/drafts/42"], "{case}");
    }
}

#[tokio::test]
async fn ids_and_keys_stay_in_their_segment_of_the_path_or_are_not_sent() {
    let remote = Remote::start(|_| answer(500, "")).await;
    let api = remote.client();
    for segment in ["..", ".", "", "%2e%2e/", "a/../../b", "a b", "key=x", "drafts", "a?b#c", "ä", "\n"] {
        let before = remote.seen().len();
        for selector in [Selector::Id(segment.into()), Selector::Key(segment.into())] {
            let _ = api.staged(&selector).await;
            let _ = api.connector(&selector).await;
            let _ = api.update(&selector, &update(), no_hurry()).await;
            let _ = api.discard(&selector, no_hurry()).await;
        }
        for seen in &remote.seen()[before..] {
            let (_, path) = seen.line.split_once(' ').expect("a method");
            let (folder, last) = path.rsplit_once('/').expect("a path");
            assert!(
                matches!(folder, "/connectors" | "/connectors/drafts") && !path.contains(".."),
                "{segment:?}: {path}"
            );
            assert!(path != "/connectors/drafts", "{segment:?} is not a list");
            let last = last.strip_prefix("key=").unwrap_or(last);
            let decoded: Vec<_> = form_urlencoded::parse(last.as_bytes()).collect();
            assert_eq!(decoded, [(segment.into(), "".into())], "{path}");
        }
        let sent = remote.seen().len() - before;
        let expected = match segment {
            "" => 0,
            // After `key=`, a dot is not a path step.
            "." | ".." => 4,
            "drafts" => 7,
            _ => 8,
        };
        assert_eq!(sent, expected, "{segment:?}");
    }
    for taken in ["search", "drafts"] {
        let error = api.connector(&Selector::Id(taken.into())).await.expect_err("the path would be that of a list");
        assert_eq!(error.failure, Failure::NotSent, "{taken}");
    }
}

#[tokio::test]
async fn changes_are_sent_in_time_or_not_at_all_and_lost_answers_leave_the_result_open() {
    let remote = Remote::start(|_| json_answer(201, &staged("42"))).await;
    let api = remote.client();
    let late = Timestamp::UNIX_EPOCH;
    for error in [
        api.stage(&draft(), late).await.map(drop).expect_err("too late"),
        api.update(&id(), &update(), late).await.map(drop).expect_err("too late"),
        api.discard(&id(), late).await.map(drop).expect_err("too late"),
    ] {
        assert_eq!((error.failure.clone(), error.effect()), (Failure::NotSent, Effect::None), "{error}");
    }
    assert!(remote.seen().is_empty());

    // It announces more bytes than it sends.
    let cut = Remote::start(|_| with_header(answer(200, "{"), header::CONTENT_LENGTH.as_str(), "9")).await;
    let api = cut.client();
    for error in [
        api.stage(&draft(), no_hurry()).await.map(drop).expect_err("lost"),
        api.update(&id(), &update(), no_hurry()).await.map(drop).expect_err("lost"),
        api.discard(&id(), no_hurry()).await.map(drop).expect_err("lost"),
    ] {
        assert_eq!((error.failure.clone(), error.effect()), (Failure::NoAnswer, Effect::Unknown), "{error}");
    }
    assert_eq!(cut.seen().len(), 3, "each was sent once");

    let (address, _socket) = crate::addresses::closed();
    let nobody = settings(&format!("http://{address}"), &remote.url());
    let api = HttpConnect::new(nobody, ClientContext::plain(clock::Clock::system()));
    let error = api.expect("a client").stage(&draft(), no_hurry()).await.expect_err("nothing listens");
    assert_eq!((error.failure.clone(), error.effect()), (Failure::NotSent, Effect::None));
}

/// Two hundred and fifty of each; one more appears at the front after the first page.
#[tokio::test]
async fn lists_are_read_page_after_page_and_no_id_comes_twice() {
    let remote = Remote::start(|seen| {
        let number = |name: &str| -> usize {
            let value = seen.line.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.expect("the parameter is sent").parse().expect("a number")
        };
        let (limit, offset) = (number("limit"), number("offset"));
        // After the first page there is one more at the front.
        let first = usize::from(offset > 0);
        let total = 250 + first;
        let ids = (offset..total.min(offset + limit)).map(|at| (at + 1 - first).to_string());
        let record = match seen.line.as_str() {
            line if line.contains("drafts") => staged,
            line if line.contains("deployments") => deployment,
            _ => connector,
        };
        let results: Vec<_> = ids.map(|id| record(&id)).collect();
        json_answer(
            200,
            &json!({"limit": limit, "offset": offset, "count": results.len(), "total": total, "results": results}),
        )
    })
    .await;
    let api = remote.client();
    let expected: Vec<_> = (1..=250).map(|id| id.to_string()).collect();
    let query = ["a", "b"].map(|word| ("sort", word.to_owned())).to_vec();
    let found: Vec<_> = paging::connectors(&api, &query).map_ok(|found| found.id).try_collect().await.expect("pages");
    assert_eq!(found, expected);
    let found: Vec<_> = paging::connectors_staged(&api).map_ok(|found| found.id).try_collect().await.expect("pages");
    assert_eq!(found, expected);
    let found: Vec<_> = paging::deployments(&api).map_ok(|found| found.id.clone()).try_collect().await.expect("pages");
    assert_eq!(found, expected);
    let lines: Vec<_> = remote.seen().into_iter().map(|seen| seen.line).collect();
    let pages = [(100, 0), (100, 100), (100, 200)];
    let searches =
        pages.map(|(limit, offset)| format!("GET /connectors/search?sort=a&sort=b&limit={limit}&offset={offset}"));
    let lists = pages.map(|(limit, offset)| format!("GET /connectors/drafts?limit={limit}&offset={offset}"));
    let deployments = pages.map(|(limit, offset)| format!("GET /demo/deployments?limit={limit}&offset={offset}"));
    assert_eq!(lines, [searches, lists, deployments].concat());
}

#[tokio::test]
async fn a_page_that_fails_ends_the_list_with_its_error() {
    let remote = Remote::start(|seen| match seen.before {
        0 => {
            let results: Vec<_> = (0..100).map(|id| connector(&id.to_string())).collect();
            json_answer(200, &json!({"limit": 100, "offset": 0, "count": 100, "total": 300, "results": results}))
        }
        _ => error_answer(403, "AuthorizationError", "no"),
    })
    .await;
    let api = remote.client();
    let query = Vec::new();
    let mut pages = std::pin::pin!(paging::connectors(&api, &query));
    let mut count = 0;
    let error = loop {
        match pages.try_next().await {
            Ok(found) => count += usize::from(found.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!((count, error.operation, error.status()), (100, "searchConnectors", Some(403)));
    assert_eq!(pages.try_next().await, Ok(None), "the list has ended");
}
