//! The archive that `scripts/image` makes: its contents, that every digest is right, and that it is reproducible. Any
//! file serves as the binary.

use sha2::{Digest as _, Sha256};

use crate::prelude::*;

const BINARY: &str = "not really a program\n";
const AUTHORITIES: &str = "not really certificates\n";

/// Returns a folder with all inputs.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("program"), BINARY).unwrap();
    std::fs::write(place.path().join("authorities.pem"), AUTHORITIES).unwrap();
    place
}

fn image(place: &Path, arguments: &[&str]) -> Output {
    Command::new(in_checkout("scripts/image"))
        .current_dir(place)
        .args(arguments)
        .env("CA_CERTIFICATES", place.join("authorities.pem"))
        .env("VERSION", "1.2.3")
        .env("REVISION", "0123abc")
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .expect("the script runs")
}

fn made(place: &Path, architecture: &str) -> PathBuf {
    let archive = place.join(format!("{architecture}.tar"));
    let output = image(place, &[architecture, "program", archive.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    archive
}

fn unpacked(archive: &Path, place: &Path, name: &str) -> PathBuf {
    let folder = place.join(name);
    std::fs::create_dir(&folder).unwrap();
    let tar = Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&folder).status().expect("tar runs");
    assert!(tar.success());
    folder
}

/// Returns what `tar` lists: mode, owner, size, date and name of each entry.
fn listed(archive: &Path) -> Vec<String> {
    let output =
        Command::new("tar").args(["--utc", "--numeric-owner", "-tvf"]).arg(archive).output().expect("tar runs");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    String::from_utf8(output.stdout).unwrap().lines().map(words).collect()
}

fn json_at(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the blob that `descriptor` references, after a check of its digest and size.
fn blob(image: &Path, descriptor: &Value) -> PathBuf {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let path = image.join("blobs/sha256").join(digest);
    let content = std::fs::read(&path).unwrap();
    assert_eq!(descriptor["size"], content.len());
    let mut found = String::new();
    for byte in Sha256::digest(&content) {
        write!(found, "{byte:02x}").unwrap();
    }
    assert_eq!(found, digest);
    path
}

#[test]
fn the_archive_holds_one_program_the_authorities_and_nothing_else() {
    let place = place();
    let archive = made(place.path(), "arm64");
    let image = unpacked(&archive, place.path(), "image");
    assert_eq!(json_at(&image.join("oci-layout")), json!({"imageLayoutVersion": "1.0.0"}));
    let index = json_at(&image.join("index.json"));
    let entry = &index["manifests"][0];
    assert_eq!(entry["platform"], json!({"architecture": "arm64", "os": "linux"}));
    assert_eq!(entry["annotations"]["org.opencontainers.image.ref.name"], "1.2.3");
    let manifest = json_at(&blob(&image, entry));
    let config = json_at(&blob(&image, &manifest["config"]));
    let layer = blob(&image, &manifest["layers"][0]);
    assert_eq!(std::fs::read_dir(image.join("blobs/sha256")).unwrap().count(), 3, "no blob without a reference");

    assert_eq!(config["architecture"], "arm64");
    assert_eq!(config["created"], "2023-11-14T22:13:20Z");
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], json!(["/connect-operator"]));
    assert_eq!(config["config"]["Cmd"], json!(["run"]));
    assert_eq!(config["rootfs"]["diff_ids"], json!([manifest["layers"][0]["digest"]]), "the layer is not compressed");
    let labels = &config["config"]["Labels"];
    for (label, value) in [("version", "1.2.3"), ("revision", "0123abc"), ("created", "2023-11-14T22:13:20Z")] {
        assert_eq!(labels[format!("org.opencontainers.image.{label}")], value);
    }
    let files: Vec<_> = listed(&layer).into_iter().filter(|line| !line.starts_with('d')).collect();
    assert_eq!(
        files,
        [
            format!("-rwxr-xr-x 0/0 {} 2023-11-14 22:13 ./connect-operator", BINARY.len()),
            format!("-rw-r--r-- 0/0 {} 2023-11-14 22:13 ./etc/ssl/certs/ca-certificates.crt", AUTHORITIES.len()),
        ]
    );
    let root = unpacked(&layer, place.path(), "root");
    assert_eq!(std::fs::read_to_string(root.join("connect-operator")).unwrap(), BINARY);
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let (one, other) = (place(), place());
    // Times and permissions of the inputs do not matter.
    Command::new("chmod").arg("700").arg(other.path().join("program")).status().expect("chmod runs");
    let archives: BTreeSet<_> =
        [&one, &other].map(|place| std::fs::read(made(place.path(), "amd64")).unwrap()).into_iter().collect();
    assert_eq!(archives.len(), 1);
    std::fs::write(other.path().join("program"), "another program\n").unwrap();
    assert!(!archives.contains(&std::fs::read(made(other.path(), "amd64")).unwrap()));
}
