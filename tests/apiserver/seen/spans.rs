//! Traces: what a collector receives of a reconcile, and an operator whose collector does not answer.

use super::traced::{command, deploy, end};
use crate::collector::{Collector, HEADERS, Span};
use crate::prelude::*;

/// Variables of the batches: an hour passes before the first one.
const ONLY_AT_THE_END: (&str, &str) = ("OTEL_BSP_SCHEDULE_DELAY", "3600000");

async fn shop() -> Shop {
    Shop::without_operator(quick(), Clock::system()).await
}

fn attribute<'a>(span: &'a Span, name: &str) -> &'a str {
    span.attributes.get(name).map_or("", String::as_str)
}

#[tokio::test]
async fn a_collector_receives_each_reconcile_and_each_of_its_calls() {
    let (shop, collector) = (shop().await, Collector::start().await);
    let log = tempfile::NamedTempFile::new().unwrap();
    let operator = command(&shop, log.as_file())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .envs([HEADERS, ONLY_AT_THE_END])
        .spawn()
        .expect("the operator starts");
    deploy(&shop, "canary of the token").await;
    let calls = shop.dev.calls();
    // It is handled by a poll that begins later, so the calls have ended by then.
    shop.annotate(names::RECONCILE_REQUESTED_AT, "now").await;
    let handled = |object: &ConnectorDeployment| {
        object.status.as_ref().is_some_and(|status| status.handled_reconcile_request.as_deref() == Some("now"))
    };
    shop.until("handled", handled).await;
    end(operator).await;

    let spans = collector.spans();
    let resource = &spans.first().expect("the last spans are exported at the end").resource;
    assert_eq!(resource["service.name"], "connect-operator");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(resource["deployment.environment.name"], "test");

    let create = spans.iter().find(|span| attribute(span, "connect_operator.operation") == "createDeployment");
    let create = create.expect("the call has a span");
    assert_eq!(create.name, "POST /{projectKey}/deployments");
    assert!(create.is_client && !create.is_error, "{create:?}");
    let reconcile = spans.iter().find(|span| span.id == create.parent).expect("the call has a parent");
    assert_eq!((&*reconcile.name, reconcile.is_client), ("reconcile ConnectorDeployment", false));
    for (name, expected) in [
        ("connect_operator.kind", "ConnectorDeployment"),
        ("connect_operator.namespace", &*shop.sandbox.namespace),
        ("connect_operator.name", NAME),
    ] {
        assert_eq!(attribute(reconcile, name), expected);
    }
    assert!(!attribute(reconcile, "connect_operator.reason").is_empty(), "{reconcile:?}");

    let text = std::fs::read_to_string(log.path()).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    let logged = lines.find(|line| line["operation"] == "createDeployment").expect("the call is logged");
    assert_eq!(logged["span"]["trace_id"], create.trace_id.as_str(), "log and trace have one id");
    assert_eq!(logged["correlation_id"], attribute(create, "connect_operator.correlation_id"));

    let ids = spans.iter().map(|span| attribute(span, "connect_operator.correlation_id"));
    let ids: BTreeSet<_> = ids.filter(|id| !id.is_empty()).collect();
    for call in &calls {
        assert!(ids.contains(&*call.correlation_id), "a call without a span: {}", call.operation);
    }

    let within = |name: &str| spans.iter().find(|span| span.parent == reconcile.id && span.name == name);
    within("GET").expect("the reconcile reads its object");
    let patch = within("PATCH").expect("the reconcile writes the operation");
    assert_eq!((attribute(patch, "http.response.status_code"), patch.is_client), ("200", true));
    for span in spans.iter().filter(|span| span.parent.is_empty()) {
        let name = span.name.split(' ').next().unwrap_or_default();
        assert!(
            ["reconcile", "poll", "registry", "lookup"].contains(&name),
            "a trace begins with work of the operator: {span:?}"
        );
    }
    for body in collector.bytes() {
        assert!(!String::from_utf8_lossy(&body).contains("canary"), "secrets stay here");
    }
}

#[tokio::test]
async fn a_collector_that_does_not_answer_changes_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let silent = format!("http://{}", silent.local_addr().expect("bound"));
    for (case, url, batches, while_it_runs) in [
        ("it is down", "http://127.0.0.1:1", ("OTEL_BSP_SCHEDULE_DELAY", "50"), 1),
        ("it never answers", &*silent, ONLY_AT_THE_END, 0),
    ] {
        let shop = shop().await;
        let log = tempfile::NamedTempFile::new().unwrap();
        let operator = command(&shop, log.as_file())
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
            .envs([batches])
            .spawn()
            .expect("the operator starts");
        deploy(&shop, "first-token-of-the-shop").await;
        let reported = || {
            let text = std::fs::read_to_string(log.path()).unwrap();
            text.lines().filter(|line| line.contains("traces cannot be exported")).count()
        };
        until(&format!("{case}: it is reported"), async || reported() >= while_it_runs).await;
        end(operator).await;
        assert_eq!(reported(), 1, "{case}: now and then, and at the end at the latest");
    }
}
