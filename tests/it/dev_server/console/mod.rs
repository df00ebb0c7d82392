//! The console in a real browser, and over HTTP. Tests without Chromium are skipped with a notice, or fail if
//! `REQUIRE_CHROMIUM` is set.
//!
//! One test leaves pictures of the page in the folder of Cargo for temporary files; with `UPDATE_PICTURES`, it rewrites
//! the one in `docs/images/`.

mod http;

use dev_server::PlannedOutcome;
use test_support::chromium::Page;

use super::*;
use crate::prelude::*;

/// Returns a page that shows the console of a new dev server on a stepped clock.
async fn opened(options: Options) -> Option<(Caller, Page)> {
    let mut page = Page::start().await?;
    let caller = Caller::new(options).await;
    page.visit(&caller.server.url()).await;
    page.until_shown("#connection", "Connected").await;
    Some((caller, page))
}

fn with_control() -> Options {
    Options { control: true, ..Options::default() }
}

#[tokio::test]
async fn the_page_follows_a_deployment_with_its_report_and_log() {
    let Some((caller, mut page)) = opened(Options::default()).await else { return };
    assert_eq!(page.evaluate("document.querySelector('#deployments').hidden").await, true, "nothing is deployed yet");
    page.until_shown("#connectors", "demo-connector").await;

    let (_, created) = caller.post("/demo/deployments", &draft("tax")).await;
    page.until_shown("#deployments", "tax").await;
    page.until_shown("#deployments .status.busy", "Deploying").await;
    caller.step(5);
    page.until_shown("#deployments .status.good", "Deployed").await;
    page.press("#deployments details.logs summary").await;
    page.until_shown("#deployments details.logs[open]", "Listening on port 8080").await;

    let id = created["id"].as_str().expect("it is a string");
    let planned = PlannedOutcome::failure("service", "Build failed", "exit code 7");
    caller.server.world().plan_outcome(id, planned, caller.server.now()).expect("it exists");
    let redeploy = json!({"version": 1, "actions": [{"action": "redeploy"}]});
    let (status, body) = caller.post("/demo/deployments/key=tax", &redeploy).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    caller.step(5);
    page.until_shown("#deployments .status.bad", "Failed").await;
    page.until_shown("#deployments details.report", "Build failed: exit code 7").await;
    page.until_shown("#deployments details.logs[open]", "exit code 7").await;
    page.until_shown("#changes", "tax: Failed").await;
    let focused = page.evaluate("document.activeElement.textContent").await;
    assert_eq!(focused, "Log", "the row is new, and the focus is where it was");

    caller.send(Method::DELETE, "/demo/deployments/key=tax", None).await;
    page.until_shown("#calls tr:first-child", "deleteDeploymentByKey").await;
    caller.step(5);
    page.until("document.querySelector('#deployments').hidden").await;
    page.until("!document.querySelector('#read-only').hidden && document.querySelector('#switches').hidden").await;
    page.assert_clean(&caller.server.url());
}

#[tokio::test]
async fn nothing_that_a_server_sends_is_markup() {
    const IMAGE: &str = "<img src=x onerror=\"globalThis.ran = 1\">";
    const SCRIPT: &str = "'\"></td><script>globalThis.ran = 2</script>\n\u{202e}\u{5d0}\u{5d1} second line";
    const STATUS: &str = "<svg onload='globalThis.ran = 3'>";
    const LINE: &str = "<a href=\"javascript:globalThis.ran = 4\">\u{0}</a>";
    let connectors = json!({"connectors": [{"key": "hostile", "name": IMAGE}]}).to_string();
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&connectors).expect("it is a catalogue"));
    let Some((caller, mut page)) = opened(Options { catalogue, ..with_control() }).await else { return };
    let staged = json!({
        "key": "hostile-too", "name": SCRIPT, "creator": {"email": "me@example.com"},
        "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"},
    });
    let (status, body) = caller.post("/connectors/drafts", &staged).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let (_, created) = caller.post("/demo/deployments", &draft("tax")).await;
    let path = format!("/_dev/deployments/{}", created["id"].as_str().expect("it is a string"));
    let planned = json!({"fails": true, "entries": [{"type": IMAGE, "title": SCRIPT, "message": STATUS}]});
    let line = json!({"action": "writeLog", "applicationName": IMAGE, "severity": STATUS, "text": LINE});
    caller.server.may_answer(STATUS);
    for act in [
        json!({"action": "planOutcome", "outcome": planned}),
        json!({"action": "finish"}),
        json!({"action": "setStatus", "status": STATUS}),
        line,
    ] {
        let (status, body) = caller.post(&path, &act).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    let request = caller.http.get(format!("{}/nothing", caller.server.url())).header("X-Correlation-ID", IMAGE);
    request.send().await.expect("it answers");
    let fault = json!({"path": SCRIPT, "answer": {"message": IMAGE}});
    caller.post("/_dev/faults", &fault).await;

    page.until_shown("#deployments .status", STATUS).await;
    page.press("#deployments details.logs summary").await;
    for (place, text) in [
        ("#connectors", IMAGE),
        ("#staged", SCRIPT),
        ("#deployments .report", IMAGE),
        ("#deployments .report", SCRIPT),
        ("#deployments .logs", LINE),
        ("#deployments .logs", IMAGE),
        ("#calls", IMAGE),
        ("#faults", SCRIPT),
        ("#changes", STATUS),
    ] {
        page.until_shown(place, text).await;
    }
    let made = page.evaluate("document.querySelectorAll('img, script:not([src]), svg, a').length").await;
    assert_eq!((made, page.evaluate("typeof globalThis.ran").await), (json!(0), json!("undefined")));
    let direction = "getComputedStyle([...document.querySelectorAll('#staged bdi')]
        .find((one) => one.textContent.includes('second line'))).unicodeBidi";
    assert_eq!(page.evaluate(direction).await, "isolate");
    page.assert_clean(&caller.server.url());
}

