//! A connector whose author and reports want to control the terminal of whoever looks: no command prints any such
//! character, no status and no Event has one, and JSON and YAML keep the value.

use connect_api::text::{escaped, is_unsafe};

use crate::prelude::*;

/// Sets the clipboard, clears the screen, colours, overwrites the line, and reverses what follows.
const HOSTILE: &str =
    "a\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}31m\rb\u{8}\u{7f}\u{202e}c\u{200b}\u{2066}d\u{feff}\u{2028}e\u{e0041}";

/// Its first part, by which it is found again.
const KEPT: &str = "\u{1b}]52;c;ZXZpbA==\u{7}";
/// A value that the API server takes in a patch.
const PLANNED: &str = "b\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}";

fn catalogue() -> Catalogue {
    let connector = |key: &str, staged: bool| {
        json!({
            "key": key, "version": 1, "staged": staged, "isPreviewable": "true", "name": format!("Evil {HOSTILE}"),
            "description": format!("Two\nlines {HOSTILE}"), "certified": true, "supportedRegions": ["europe-west1.gcp"],
            "creator": {"email": "a@example.com", "name": HOSTILE, "title": HOSTILE, "company": HOSTILE},
            "repository": {"url": "https://github.com/example/demo-kit.git", "tag": if staged { "1.0.0".to_owned() } else { format!("1.0.0{HOSTILE}") }},
            "documentationUrl": format!("https://example.com/{HOSTILE}"),
            "configurations": [{"applicationName": "service", "applicationType": "service",
                "standardConfiguration": [
                    {"key": "LOG_LEVEL", "description": HOSTILE, "required": false, "default": HOSTILE}],
                "securedConfiguration": [{"key": "API_TOKEN", "description": HOSTILE, "required": true}]}],
        })
    };
    let connectors = json!({"connectors": [connector("evil", false), connector("evil-staged", true)]});
    Catalogue::built_in().and(Catalogue::parse(&escaped(&connectors.to_string())).expect("a catalogue"))
}

/// A shop with a deployment of that connector, whose redeploy failed with such a report.
async fn shop() -> Shop {
    let options = Options { catalogue: catalogue(), deploy_duration: Duration::from_millis(200), ..Options::default() };
    let shop = Shop::with(options, fast()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.sandbox.apply(&deployment(&shop, "a")).await.unwrap();
    let id = shop.until_reason("Deployed").await.status.and_then(|status| status.id).unwrap();
    {
        let (mut world, now) = (shop.dev.world(), shop.dev.now());
        world.plan_outcome(&id, PlannedOutcome::failure("service", HOSTILE, HOSTILE), now).unwrap();
    }
    shop.apply_until(&deployment(&shop, "b"), "RedeployFailed").await;
    let (code, manifest, error) = run(&shop.sandbox, &["staged", "export", "evil-staged", "--project", PROJECT]).await;
    assert_eq!(code, Some(0), "{error}");
    shop.sandbox.succeed(&["apply", "--filename", "-"], &manifest).await;
    shop
}

fn deployment(shop: &Shop, level: &str) -> Value {
    with_spec(
        shop.deployment(),
        &json!({"connector": {"key": "evil"}, "configurations": [{
            "applicationName": "service", "standardConfiguration": [{"key": "LOG_LEVEL", "value": level}],
            "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}],
        }]}),
    )
}

/// Returns a character that must not be printed.
fn unsafe_in(text: &str) -> Option<char> {
    text.chars().find(|letter| is_unsafe(*letter) && !matches!(letter, '\n' | '\t'))
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| [vec![name.as_str()], texts(value)].concat()).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn no_command_prints_what_a_terminal_obeys() {
    let shop = shop().await;
    let key = shop.key();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tax.json");
    std::fs::write(&file, deployment(&shop, PLANNED).to_string()).unwrap();
    let file = file.to_str().unwrap();
    let project = ["--project", PROJECT];
    // Whether the output has such a text, and whether it has it as a value.
    let (text, data, none) = (Some(false), Some(true), None);
    for (arguments, of_project, shows) in [
        (&["connectors", "search", "--text", "Evil"][..], true, text),
        (&["connectors", "search", "--text", "Evil", "-o", "wide"], true, text),
        (&["connectors", "get", "evil"], true, text),
        (&["connectors", "get", "evil", "-o", "json"], true, data),
        (&["connectors", "get", "evil", "-o", "yaml"], true, data),
        (&["staged", "export", "evil-staged"], true, data),
        (&["deployments", "list"], true, none),
        (&["deployments", "list", "-o", "yaml"], true, data),
        (&["deployments", "get", &key], true, text),
        (&["deployments", "get", &key, "-o", "json"], true, data),
        (&["deployments", "export", &key], true, none),
        (&["scaffold", "evil"], true, data),
        (&["adopt", &key], true, none),
        (&["status", NAME], false, text),
        (&["status", NAME, "-o", "yaml"], false, text),
        (&["status"], false, none),
        (&["tree"], false, none),
        (&["doctor"], false, none),
        (&["wait", NAME], false, text),
        (&["plan", "-f", file], false, text),
        (&["plan", "-f", file, "-o", "json"], false, data),
        (&["plan", "--local", "-f", file], false, none),
        (&["redeploy", NAME, "--wait"], false, none),
        (&["reconcile", NAME], false, none),
    ] {
        let arguments = if of_project { [arguments, &project].concat() } else { arguments.to_vec() };
        let (_, stdout, stderr) = run(&shop.sandbox, &arguments).await;
        let whole = format!("{stdout}{stderr}");
        assert_eq!(unsafe_in(&whole), None, "{arguments:?}: {whole:?}");
        assert!(shows.is_none() || whole.contains("ZXZpbA=="), "{arguments:?} does not show the text: {whole}");
        for form in ["json", "yaml"].into_iter().filter(|form| arguments.contains(form)) {
            let parsed: Value = if form == "json" {
                serde_json::from_str(&stdout).unwrap()
            } else {
                serde_saphyr::from_str(&stdout).unwrap()
            };
            let keeps = texts(&parsed).iter().any(|text| text.contains(KEPT));
            assert_eq!(keeps, shows == data, "{arguments:?}: records keep the value, and a status never had it");
        }
    }
}

#[tokio::test]
async fn no_status_and_no_event_has_what_a_terminal_obeys() {
    let shop = shop().await;
    let all = ListParams::default();
    let mut objects = Vec::new();
    for deployment in shop.api::<ConnectorDeployment>().list(&all).await.unwrap().items {
        objects.push(json!(deployment.status));
    }
    let shown = texts(&objects[0]).join(" ");
    for (what, count) in [("]52;c;ZXZpbA==", 5), ("\u{fffd}", 20)] {
        assert!(shown.matches(what).count() >= count, "the test is about something: {shown}");
    }
    objects
        .extend(shop.api::<ConnectorStaged>().list(&all).await.unwrap().items.into_iter().map(|it| json!(it.status)));
    objects.extend(shop.api::<ConnectProject>().list(&all).await.unwrap().items.into_iter().map(|it| json!(it.status)));
    objects.extend(shop.api::<Event>().list(&all).await.unwrap().items.into_iter().map(|it| json!(it)));
    for object in &objects {
        for text in texts(object) {
            assert_eq!(unsafe_in(text), None, "{text:?} in {object:#}");
        }
    }
}
