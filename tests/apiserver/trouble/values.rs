//! Values that are large, many, or unusual: they arrive unchanged, or are refused before anything is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::prelude::*;

#[tokio::test]
async fn unusual_values_arrive_unchanged_and_one_that_is_no_text_is_not_sent() {
    let shop = Shop::open().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET},
        "data": {"token": STANDARD.encode([0x66, 0xff, 0xfe])}});
    let parameters = PatchParams::apply("tester").force();
    shop.api::<Secret>().patch(SECRET, &parameters, &Patch::Apply(secret)).await.unwrap();
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let words = ["key token of Secret tax is not UTF-8"];
    let object: ConnectorDeployment = until_reported_with(&shop, NAME, "ConfigurationInvalid", &words).await;
    assert!(has(&object, "Stalled"));
    assert_eq!(shop.sent(), [0, 0, 0]);

    let strange =
        " \"quoted\", 'single', back\\slash, {\"json\": [1, 2]}\r\n\ttab, ünïcödé ✓ 𝄞, $(x) ${y} %20 &amp; \n\n ";
    let large = format!("<{}>", strange.repeat(30 * 1024 / strange.len() + 1));
    let invisible = "\u{feff}first-token-of-the-shop\n";
    for (case, token) in
        [("large", large.as_str()), ("invisible ends", invisible), ("plain", "second-token-of-the-shop")]
    {
        shop.put_token(token).await;
        shop.until(case, |object| {
            let id = object.status.as_ref().and_then(|status| status.id.as_deref());
            let is = |token: &str| shop.dev.world().secured_is(id?, Some("service"), "API_TOKEN", token);
            is(token) == Some(true) && (token == token.trim() || is(token.trim()) == Some(false))
        })
        .await;
        if case == "invisible ends" {
            shop.until_event("InvisibleCharacters").await;
        }
    }
    shop.until_reason("Deployed").await;
    let notes = shop.events("InvisibleCharacters").await;
    let named = "sent with it: service/API_TOKEN (secured).";
    let [note] = &notes[..] else { panic!("one Event, of the value that has some: {notes:?}") };
    assert!(note.contains(named) && !note.contains("first-token"), "{notes:?}");
}

/// The most applications that the schema allows, with a hundred values each, half of them secured. etcd accepts requests
/// of 1.5 MiB by default, and the managed fields of a field cost about as much as the field. Measured: 64 applications fit
/// with 100 plain values each, and with up to 60 secured values beside 100 plain ones; 75 do not fit.
const APPLICATIONS: usize = 64;
const VALUES: usize = 50;

fn application(number: usize, standard: &[Value], secured: &[Value]) -> Value {
    json!({"applicationName": format!("application-{number:02}"), "applicationType": "service",
        "standardConfiguration": standard, "securedConfiguration": secured})
}

fn key(value: usize) -> String {
    format!("VALUE_{value:03}")
}

/// A catalogue whose connector declares all of them.
fn catalogue() -> Catalogue {
    let keys = |from: usize| (from..from + VALUES).map(|value| json!({"key": key(value)})).collect::<Vec<_>>();
    let all: Vec<_> = (0..APPLICATIONS).map(|number| application(number, &keys(0), &keys(VALUES))).collect();
    let large = json!({"connectors": [{"key": "large", "name": "Large", "configurations": all}]});
    Catalogue::built_in().and(Catalogue::parse(&large.to_string()).unwrap())
}

fn value(application: usize, value: usize) -> String {
    format!("value {value} of application {application}")
}

#[tokio::test]
async fn sixty_four_applications_with_a_hundred_values_each_are_one_create_and_one_redeploy() {
    let shop = Shop::with(Options { catalogue: catalogue(), ..quick() }, fast()).await;
    let (mut data, mut configurations) = (serde_json::Map::new(), Vec::new());
    for number in 0..APPLICATIONS {
        let plain = (0..VALUES).map(|it| json!({"key": key(it), "value": value(number, it)})).collect::<Vec<_>>();
        let secured = (0..VALUES).map(|it| {
            let name = format!("{number}.{it}");
            data.insert(name.clone(), json!(value(number, it)));
            json!({"key": key(VALUES + it), "valueFrom": {"secretKeyRef": {"name": SECRET, "key": name}}})
        });
        let mut one = application(number, &plain, &secured.collect::<Vec<_>>());
        one.as_object_mut().unwrap().remove("applicationType");
        configurations.push(one);
    }
    let spec = json!({"connector": {"key": "large"}, "configurations": configurations});
    for manifest in [secret(SECRET, &json!(data)), with_spec(shop.deployment(), &spec)] {
        // The annotation of a client-side apply would be too large.
        shop.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &manifest.to_string()).await;
    }
    let id = shop.until_reason("Deployed").await.status.and_then(|status| status.id).unwrap();
    for (number, it) in (0..APPLICATIONS).flat_map(|number| (0..VALUES).map(move |it| (number, it))) {
        let (name, key) = (format!("application-{number:02}"), key(VALUES + it));
        let arrived = shop.dev.world().secured_is(&id, Some(&name), &key, &value(number, it));
        assert_eq!(arrived, Some(true), "{name} {key}");
    }
    let change =
        json!([{"op": "replace", "path": "/spec/configurations/63/standardConfiguration/49/value", "value": "new"}]);
    let patch = Patch::<()>::Json(serde_json::from_value(change).unwrap());
    shop.api::<ConnectorDeployment>().patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    // For the generation of the change, so after its redeploy.
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}
