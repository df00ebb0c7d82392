//! What each value changes in the render, and which values are refused with which message. The rows are in
//! `tests/fixtures/chart/*.changes`, each as a heading: a name, values, and further arguments of Helm if there are any.
//! Below it are the lines of each manifest that go and come, or, where the name begins with `refused`, the refusal.

use super::renders::{FOLDER, copy_chart};
use crate::helm::RELEASE;
use crate::prelude::*;

/// Most lines that are shown of a manifest that is new.
const LONGEST: usize = 40;

/// The lines of each manifest, by its identity.
type Manifests = BTreeMap<String, Vec<String>>;

/// Returns a copy of the chart that also renders its notes, which Helm shows only with a cluster.
fn chart_with_notes() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("chart");
    copy_chart(&chart);
    let notes = std::fs::read_to_string(chart.join("templates/NOTES.txt")).unwrap();
    let (head, tail) =
        ("{{- define \"notes\" }}", "{{ end }}kind: Notes\nnotes: |\n{{ include \"notes\" . | indent 2 }}\n");
    std::fs::write(chart.join("templates/notes.yaml"), format!("{head}{notes}{tail}")).unwrap();
    folder
}

/// Returns `Kind/namespace/name` of a manifest, without parsing it.
fn identity(document: &str) -> String {
    let part = |begin: &str| document.lines().find_map(|line| line.strip_prefix(begin)).unwrap_or_default();
    format!("{}/{}/{}", part("kind: "), part("  namespace: "), part("  name: "))
}

fn render(chart: &TempDir, base: &str, arguments: &[&str]) -> Result<Manifests, String> {
    let (chart, values) = (chart.path().join("chart"), format!("{FOLDER}/{base}.values.yaml"));
    let [release, namespace] = RELEASE;
    let all = ["template", release, chart.to_str().unwrap(), "--namespace", namespace, "--values", &values];
    let output = helm::helm(&[&all, &["--kube-version", helm::KUBE_VERSION][..], arguments].concat());
    if !output.status.success() {
        let error = String::from_utf8(output.stderr).unwrap();
        let is_told = |line: &&str| {
            !line.trim().is_empty()
                && !["Error: values don't", "connect-operator:", "Use --debug"].iter().any(|it| line.starts_with(it))
        };
        let told = error.lines().filter(is_told);
        return Err(told.map(|line| line.trim_start_matches("- ").to_owned() + "\n").collect());
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let documents = text.split("---\n").filter(|document| !document.trim().is_empty());
    let named = documents.map(|document| {
        let lines = document.lines().filter(|line| !line.starts_with("# Source: ") && !line.is_empty());
        (identity(document), lines.map(str::to_owned).collect())
    });
    Ok(named.collect())
}

/// Returns the lines that go, with a minus, and those that come, with a plus.
fn difference(before: &[String], after: &[String]) -> String {
    // The lengths of the longest common part of the two ends.
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for one in (0..before.len()).rev() {
        for other in (0..after.len()).rev() {
            let either = common[one + 1][other].max(common[one][other + 1]);
            common[one][other] = if before[one] == after[other] { common[one + 1][other + 1] + 1 } else { either };
        }
    }
    let (mut one, mut other, mut text) = (0, 0, String::new());
    while one < before.len() || other < after.len() {
        if one < before.len() && other < after.len() && before[one] == after[other] {
            (one, other) = (one + 1, other + 1);
        } else if one < before.len() && common[one + 1][other] >= common[one][after.len().min(other + 1)] {
            writeln!(text, "-{}", before[one]).unwrap();
            one += 1;
        } else {
            writeln!(text, "+{}", after[other]).unwrap();
            other += 1;
        }
    }
    text
}

fn changes(before: &Manifests, after: &Manifests) -> String {
    let mut text = String::new();
    for identity in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let (one, other) = (before.get(identity), after.get(identity));
        if one == other {
            continue;
        }
        match (one, other) {
            (Some(one), Some(other)) => write!(text, "{identity}\n{}", difference(one, other)).unwrap(),
            (Some(_), None) => writeln!(text, "no {identity}").unwrap(),
            (None, other) => {
                let shown: Vec<_> = other.into_iter().flatten().take(LONGEST).cloned().collect();
                write!(text, "new {identity}\n{}", difference(&[], &shown)).unwrap();
            }
        }
    }
    text
}

fn compare(base: &str) {
    let (chart, path) = (chart_with_notes(), format!("{FOLDER}/{base}.changes"));
    let before = render(&chart, base, &[]).expect("the chart renders");
    let page = text_of(&path);
    let rows: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("== ")).collect();
    let told = |row: &&str| {
        let mut parts = row.split(" | ").skip(1);
        let mut arguments = vec!["--set", parts.next().expect("a row has values")];
        arguments.extend(parts.flat_map(|more| more.split(' ')));
        let found = render(&chart, base, &arguments);
        assert_eq!(found.is_err(), row.starts_with("refused: "), "{row}: {found:?}");
        format!("== {row}\n{}", found.map_or_else(|refusal| refusal, |after| changes(&before, &after)))
    };
    let halves = rows.split_at(rows.len() / 2);
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| halves.0.iter().map(told).collect::<Vec<_>>());
        (halves.1.iter().map(told).collect::<Vec<_>>(), one.join().unwrap())
    });
    assert_golden(&path, &[other, one].concat().join("\n"));
}

#[test]
fn each_value_changes_what_belongs_to_it_or_is_refused_by_name() {
    compare("default");
}

#[test]
fn each_value_of_the_monitoring_changes_what_belongs_to_it() {
    compare("monitoring");
}
