//! What pages of other sites reach through a browser on this machine: nothing, whatever the path.

use super::*;

/// A name, a method, and a path with what it serves.
const PATHS: [(&str, Method, &str); 14] = [
    ("a token", Method::POST, "/oauth/token"),
    ("deployments", Method::GET, "/demo/deployments"),
    ("a create", Method::POST, "/demo/deployments"),
    ("a preflight", Method::OPTIONS, "/demo/deployments"),
    ("an action", Method::POST, "/frontastic/action/cart/getCart"),
    ("the description", Method::GET, "/openapi.yaml"),
    ("nothing", Method::GET, "/nothing"),
    ("the console", Method::GET, "/"),
    ("its script", Method::GET, "/_console/console.js"),
    ("its state", Method::GET, "/_console/state"),
    ("faults", Method::GET, "/_dev/faults"),
    ("a reset", Method::POST, "/_dev/reset"),
    ("a wrong method", Method::PATCH, "/_dev/reset"),
    ("an application", Method::GET, "/_applications/service/health"),
];

#[tokio::test]
async fn foreign_pages_reach_no_path() {
    let nobody = "http://127.0.0.1:9".parse().expect("a URL");
    let applications = [("service".to_owned(), nobody)].into();
    let caller = Caller::new(Options { control: true, applications, ..Options::default() }).await;
    let (here, own) = (caller.server.address().to_string(), caller.server.url());
    for (case, host, origin, refused) in [
        ("not a browser", here.as_str(), None, false),
        ("a page of the dev server", &here, Some(own.as_str()), false),
        ("localhost", "localhost:8787", None, false),
        ("IPv6", "[::1]:8787", None, false),
        ("a service of the cluster", "dev-server.shop.svc:80", None, false),
        ("a name of a container", "dev-server:8787", None, false),
        ("a rebound name", "example.com:8787", None, true),
        ("a rebound name with its page", "example.com:8787", Some("http://example.com:8787"), true),
        ("a rebound name with a dot", "example.com.", None, true),
        ("a name that looks like an address", "127.0.0.1.example.com", None, true),
        ("a page of another site", &here, Some("https://example.com"), true),
        ("a page of another port", &here, Some("http://127.0.0.1:3000"), true),
        ("a sandboxed page", &here, Some("null"), true),
    ] {
        for (what, method, path) in PATHS {
            let calls = caller.server.calls().len();
            let request = caller.http.request(method, format!("{own}{path}")).bearer_auth(&caller.token);
            let request = request.header("Host", host).header("Accept", "text/html");
            let request = origin.into_iter().fold(request, |request, origin| request.header("Origin", origin));
            let answer = request.send().await.expect("it answers");
            assert_eq!(answer.status() == StatusCode::FORBIDDEN, refused, "{case}: {what}: {answer:?}");
            if refused {
                assert!(
                    !answer.headers().keys().any(|name| name.as_str().starts_with("access-control")),
                    "{case}: {what}"
                );
                assert_eq!(caller.server.calls().len(), calls, "{case}: {what}: nothing was called");
            }
        }
    }
}