#[tokio::test]
async fn every_switch_of_the_page_takes_effect() {
    let Some((caller, mut page)) = opened(with_control()).await else { return };
    page.until("!document.querySelector('#switches').hidden && document.querySelector('#read-only').hidden").await;
    page.evaluate(
        "Object.entries({operation: 'createDeployment', answer: '{\"status\": 503}', effect: 'before', count: 1})
           .forEach(([name, value]) => { document.querySelector('#new-fault').elements[name].value = value; })",
    )
    .await;
    page.press("#new-fault button").await;
    page.until_shown("#faults", "createDeployment").await;
    assert_eq!(caller.post("/demo/deployments", &draft("tax")).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(caller.post("/demo/deployments", &draft("tax")).await.0, StatusCode::CREATED);
    page.until("document.querySelector('#faults tbody td:last-child').textContent === '0'").await;

    click(&mut page, "#deployments", "Fail the build: tax").await;
    caller.step(5);
    page.until_shown("#deployments .status.bad", "Failed").await;
    page.until_shown("#deployments .report", "Planned in the console.").await;
    click(&mut page, "#deployments", "Redeploy as another client: tax").await;
    page.until_shown("#deployments .status", "Deploying").await;
    click(&mut page, "#deployments", "Finish now: tax").await;
    page.until_shown("#deployments .status", "Deployed").await;
    click(&mut page, "#deployments", "Fail undeploying: tax").await;
    caller.send(Method::DELETE, "/demo/deployments/key=tax", None).await;
    caller.step(5);
    page.until_shown("#deployments .status.bad", "UndeployFailed").await;
    click(&mut page, "#deployments", "Remove: tax").await;
    page.until("document.querySelector('#deployments').hidden").await;
    click(&mut page, "#connectors", "Add a version: demo-connector").await;
    page.until(
        "[...document.querySelectorAll('#connectors tr')].some((row) => row.cells[2].textContent.startsWith('2'))",
    )
    .await;
    staged_switches(&caller, &mut page).await;

    // Every answer that the form offers is a valid fault.
    let answers = page.evaluate("document.querySelector('#new-fault').elements.answer.length").await;
    let answers = answers.as_u64().expect("it is a number");
    for at in 0..answers {
        page.evaluate(&format!("document.querySelector('#new-fault').elements.answer.selectedIndex = {at}")).await;
        page.press("#new-fault button").await;
        page.until(&format!("document.querySelector('#faults-count').textContent === '{}'", at + 2)).await;
    }
    page.press("#clear-faults").await;
    page.until("document.querySelector('#faults').hidden").await;
    page.press("#revoke-tokens").await;
    page.until_shown("#result", "all tokens were revoked").await;
    assert_eq!(caller.get("/demo/deployments").await.0, StatusCode::UNAUTHORIZED);
    page.press("#reset").await;
    page.until_shown("#result", "the initial state was restored").await;
    page.assert_clean(&caller.server.url());
}

async fn staged_switches(caller: &Caller, page: &mut Page) {
    let staged = json!({
        "key": "kit", "name": "Kit", "creator": {"email": "me@example.com"},
        "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"},
    });
    let (status, body) = caller.post("/connectors/drafts", &staged).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let preview = json!({"version": 1, "actions": [{"action": "updatePreviewable"}]});
    let publish = json!({"version": 2, "actions": [{"action": "publish", "certification": true}]});
    click(page, "#staged", "Fail the preview: kit").await;
    let (status, body) = caller.post("/connectors/drafts/key=kit", &preview).await;
    assert!(status.is_success(), "{body}");
    click(page, "#staged", "Finish now: kit").await;
    page.until_shown("#staged .report", "The preview was refused").await;
    click(page, "#staged", "Fail certification: kit").await;
    let (status, body) = caller.post("/connectors/drafts/key=kit", &publish).await;
    assert!(status.is_success(), "{body}");
    click(page, "#staged", "Finish now: kit").await;
    page.until_shown("#staged .report", "Certification was refused").await;
    click(page, "#staged", "Fail publishing: kit").await;
    click(page, "#staged", "Remove: kit").await;
    page.until("![...document.querySelectorAll('#staged tr')].some((row) => row.cells[0].textContent === 'kit')").await;
}

