//! The client spans of requests, as an exporter of traces would receive them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use connect_api::api::{ConnectApi as _, Selector};
use connect_api::http::HttpConnect;
use connect_api::trace;
use tokio::net::TcpListener;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::listen;
use super::remote::{Remote, answer, endpoint, with_header};
use crate::patience::brief;

type Fields = BTreeMap<&'static str, String>;

/// Collects the fields of ended spans that may be exported.
#[derive(Clone, Default)]
struct Exported(Arc<Mutex<Vec<Fields>>>);

impl Exported {
    /// Listens on this thread until the guard is dropped.
    fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        let exported = Self::default();
        let subscriber = tracing_subscriber::registry().with(exported.clone());
        (exported, listen(subscriber))
    }

    fn take(&self) -> Vec<Fields> {
        std::mem::take(&mut self.0.lock().expect("not poisoned"))
    }
}

impl Layer<Registry> for Exported {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, Registry>) {
        if attributes.metadata().target() != trace::EXPORTED {
            return;
        }
        let mut fields = Fields::new();
        attributes.record(&mut into(&mut fields));
        context.span(id).expect("it was just made").extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, Registry>) {
        let span = context.span(id).expect("it is open");
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(&mut into(fields));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, Registry>) {
        let span = context.span(&id).expect("it was open");
        let fields = span.extensions_mut().remove::<Fields>();
        self.0.lock().expect("not poisoned").extend(fields);
    }
}

fn into(fields: &mut Fields) -> impl FnMut(&Field, &dyn std::fmt::Debug) {
    |field, value| {
        fields.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

async fn read(api: &HttpConnect) {
    let _ = api.connector(&Selector::Key("tax-of-a-customer".to_owned())).await;
}

#[tokio::test]
async fn a_request_has_one_span_with_the_attributes_of_the_conventions_and_no_name_of_a_resource() {
    let (exported, _guard) = Exported::listen();
    for (status, error) in [(200, None), (404, Some("404")), (429, Some("429")), (503, Some("503"))] {
        let remote = Remote::start(move |_| with_header(answer(status, "{}"), "X-Correlation-ID", "theirs")).await;
        read(&remote.client()).await;
        let spans = exported.take();
        let [token, call] = &spans[..] else { panic!("not one span for each of two requests: {spans:?}") };
        assert_eq!(token["otel.name"], "POST /oauth/token");
        assert_eq!(token["connect_operator.operation"], "token");
        let (status, port) = (status.to_string(), remote.address.port().to_string());
        let mut expected = BTreeMap::from([
            ("otel.name", "GET /connectors/key={key}"),
            ("otel.kind", "client"),
            ("http.request.method", "GET"),
            ("http.response.status_code", &status),
            ("server.address", "127.0.0.1"),
            ("server.port", &port),
            ("url.template", "/connectors/key={key}"),
            ("connect_operator.operation", "getConnectorByKey"),
            ("connect_operator.correlation_id", "theirs"),
        ]);
        expected.extend(error.map(|error| ("error.type", error)));
        expected.extend(error.map(|_| ("otel.status_code", "ERROR")));
        let call: BTreeMap<_, _> = call.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(call, expected);
    }
}

#[tokio::test]
async fn a_request_without_an_answer_has_a_span_with_the_kind_of_failure() {
    let (exported, _guard) = Exported::listen();
    let remote = Remote::start(|_| answer(500, "")).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let (closed, _held) = crate::addresses::closed();
    for (url, error) in [
        (format!("http://{}", silent.local_addr().expect("bound")), "timeout"),
        (format!("http://{closed}"), "connection"),
    ] {
        let mut settings = remote.settings();
        settings.api_url = endpoint(&url);
        settings.limits.call = brief();
        read(&HttpConnect::new(settings, clock::Clock::system()).expect("a client")).await;
        let [_, call] = &exported.take()[..] else { panic!("two requests") };
        assert_eq!((&*call["error.type"], &*call["otel.status_code"]), (error, "ERROR"));
        assert!(!call.contains_key("http.response.status_code"), "{call:?}");
        assert!(call["connect_operator.correlation_id"].starts_with("connect-operator-"), "{call:?}");
    }
}
