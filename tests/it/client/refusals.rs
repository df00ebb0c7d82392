//! Answers with an error status.

use connect_api::api::{ConnectApi, PageRequest, Selector};
use connect_api::error::{ErrorCode, Failure};
use connect_api::model::RedeployAction;

use super::remote::{Remote, answer, draft, error_answer, json_answer, no_hurry, with_header};

fn id() -> Selector {
    Selector::Id("42".to_owned())
}

#[tokio::test]
async fn each_code_of_the_contract_arrives_as_itself_with_text_and_correlation_id() {
    let remote = Remote::start(|seen| {
        let code = ErrorCode::KNOWN[seen.before];
        with_header(error_answer(400, code, &format!("text of {code}")), "X-Correlation-ID", "service-7")
    })
    .await;
    let api = remote.client();
    // Where a code causes a new token, the same call is sent again, so that code comes last.
    for code in ErrorCode::KNOWN.iter().filter(|code| **code != "AuthenticationError") {
        let mut error = api.deployment(&id()).await.expect_err(code);
        if error.code() == Some(&ErrorCode::AuthenticationError) {
            error = api.deployment(&id()).await.expect_err(code);
        }
        assert!(matches!(&error.failure, Failure::Answered { status: 400, .. }), "{error:?}");
        assert!(!matches!(error.code(), None | Some(ErrorCode::Other(_))), "{error:?}");
        let code = error.code().expect("a code").as_str();
        assert_eq!(error.message, format!("text of {code}"));
        assert_eq!(error.correlation_id.as_deref(), Some("service-7"));
    }
    assert_eq!(remote.seen().len(), ErrorCode::KNOWN.len());
}

#[tokio::test]
async fn without_an_id_in_the_answer_the_sent_one_is_kept() {
    let remote = Remote::start(|_| answer(502, "<html>")).await;
    let error = remote.client().deployment(&id()).await.expect_err("502");
    assert_eq!(error.correlation_id.as_deref(), Some(remote.seen()[0].header("x-correlation-id")));
}

#[tokio::test]
async fn only_the_services_own_404_means_absent_and_only_where_a_resource_is_named() {
    let bodies = [
        (
            "of the service",
            r#"{"statusCode":404,"message":"n","errors":[{"code":"ResourceNotFound","message":"n"}]}"#,
            true,
        ),
        ("without codes", r#"{"statusCode":404,"message":"n"}"#, true),
        ("of a gateway", "<html>404</html>", false),
        ("empty", "", false),
        (
            "with another code",
            r#"{"statusCode":404,"message":"n","errors":[{"code":"BadGateway","message":"n"}]}"#,
            false,
        ),
    ];
    for (case, body, absent) in bodies {
        let remote = Remote::start(move |_| answer(404, body)).await;
        let api = remote.client();
        let redeploy = RedeployAction::default();
        let outcomes = [
            api.deployment(&id()).await.map(|found| found.is_none()),
            api.redeploy(&id(), 1, &redeploy, no_hurry()).await.map(|found| found.is_none()),
            api.undeploy(&id(), no_hurry()).await.map(|found| found.is_none()),
            api.connector(&id()).await.map(|found| found.is_none()),
        ];
        for outcome in outcomes {
            assert_eq!(
                outcome.map_err(|error| error.status()),
                if absent { Ok(true) } else { Err(Some(404)) },
                "{case}"
            );
        }
        assert_eq!(api.create(&draft("s"), no_hurry()).await.expect_err(case).status(), Some(404));
        assert_eq!(api.deployments(PageRequest { limit: 1, offset: 0 }).await.expect_err(case).status(), Some(404));
    }
}

#[tokio::test]
async fn redirects_are_errors_and_nothing_is_sent_to_where_they_lead() {
    let other = Remote::start(|_| json_answer(200, &super::remote::deployment("42"))).await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/demo/deployments/42", other.url());
        let remote = Remote::start(move |_| with_header(answer(status, ""), "location", &target)).await;
        let api = remote.client();
        for error in [
            api.deployment(&id()).await.map(drop).expect_err("a redirect"),
            api.create(&draft("s"), no_hurry()).await.map(drop).expect_err("a redirect"),
        ] {
            assert_eq!(error.failure, Failure::Answered { status, codes: Vec::new() });
            assert_eq!(error.message, "redirects are not followed: correct the URL");
        }
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_of_the_token_endpoint_is_not_followed_either() {
    let other = Remote::start(|_| answer(200, "")).await;
    let target = format!("{}/oauth/token", other.url());
    let remote = Remote::start_slow(
        super::remote::later(|_| answer(500, "")),
        super::remote::later(move |_| with_header(answer(307, ""), "location", &target)),
    )
    .await;
    let error = remote.client().deployment(&id()).await.expect_err("no token");
    assert_eq!(error.failure, Failure::NotSent);
    assert!(other.tokens().is_empty() && remote.seen().is_empty());
}
