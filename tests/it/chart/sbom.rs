//! The contents of the image, as `scripts/sbom` writes them: every crate of its program, and none that only tests need.

use crate::prelude::*;

const LOCK: &str = include_str!("../../../Cargo.lock");

fn written(architecture: &str, file: &Path) -> String {
    let mut script = Command::new(in_checkout("scripts/sbom"));
    succeed(script.arg(architecture).arg(file).env("SOURCE_DATE_EPOCH", "1700000000"));
    std::fs::read_to_string(file).unwrap()
}

/// Returns the checksums of Cargo.lock, by name and version.
fn checksums() -> BTreeMap<(String, String), String> {
    let packages = LOCK.split("[[package]]").skip(1);
    let value = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    packages.filter_map(|it| Some(((value(it, "name")?, value(it, "version")?), value(it, "checksum")?))).collect()
}

#[test]
fn the_image_is_made_of_these_crates_each_with_version_licence_and_checksum() {
    let place = tempfile::tempdir().unwrap();
    let (file, again) = (place.path().join("a/sbom.json"), place.path().join("again.json"));
    let text = written("amd64", &file);
    assert_eq!(text, written("amd64", &again), "the same input gives the same bytes");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["bomFormat"], "CycloneDX");
    assert_eq!(document["specVersion"], "1.5");
    assert_eq!(document["version"], 1);
    assert_eq!(document["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
    let program = &document["metadata"]["component"];
    assert_eq!((&program["type"], &program["name"]), (&"application".into(), &"connect-operator".into()));
    assert_eq!(program["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(program["licenses"][0]["expression"], "Apache-2.0");

    let (known, mut names, mut references) = (checksums(), BTreeSet::new(), BTreeSet::new());
    for component in document["components"].as_array().unwrap() {
        let text = |pointer: &str| component.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, version) = (text("/name"), text("/version"));
        assert_eq!(text("/type"), "library", "{name}");
        assert_eq!(text("/purl"), format!("pkg:cargo/{name}@{version}"));
        assert!(references.insert(text("/bom-ref")), "{name} {version} twice");
        assert!(!text("/licenses/0/expression").is_empty() && !text("/licenses/0/expression").contains('/'), "{name}");
        assert_eq!(text("/hashes/0/alg"), "SHA-256", "{name}");
        assert_eq!(Some(&text("/hashes/0/content")), known.get(&(name.clone(), version)), "{name}");
        names.insert(name);
    }
    for needed in ["tokio", "kube", "rustls", "serde_derive", "aho-corasick"] {
        assert!(names.contains(needed), "{needed}");
    }
    // Only tests and the local cluster use these; the image has neither.
    for other in ["proptest", "tempfile", "connect-operator"] {
        assert!(!names.contains(other), "{other}");
    }
    assert!(written("arm64", &again).contains("\"pkg:cargo/tokio@"));
}
