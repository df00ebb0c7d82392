//! Tokens and scopes (contract section 2; RFC 6749).

use super::*;
use crate::prelude::*;

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// Returns a caller whose client has every scope that the table below asks for.
async fn caller_with(scopes: &[String]) -> Caller {
    let text = json!({"clients": [{"id": "all", "secret": "dev-secret", "scopes": scopes}]}).to_string();
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&text).expect("it is a catalogue"));
    Caller::new(Options { catalogue, ..Options::default() }).await
}

#[tokio::test]
async fn the_token_endpoint_keeps_rfc_6749() {
    let caller = Caller::new(Options::default()).await;
    let (status, body) = caller.ask_token("dev-client", "dev-secret", &[GRANT]).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(members(&body), ["access_token", "expires_in", "scope", "token_type"]);
    assert_eq!((&body["expires_in"], &body["token_type"]), (&json!(172_800), &json!("Bearer")));
    for (case, id, secret, form, status, error) in [
        ("wrong secret", "dev-client", "canary-41", &[GRANT][..], 401, "invalid_client"),
        ("unknown client", "nobody", "dev-secret", &[GRANT], 401, "invalid_client"),
        ("no grant type", "dev-client", "dev-secret", &[], 400, "invalid_request"),
        ("another grant", "dev-client", "dev-secret", &[("grant_type", "password")], 400, "unsupported_grant_type"),
    ] {
        let (answered, body) = caller.ask_token(id, secret, form).await;
        assert_eq!((answered.as_u16(), &body["error"]), (status, &json!(error)), "{case}");
        assert!(!body.to_string().contains("canary-41"), "{case}");
    }
    let url = format!("{}/oauth/token", caller.server.url());
    let form = [GRANT, ("client_id", "dev-client"), ("client_secret", "dev-secret")];
    let by_form = caller.http.post(&url).form(&form).send().await.expect("it answers");
    assert_eq!(by_form.status(), StatusCode::OK);
    let as_json =
        caller.http.post(&url).basic_auth("dev-client", Some("dev-secret")).header("Content-Type", "application/json");
    let (status, body) = whole(as_json.body("{}").send().await.expect("it answers")).await;
    assert_eq!((status.as_u16(), &body["error"]), (400, &json!("invalid_request")));
}

#[tokio::test]
async fn a_client_gets_every_scope_that_its_own_contain() {
    let caller = Caller::new(Options::default()).await;
    for (asked, status) in [
        ("view_connectors:demo view_connectors_deployments:demo", 200),
        ("manage_connectors:demo manage_connectors_deployments:demo", 200),
        ("manage_project:demo view_connectors:demo", 200),
        ("manage_api_clients:demo", 400),
        ("manage_project:demo manage_api_clients:demo", 400),
        ("view_connectors:demo-production", 400),
        ("view_everything:demo", 400),
    ] {
        let (answered, body) = caller.ask_token("dev-client", "dev-secret", &[GRANT, ("scope", asked)]).await;
        assert_eq!(answered.as_u16(), status, "{asked}: {body}");
        let (member, expected) = if status == 200 { ("scope", asked) } else { ("error", "invalid_scope") };
        assert_eq!(body[member], expected, "{asked}");
    }
}

#[tokio::test]
async fn calls_without_a_valid_token_are_answered_401_as_published() {
    let mut caller = Caller::new(Options { token_lifetime: Duration::from_mins(1), ..Options::default() }).await;
    let good = caller.token.clone();
    let (status, _) = caller.get("/demo/deployments").await;
    assert_eq!(status, StatusCode::OK);
    caller.step(60);
    let mut cases = vec![("expired", good), ("unknown", "nonsense".to_owned())];
    let renewed = caller.token_for("dev-client", "").await;
    caller.server.revoke_tokens();
    cases.push(("revoked", renewed));
    for (case, token) in cases {
        caller.token = token;
        let (status, body) = caller.get("/demo/deployments").await;
        let text = "invalid_token";
        let expected =
            json!({"statusCode": 401, "message": text, "errors": [{"code": text, "message": text}], "error": text});
        assert_eq!((status, body), (StatusCode::UNAUTHORIZED, expected), "{case}");
    }
}