/// Presses the button of that name in a table, and waits until the page reports that it worked.
async fn click(page: &mut Page, table: &str, name: &str) {
    let button = format!("{table} button[aria-label={}]", json!(name));
    let found = json!(button);
    page.until(&format!("document.querySelector({found})")).await;
    page.evaluate(&format!("document.querySelector({found}).closest('details')?.setAttribute('open', '')")).await;
    page.press(&button).await;
    page.until_shown("#result", &format!("Done: {name}.")).await;
}

#[tokio::test]
async fn the_page_can_be_read_in_light_and_dark_on_small_screens_and_by_screen_readers() {
    let Some((caller, mut page)) = opened(with_control()).await else { return };
    scene(&caller, &mut page).await;
    let size = |width: u64| json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    page.call("Emulation.setTimezoneOverride", json!({"timezoneId": "UTC"})).await;
    page.call("Emulation.setDeviceMetricsOverride", size(1100)).await;
    let mut backgrounds = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        page.call("Emulation.setEmulatedMedia", features).await;
        backgrounds.push(page.evaluate("getComputedStyle(document.body).backgroundColor").await);
        let picture = page.screenshot().await;
        let file = format!("{}/console-{scheme}.png", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(file, &picture).expect("the target folder can be written");
        if scheme == "light" && std::env::var_os("UPDATE_PICTURES").is_some() {
            let file = in_checkout("docs/images/console.png");
            std::fs::write(file, &picture).expect("the folder can be written");
        }
    }
    assert_ne!(backgrounds[0], backgrounds[1]);

    let tree = page.call("Accessibility.getFullAXTree", json!({})).await;
    let mut found = std::collections::BTreeSet::new();
    for node in tree["nodes"].as_array().expect("it is a list") {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if ["button", "combobox", "spinbutton", "DisclosureTriangle", "region", "table"].contains(&role) {
            assert!(node["name"]["value"].as_str().is_some_and(|name| !name.is_empty()), "without a name: {node}");
            found.insert(role);
        }
    }
    assert!(found.len() >= 5, "{found:?}");

    page.call("Emulation.setDeviceMetricsOverride", size(360)).await;
    let overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth").await;
    assert_eq!(overflow, 0, "nothing but tables is wider than the screen");
}

/// Creates what the picture shows: deployments in several states, a staged connector, a fault, and calls.
async fn scene(caller: &Caller, page: &mut Page) {
    for key in ["tax", "tax-test", "tax-old"] {
        caller.post("/demo/deployments", &draft(key)).await;
    }
    let now = caller.server.now();
    let id = caller.server.world().id_of("demo", "tax-test", now).expect("it exists");
    let message = "Value `loud` of LOG_LEVEL is none of: debug, info.";
    let planned = PlannedOutcome::failure("service", "Application build failed", message);
    caller.server.world().plan_outcome(&id, planned, now).expect("it exists");
    caller.step(5);
    caller.send(Method::DELETE, "/demo/deployments/key=tax-old", None).await;
    let fault = json!({"operation": "queryDeployments", "count": 1, "answer": {"status": 503}});
    caller.post("/_dev/faults", &fault).await;
    caller.get("/demo/deployments").await;
    caller.post("/demo/deployments", &draft("tax-next")).await;
    page.until_shown("#deployments", "tax-next").await;
    page.evaluate("document.querySelector('tbody:has(.bad) details.report').open = true").await;
}
