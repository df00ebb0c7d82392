//! The service behind a gateway that changes what it answers, at the wire.

use axum::extract::{Request, State};
use http::header;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::prelude::*;

/// How texts are changed on their way.
#[derive(Clone, Copy)]
pub(crate) struct Rewrite {
    /// Changes the path of a request.
    pub(crate) path: fn(&str) -> String,
    /// Changes each JSON object in an answer, the outer ones last.
    pub(crate) object: fn(&mut Value),
}

struct Gateway {
    target: String,
    rewrite: Rewrite,
    client: Client<HttpConnector, Body>,
}

/// Starts a gateway before `target`, and returns its URL; it ends with the runtime of the test.
async fn start(target: &str, rewrite: Rewrite) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let client = Client::builder(TokioExecutor::new()).build_http();
    let gateway = Arc::new(Gateway { target: target.to_owned(), rewrite, client });
    let router = Router::new().fallback(pass).with_state(gateway);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn pass(State(gateway): State<Arc<Gateway>>, mut request: Request<Body>) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let uri = format!("{}{}", gateway.target, (gateway.rewrite.path)(path));
    *request.uri_mut() = uri.parse::<Uri>().expect("it is a URL");
    for name in [header::HOST, header::ACCEPT_ENCODING] {
        request.headers_mut().remove(name);
    }
    let Ok(answer) = gateway.client.request(request).await else { return StatusCode::BAD_GATEWAY.into_response() };
    let (mut head, body) = answer.into_parts();
    let body = to_bytes(Body::new(body), usize::MAX).await.expect("the dev server answers completely");
    let Ok(mut json) = serde_json::from_slice(&body) else { return Response::from_parts(head, Body::from(body)) };
    change(&mut json, gateway.rewrite.object);
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(json.to_string()))
}

fn change(json: &mut Value, object: fn(&mut Value)) {
    match json {
        Value::Array(all) => all.iter_mut().for_each(|part| change(part, object)),
        Value::Object(all) => {
            all.values_mut().for_each(|part| change(part, object));
            object(json);
        }
        _ => {}
    }
}

/// A shop whose remote is behind a gateway, with a live deployment that has these changes of its spec.
pub(crate) async fn live(options: Options, clock: Clock, rewrite: Rewrite, change: &Value) -> Shop {
    let mut shop = Shop::without_operator(options, clock).await;
    let gateway = start(&shop.dev.url(), rewrite).await;
    shop.put_credentials("dev-client").await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&with_spec(shop.project(), &json!({"apiUrl": gateway}))).await.unwrap();
    shop.start_operator();
    shop.sandbox.apply(&with_spec(shop.deployment(), change)).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    shop
}