#[tokio::test]
async fn one_scope_of_the_list_is_enough_and_others_are_not() {
    let scopes = [
        "manage_project",
        "manage_connectors",
        "view_connectors",
        "manage_connectors_deployments",
        "view_connectors_deployments",
        "manage_api_clients",
    ];
    let all: Vec<_> = scopes.iter().map(|scope| format!("{scope}:demo")).collect();
    let mut caller = caller_with(&all).await;
    caller.post("/demo/deployments", &draft("tax")).await;
    caller.step(5);
    let version = caller.get("/demo/deployments/key=tax").await.1["version"].clone();
    assert_eq!(version, 1);
    // With the right the answer is 400, because the bodies are wrong, and nothing changes.
    let nothing = json!({});
    for (path, body, allowed) in [
        ("/connectors/key=demo-connector", None, [true, true, true, false, false, false]),
        ("/connectors/search", None, [true, true, true, false, false, false]),
        ("/connectors/drafts", None, [true, true, true, false, false, false]),
        ("/connectors/drafts/key=demo-staged", None, [true, true, true, false, false, false]),
        ("/connectors/drafts", Some(&nothing), [true, true, false, false, false, false]),
        ("/connectors/drafts/key=demo-staged", Some(&nothing), [true, true, false, false, false, false]),
        ("/demo/deployments", None, [true, false, false, true, true, false]),
        ("/demo/deployments/key=tax", None, [true, false, false, true, true, false]),
        ("/demo/deployments/key=tax/logs", None, [true, false, false, true, true, false]),
        ("/demo/deployments", Some(&nothing), [true, false, false, true, false, false]),
        ("/deployments", Some(&nothing), [true, false, false, true, false, false]),
        ("/demo/deployments/key=tax", Some(&nothing), [true, false, false, true, false, false]),
    ] {
        for (scope, allowed) in scopes.iter().zip(allowed) {
            caller.token = caller.token_for("all", &format!("{scope}:demo")).await;
            let method = if body.is_some() { Method::POST } else { Method::GET };
            let (status, answer) = caller.call(method, path, body).await;
            let denied = status == StatusCode::FORBIDDEN && answer["errors"][0]["code"] == "AuthorizationError";
            assert_eq!(!denied, allowed, "{scope} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn a_generated_api_client_needs_one_more_scope() {
    let scopes = ["manage_connectors_deployments:demo".to_owned(), "manage_api_clients:demo".to_owned()];
    let mut caller = caller_with(&scopes).await;
    let mut draft = draft("crm");
    draft["connector"] = json!({"key": "demo-api-client"});
    draft["configurations"] =
        json!([{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}]);
    for (scope, status) in [(scopes[0].clone(), 403), (scopes.join(" "), 201)] {
        caller.token = caller.token_for("all", &scope).await;
        let (answered, body) = caller.post("/demo/deployments", &draft).await;
        assert_eq!(answered.as_u16(), status, "{scope}");
        assert!(status == 201 || body["errors"][0]["code"] == "AuthorizationError", "{body}");
    }
    caller.token = caller.token_for("dev-client", "").await;
    let (answered, body) = caller.post("/demo/deployments", &draft).await;
    assert_eq!(answered.as_u16(), 403, "manage_project does not contain it: {body}");
}

#[tokio::test]
async fn a_token_of_one_project_opens_no_other_and_one_of_two_needs_a_path() {
    let caller = Caller::new(Options::default()).await;
    for project in ["demo-production", "no-such-project"] {
        let (status, body) = caller.get(&format!("/{project}/deployments")).await;
        assert_eq!((status.as_u16(), &body["errors"][0]["code"]), (403, &json!("AuthorizationError")));
    }
    let mut caller =
        caller_with(&["manage_project:demo".to_owned(), "manage_project:demo-production".to_owned()]).await;
    caller.token = caller.token_for("all", "").await;
    let (status, body) = caller.post("/deployments", &draft("tax")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
}
