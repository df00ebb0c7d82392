//! The alerts, tested with Prometheus' own tool: their rules, and when they fire.

use super::chart;
use crate::prelude::*;

/// The files with alerts; each has a file with tests.
const FILES: [&str; 2] = ["alerts.yaml", "alerts-by-resource.yaml"];

/// Runs promtool. If it is not installed, the test is skipped with a notice; with `REQUIRE_PROMETHEUS` it fails.
fn promtool(arguments: &[&str]) {
    let output = match Command::new("promtool").args(arguments).output() {
        Ok(output) => output,
        Err(error) if std::env::var_os("REQUIRE_PROMETHEUS").is_none() => {
            eprintln!("SKIPPED: promtool {arguments:?}: {error}; install the package `prometheus`");
            return;
        }
        Err(error) => panic!("promtool: {error}; install the package `prometheus`"),
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
}

#[test]
fn each_alert_is_valid_fires_when_it_should_and_is_silent_when_it_should() {
    let folder = in_checkout("tests/fixtures/alerts");
    for file in FILES {
        let tests = folder.join(file.replace(".yaml", "-test.yaml"));
        let (text, rules) = (text_of(&tests), text_of(chart(file)));
        for name in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
            assert!(text.contains(&format!("name: {name}")), "{file}: {name} has no test");
        }
        promtool(&["check", "rules", chart(file).to_str().expect("text")]);
        promtool(&["test", "rules", tests.to_str().expect("text")]);
    }
}
