//! The files of a release.

use super::{Repository, VERSION, error, git};
use crate::prelude::*;

const HOME: &str = "https://github.com/connect-operator/connect-operator";
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// Returns the SHA-256 sum of each file, after a check of all of them.
fn sums(dist: &Path) -> BTreeMap<String, String> {
    succeed(Command::new("sha256sum").current_dir(dist).args(["--check", "--strict", "--quiet", "SHA256SUMS"]));
    let lines = text(dist, "SHA256SUMS");
    let pairs = lines.lines().map(|line| line.split_once("  ").expect("a sum and a name"));
    pairs.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}

fn names(dist: &Path) -> BTreeSet<String> {
    std::fs::read_dir(dist).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

fn text(dist: &Path, name: &str) -> String {
    std::fs::read_to_string(dist.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns mode, owner, date, time and name of each entry.
fn listed(dist: &Path, archive: &str) -> Vec<[String; 5]> {
    let mut tar = Command::new("tar");
    let list = succeed(tar.current_dir(dist).args(["--utc", "--numeric-owner", "-tvf", archive]));
    let entry = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [mode, owner, _, date, time, name] = words[..] else { panic!("{line}") };
        [mode, owner, date, time, name].map(str::to_owned)
    };
    String::from_utf8(list).unwrap().lines().map(entry).collect()
}

fn archive(architecture: &str) -> String {
    format!("connect-operator_{VERSION}_linux_{architecture}.tar.gz")
}

#[test]
fn a_dry_run_makes_every_file_of_a_release() {
    let repository = Repository::new();
    let output = repository.dry_run();
    assert!(output.status.success(), "{}", error(&output));
    let dist = repository.dist();
    let mut expected: BTreeSet<_> =
        ["DRY-RUN", "SHA256SUMS", "provenance.json", "release-notes.md", "crds.yaml", "install.yaml", "connect.yaml"]
            .into_iter()
            .chain(["connect-operator.rb"])
            .map(str::to_owned)
            .collect();
    expected.insert(format!("connect-operator-{VERSION}.tgz"));
    for architecture in ARCHITECTURES {
        expected.insert(archive(architecture));
        expected.insert(format!("connect-operator_{VERSION}_image_{architecture}.tar"));
        expected.insert(format!("connect-operator_{VERSION}_linux_{architecture}.cdx.json"));
    }
    assert_eq!(names(&dist), expected);
    let sums = sums(&dist);
    expected.remove("SHA256SUMS");
    assert_eq!(sums.keys().cloned().collect::<BTreeSet<_>>(), expected);

    for name in expected.iter().filter(|name| name.contains(".t")) {
        entries_depend_on_the_commit_only(&dist, name);
    }
    for architecture in ARCHITECTURES {
        let names: Vec<_> = listed(&dist, &archive(architecture)).into_iter().map(|entry| entry[4].clone()).collect();
        assert_eq!(names, ["LICENSE", "connect-operator"]);
    }
    the_chart_is_that_of(&repository);
    for (name, of) in [("crds.yaml", "deploy/base/crds.yaml"), ("install.yaml", "deploy/install.yaml")] {
        assert_eq!(text(&dist, name), text_of(of), "{name}");
    }
    let tag = format!("operator/connect-operator:{VERSION}\"");
    assert!(text(&dist, "install.yaml").contains(&tag), "it installs the image of this version");
    krew_gets_a_plugin(&dist, &sums);
    homebrew_gets_a_formula(&dist, &sums);
    the_provenance_names_every_file_and_the_commit(&repository, sums);
}

fn entries_depend_on_the_commit_only(dist: &Path, archive: &str) {
    let entries = listed(dist, archive);
    let names: Vec<_> = entries.iter().map(|entry| entry[4].as_str()).collect();
    assert!(names.is_sorted_by(|one, other| one.split('/').le(other.split('/'))), "{archive}: {names:?}");
    for [mode, owner, date, time, name] in &entries {
        assert_eq!([owner, date, time].map(String::as_str), ["0/0", "2023-11-14", "22:13"], "{archive}: {name}");
        assert!(["drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"].contains(&mode.as_str()), "{archive}: {name}: {mode}");
    }
}

fn the_chart_is_that_of(repository: &Repository) {
    let (dist, name) = (repository.dist(), format!("connect-operator-{VERSION}.tgz"));
    let archive = dist.join(&name);
    let archive = archive.to_str().unwrap();
    let [release, namespace] = helm::RELEASE;
    let output =
        helm::helm(&["template", release, archive, "--namespace", namespace, "--kube-version", helm::KUBE_VERSION]);
    assert!(output.status.success(), "{}", error(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), helm::text(&[]).expect("the chart renders"));
    let shown = String::from_utf8(helm::helm(&["show", "chart", archive]).stdout).unwrap();
    let shown: Value = serde_saphyr::from_str(&shown).unwrap();
    assert_eq!((&shown["version"], &shown["appVersion"]), (&json!(VERSION), &json!(VERSION)));
    // Files that nothing renders are part of it too.
    let files = listed(&dist, &name).into_iter().filter(|entry| entry[0].starts_with('-'));
    let packed: BTreeSet<_> = files.map(|entry| format!("charts/{}", entry[4])).collect();
    let committed = succeed(git(&repository.folder()).args(["ls-files", helm::CHART]));
    let committed = String::from_utf8(committed).unwrap();
    assert_eq!(packed, committed.lines().map(str::to_owned).collect());
}

/// <https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/>
fn krew_gets_a_plugin(dist: &Path, sums: &BTreeMap<String, String>) {
    let manifest: Value = serde_saphyr::from_str(&text(dist, "connect.yaml")).unwrap();
    assert_eq!(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!(manifest["kind"], "Plugin");
    assert_eq!(manifest["metadata"], json!({"name": "connect"}), "the name of the file, and of `kubectl connect`");
    let spec = &manifest["spec"];
    assert_eq!((&spec["version"], &spec["homepage"]), (&json!(format!("v{VERSION}")), &json!(HOME)));
    for (field, longest) in [("shortDescription", 50), ("description", usize::MAX)] {
        let text = spec[field].as_str().unwrap_or_default();
        assert!(!text.is_empty() && text.len() <= longest, "{field}: {text}");
    }
    let platforms = ARCHITECTURES.map(|architecture| {
        let name = archive(architecture);
        json!({
            "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
            "uri": format!("{HOME}/releases/download/v{VERSION}/{name}"),
            "sha256": sums[&name],
            "bin": "connect-operator",
        })
    });
    assert_eq!(spec["platforms"], json!(platforms));
}

fn homebrew_gets_a_formula(dist: &Path, sums: &BTreeMap<String, String>) {
    let formula = text(dist, "connect-operator.rb");
    assert!(formula.starts_with("class ConnectOperator < Formula\n"), "the class is named after the file");
    for (architecture, block) in [("amd64", "on_intel"), ("arm64", "on_arm")] {
        let name = archive(architecture);
        let expected = format!(
            "  {block} do\n    url \"{HOME}/releases/download/v{VERSION}/{name}\"\n    sha256 \"{}\"\n  end\n",
            sums[&name]
        );
        assert!(formula.contains(&expected), "{expected}: {formula}");
    }
}

/// <https://slsa.dev/spec/v1.1/provenance>
fn the_provenance_names_every_file_and_the_commit(repository: &Repository, mut sums: BTreeMap<String, String>) {
    let statement: Value = serde_json::from_str(&text(&repository.dist(), "provenance.json")).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    let digest = |subject: &Value| {
        Some((subject["name"].as_str()?.to_owned(), subject["digest"]["sha256"].as_str()?.to_owned()))
    };
    let subjects: Option<BTreeMap<_, _>> = statement["subject"].as_array().unwrap().iter().map(digest).collect();
    sums.remove("provenance.json");
    assert_eq!(subjects, Some(sums));
    let build = &statement["predicate"]["buildDefinition"];
    assert_eq!(build["externalParameters"], json!({"version": VERSION, "dryRun": true}));
    let commit = succeed(git(&repository.folder()).args(["rev-parse", "HEAD"]));
    let commit = String::from_utf8(commit).unwrap();
    assert_eq!(
        build["resolvedDependencies"][0],
        json!({"uri": format!("git+{HOME}"), "digest": {"gitCommit": commit.trim()}})
    );
    for address in [&build["buildType"], &statement["predicate"]["runDetails"]["builder"]["id"]] {
        let path = address.as_str().and_then(|it| it.strip_prefix(&format!("{HOME}/blob/v{VERSION}/")));
        let file = path.and_then(|path| path.split('#').next()).expect("a file of the repository");
        assert!(in_checkout(file).is_file(), "{file}");
    }
}

#[test]
fn the_same_commit_gives_the_same_bytes() {
    let [one, other] = [["022", "UTC"], ["077", "Asia/Kathmandu"]].map(|place| {
        let repository = Repository::new();
        let output = repository.release(place, &["--dry-run", VERSION]);
        assert!(output.status.success(), "{}", error(&output));
        repository
    });
    assert_eq!(names(&one.dist()), names(&other.dist()));
    for name in names(&one.dist()) {
        let [one, other] = [&one, &other].map(|it| std::fs::read(it.dist().join(&name)).unwrap());
        assert!(one == other, "{name} differs");
    }
}
