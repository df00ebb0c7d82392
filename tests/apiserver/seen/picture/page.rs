//! The panels of the dashboard, and a page without scripts that shows them with their data.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::chart;

/// Height of a row of the grid in pixels.
const ROW: u64 = 26;
/// Width of a column of the grid in pixels.
const COLUMN: f64 = 61.6;
/// Pixels of a panel beside its content.
const PADDING: f64 = 30.0;
/// Pixels above and below the grid.
const MARGIN: u64 = 20;
/// Rows of a table that fit into its panel.
const SHOWN: usize = 8;

const STYLE: &str = "body{margin:10px;background:#f4f5f6;font:13px 'DejaVu Sans',sans-serif;color:#24292e}\
    main{display:grid;grid-template-columns:repeat(24,1fr);grid-auto-rows:26px}\
    section{background:#fff;border:1px solid #d8dbde;border-radius:3px;margin:3px;padding:4px 10px;overflow:hidden}\
    h2{font-size:14px;margin:6px 4px}h3{font-size:12px;margin:2px 0 4px}\
    .stat{font-size:30px;margin:8px 0;text-align:center}\
    svg text{font-size:10px;fill:#5b6770}polyline{fill:none;stroke-width:1.5}\
    .grid{stroke:#e3e5e8}.legend{margin:2px 0;font-size:10px}.legend span{margin-right:12px;display:inline-block}\
    .legend i{display:inline-block;width:9px;height:9px;margin-right:4px}table{border-collapse:collapse;width:100%}\
    td,th{text-align:left;font-size:11px;padding:2px 8px 2px 0;border-bottom:1px solid #eceef0}";

/// A panel of the dashboard.
pub(super) struct Panel {
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) targets: Vec<Target>,
    unit: String,
    /// Colours of a value, each from a number on.
    steps: Vec<(f64, String)>,
    /// Names of the columns of a table; `None`: it is not shown.
    columns: BTreeMap<String, Option<String>>,
    /// Left, top, width and height in the grid.
    place: [u64; 4],
    /// Width of its content in pixels.
    width: f64,
}

/// A query of a panel.
pub(super) struct Target {
    pub(super) expression: String,
    pub(super) legend: String,
}

impl Panel {
    /// Returns the panels of the dashboard of the chart.
    pub(super) fn all() -> Vec<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/connect-operator/files/dashboard.json");
        let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        dashboard["panels"].as_array().expect("panels").iter().map(Self::of).collect()
    }

    fn of(panel: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let target =
            |target: &Value| Target { expression: text(&target["expr"]), legend: text(&target["legendFormat"]) };
        let defaults = &panel["fieldConfig"]["defaults"];
        let step = |step: &Value| (step["value"].as_f64().unwrap_or(f64::NEG_INFINITY), text(&step["color"]));
        let organize = &panel["transformations"][0]["options"];
        let names = |member: &str| organize[member].as_object().cloned().unwrap_or_default();
        let mut columns: BTreeMap<_, _> =
            names("renameByName").iter().map(|(name, new)| (name.clone(), Some(text(new)))).collect();
        columns.extend(names("excludeByName").into_iter().map(|(name, _)| (name, None)));
        Self {
            kind: text(&panel["type"]),
            title: text(&panel["title"]),
            targets: list(&panel["targets"]).iter().map(target).collect(),
            unit: text(&defaults["unit"]),
            steps: list(&defaults["thresholds"]["steps"]).iter().map(step).collect(),
            columns,
            place: ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().expect("a number")),
            width: panel["gridPos"]["w"].as_f64().expect("a number") * COLUMN - PADDING,
        }
    }

    fn colour(&self, value: f64) -> &str {
        let step = self.steps.iter().rfind(|(from, _)| value >= *from);
        match step.map(|(_, colour)| colour.as_str()) {
            Some("green") => "#1f8a4c",
            Some("red") => "#c23b4b",
            _ => "#24292e",
        }
    }
}

