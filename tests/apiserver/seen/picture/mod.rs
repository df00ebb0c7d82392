//! The picture of the dashboard in `docs/metrics.md`: its panels, drawn from what a real Prometheus has scraped from a
//! real operator. Only with `UPDATE_PICTURES`, because it watches the operator for more than a minute.

mod chart;
mod page;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clock::Clock;
use dev_server::{Fault, FaultAnswer, Options};
use serde_json::json;
use test_support::chromium::Page;

use self::page::{Data, Panel};
use super::kube_state_metrics::KubeStateMetrics;
use super::prometheus::{ask, prometheus, until};
use super::traced;
use crate::addresses;
use crate::shop::{CREDENTIALS, SECRET, Shop};

/// Redeploys in the picture, of some seconds each.
const REDEPLOYS: i64 = 14;
/// Width of the picture in pixels.
const WIDTH: u64 = 1500;

/// Returns a query as Grafana sends it.
fn filled(expression: &str) -> String {
    expression.replace("$job", ".+").replace("$__rate_interval", "20s")
}

async fn data(prometheus: SocketAddr, panel: &Panel, from: i64, to: i64) -> Vec<Data> {
    let mut found = Vec::new();
    for target in &panel.targets {
        let query: String = form_urlencoded::byte_serialize(filled(&target.expression).as_bytes()).collect();
        let path = match panel.kind.as_str() {
            "timeseries" => format!("/api/v1/query_range?query={query}&start={from}&end={to}&step=1"),
            _ => format!("/api/v1/query?query={query}"),
        };
        let mut answer = ask(prometheus, &path).await;
        assert_eq!(answer["status"], "success", "{}: {answer}", panel.title);
        for series in answer["data"]["result"].as_array_mut().expect("a list") {
            found.push(Data::of(series.take(), &target.legend));
        }
    }
    found
}

/// Creates resources in several states beside the one that is redeployed.
async fn others(shop: &Shop) {
    for (name, connector, secret) in [("mail", "demo-failing", SECRET), ("psp", "demo-connector", "not-yet-there")] {
        let mut other = shop.deployment();
        other["metadata"]["name"] = json!(name);
        other["spec"]["connector"]["key"] = json!(connector);
        let values = &mut other["spec"]["configurations"][0];
        values["securedConfiguration"][0]["valueFrom"]["secretKeyRef"]["name"] = json!(secret);
        if connector == "demo-failing" {
            other["spec"].as_object_mut().expect("an object").remove("configurations");
        }
        shop.sandbox.apply(&other).await.unwrap();
    }
    let mut held = shop.deployment();
    held["metadata"]["name"] = json!("oms");
    held["spec"]["suspend"] = json!(true);
    shop.sandbox.apply(&held).await.unwrap();
}

#[tokio::test]
async fn the_picture_of_the_dashboard_shows_a_real_run() {
    if std::env::var_os("UPDATE_PICTURES").is_none() {
        return;
    }
    let options = Options { deploy_duration: Duration::from_secs(3), ..Options::default() };
    let shop = Shop::without_operator(options, Clock::system()).await;
    let (target, address, folder) = (addresses::free(), addresses::free(), tempfile::tempdir().unwrap());
    let resources = KubeStateMetrics::start(&shop.sandbox).await;
    let _prometheus = prometheus(folder.path(), address, target, resources.address).expect("install `prometheus`");
    let log = tempfile::NamedTempFile::new().unwrap();
    let listen = target.to_string();
    let _operator = traced::start(&shop, log.as_file(), &["--leader-elect", "--metrics-listen", &listen]);
    let from = shop.clock.now().as_second();
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;
    others(&shop).await;
    for number in 2..2 + REDEPLOYS {
        if number == REDEPLOYS / 2 {
            let unavailable = FaultAnswer { status: Some(503), ..FaultAnswer::default() };
            shop.dev.fault(Fault { count: Some(3), ..Fault::of("queryDeployments", unavailable) }).unwrap();
        }
        shop.put_secret(SECRET, &[("token", &format!("token-number-{number}"))]).await;
        shop.until("the redeploy", |tax| tax.status.as_ref().is_some_and(|status| status.version == Some(number)))
            .await;
        shop.until_reason("Deployed").await;
    }
    until(address, "kube_connectordeployment_status_suspended == 1").await;

    let to = shop.clock.now().as_second();
    let mut drawn = Vec::new();
    for panel in Panel::all() {
        let data = data(address, &panel, from, to).await;
        assert!(panel.kind == "row" || !data.is_empty(), "{} is empty", panel.title);
        drawn.push((panel, data));
    }
    draw(&page::html(&drawn, from, to), page::height(&drawn)).await;
}

/// Writes the picture of a page.
async fn draw(html: &str, height: u64) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard.html");
    std::fs::write(&file, html).unwrap();
    let mut page = Page::start().await.expect("install `chromium`");
    let size = json!({"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": false});
    page.call("Emulation.setDeviceMetricsOverride", size).await;
    let url = format!("file://{}", file.display());
    page.visit(&url).await;
    page.assert_clean(&url);
    let picture = page.screenshot().await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images/dashboard.png");
    std::fs::write(file, picture).unwrap();
}

#[test]
fn every_panel_of_the_dashboard_is_drawn_with_its_data() {
    let panels = Panel::all();
    assert!(panels.len() >= 20, "{} panels", panels.len());
    let series = json!({
        "metric": {"kind": "<b>", "operation": "redeploy"},
        "value": [100, "7"],
        "values": [[100, "1"], [101, "NaN"], [102, "2.5"]],
    });
    let drawn = |panel: Panel| {
        let data = panel.targets.iter().map(|target| Data::of(series.clone(), &target.legend)).collect();
        (panel, data)
    };
    let drawn: Vec<_> = panels.into_iter().map(drawn).collect();
    let html = page::html(&drawn, 100, 160);
    for (panel, _) in &drawn {
        assert!(html.contains(&page::escape(&panel.title)), "{}", panel.title);
    }
    let lines = drawn.iter().filter(|(panel, _)| panel.kind == "timeseries").map(|(_, data)| data.len()).sum::<usize>();
    assert_eq!(html.matches("<polyline").count(), 2 * lines, "a value that is no number divides a line");
    assert!(!html.contains("<b>"), "a label is no markup");
    assert_eq!(page::height(&drawn) % 26, 20, "a whole number of rows, and the margin");
}

#[test]
fn a_legend_and_a_value_are_those_of_the_sample() {
    let sample = || json!({"metric": {"kind": "Secret"}, "value": [1, "0.25"]});
    let data = Data::of(sample(), "{{kind}} 50 %{{none}}");
    assert_eq!((data.name.as_str(), data.last()), ("Secret 50 %", Some(0.25)));
    for (value, unit, expected) in [
        (3.0, "short", "3"),
        (0.126, "short", "0.13"),
        (0.004, "s", "4 ms"),
        (2.5, "s", "2.5 s"),
        (150.0, "s", "2.5 min"),
        (1.5, "reqps", "1.5/s"),
        (52_428_800.0, "bytes", "50 MiB"),
    ] {
        assert_eq!(chart::with_unit(value, unit), expected);
    }
}