/// A series or sample of Prometheus.
pub(super) struct Data {
    pub(super) name: String,
    labels: BTreeMap<String, String>,
    /// Seconds and values.
    pub(super) values: Vec<(f64, f64)>,
}

impl Data {
    /// Reads a series of a range, or the sample of an instant.
    pub(super) fn of(mut series: Value, legend: &str) -> Self {
        let labels: BTreeMap<String, String> = serde_json::from_value(series["metric"].take()).expect("labels");
        let samples = series["values"].as_array().cloned().unwrap_or_else(|| vec![series["value"].clone()]);
        let number = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        let values = samples.iter().map(|sample| (sample[0].as_f64().expect("a second"), number(&sample[1]))).collect();
        let mut parts = legend.split("{{");
        let mut name = parts.next().unwrap_or_default().to_owned();
        for (label, rest) in parts.filter_map(|part| part.split_once("}}")) {
            name = name + labels.get(label).map_or("", String::as_str) + rest;
        }
        Self { name, labels, values }
    }

    /// Returns the last value that is a number.
    pub(super) fn last(&self) -> Option<f64> {
        self.values.iter().map(|(_, value)| *value).rfind(|value| value.is_finite())
    }
}

/// Returns the page.
pub(super) fn html(panels: &[(Panel, Vec<Data>)], from: i64, to: i64) -> String {
    let mut body = String::new();
    for (panel, data) in panels {
        let [x, y, width, height] = panel.place;
        let place = format!("grid-column:{}/span {width};grid-row:{}/span {height}", x + 1, y + 1);
        let title = escape(&panel.title);
        let content = match panel.kind.as_str() {
            "row" => {
                let _ = write!(body, "<h2 style=\"{place}\">{title}</h2>");
                continue;
            }
            "stat" => stat(panel, data),
            "table" => table(panel, data),
            _ => chart::lines(data, &panel.unit, [from, to], panel.width),
        };
        let _ = write!(body, "<section style=\"{place}\"><h3>{title}</h3>{content}</section>");
    }
    format!("<!doctype html><meta charset=utf-8><title>Dashboard</title><style>{STYLE}</style><main>{body}</main>")
}

/// Returns the height of the page in pixels.
pub(super) fn height(panels: &[(Panel, Vec<Data>)]) -> u64 {
    panels.iter().map(|(panel, _)| panel.place[1] + panel.place[3]).max().unwrap_or_default() * ROW + MARGIN
}

fn stat(panel: &Panel, data: &[Data]) -> String {
    let Some(value) = data.first().and_then(Data::last) else { return "<p class=stat>–</p>".to_owned() };
    format!("<p class=stat style=\"color:{}\">{}</p>", panel.colour(value), chart::with_unit(value, &panel.unit))
}

fn table(panel: &Panel, data: &[Data]) -> String {
    let labels: Vec<_> = data.first().map(|row| row.labels.keys().cloned().collect()).unwrap_or_default();
    let columns = labels.into_iter().chain(["Value".to_owned()]);
    let columns: Vec<_> = columns
        .filter_map(|column| match panel.columns.get(&column) {
            Some(None) => None,
            Some(Some(name)) => Some((column, name.clone())),
            None => Some((column.clone(), column)),
        })
        .collect();
    let mut rows = String::new();
    for (_, name) in &columns {
        let _ = write!(rows, "<th>{}</th>", escape(name));
    }
    for row in data.iter().take(SHOWN) {
        rows += "<tr>";
        for (column, _) in &columns {
            let value = || row.last().map(|value| chart::with_unit(value, &panel.unit)).unwrap_or_default();
            let cell = row.labels.get(column).cloned().unwrap_or_else(value);
            let _ = write!(rows, "<td>{}</td>", escape(&cell));
        }
    }
    format!("<table>{rows}</table>")
}

/// Returns a text as it is written in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
