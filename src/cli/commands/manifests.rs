//! Where `export` writes manifests: to standard output as one stream, or to a folder as one file each.

use crate::cli::printing::tell;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Failed;
use crate::cli::printing::print;
use crate::cli::text::yaml;

/// Where to write manifests.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Target {
    /// Folder in which each manifest becomes a file KIND-NAME.yaml. It is created if it does not exist; existing files
    /// are not overwritten. Default: standard output.
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
}

impl Target {
    /// Writes the manifests, and prints the names of the files.
    ///
    /// # Errors
    /// If something cannot be written. Files that were written before stay.
    pub(super) fn write(&self, manifests: &[Value]) -> Result<(), Failed> {
        let mut documents = Vec::new();
        for manifest in manifests {
            documents.push(yaml(manifest).map_err(io::Error::other)?);
        }
        let Some(folder) = &self.output_dir else {
            let all = documents.iter().flat_map(|document| ["---\n", document.as_str()]).collect::<String>();
            return Ok(print(&all)?);
        };
        let failed = |path: &Path, error: io::Error| Failed::Argument(format!("{}: {error}", path.display()));
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let mut written = String::new();
        for (manifest, document) in manifests.iter().zip(documents) {
            let path = folder.join(file_name(manifest));
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            file.and_then(|mut file| file.write_all(document.as_bytes())).map_err(|error| failed(&path, error))?;
            written.extend([path.display().to_string().as_str(), "\n"]);
        }
        Ok(print(&written)?)
    }
}

/// Returns the records with these keys; all of them if no key is given.
///
/// # Errors
/// The first key that no record has.
pub(super) fn with_keys<T>(
    mut found: Vec<T>,
    keys: &[String],
    key_of: impl Fn(&T) -> Option<&String>,
) -> Result<Vec<T>, String> {
    found.retain(|record| keys.is_empty() || key_of(record).is_some_and(|key| keys.contains(key)));
    match keys.iter().find(|key| !found.iter().any(|record| key_of(record) == Some(*key))) {
        Some(absent) => Err(absent.clone()),
        None => Ok(found),
    }
}

/// Reports on standard error the records that have no key. `what`: their kind.
pub(super) fn report_skipped(what: &str, ids: &[String]) {
    for id in ids {
        tell!("skipped: the {what} with the id {id} has no key, which a manifest needs");
    }
}

/// Returns the name of the file, which has no other letters than those of a kind and of a label.
fn file_name(manifest: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_ascii_lowercase();
    let name = format!("{}-{}", word(&manifest["kind"]), word(&manifest["metadata"]["name"]));
    name.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect::<String>() + ".yaml"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_manifest_is_a_file_and_no_file_is_overwritten() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("one/two");
        let target = Target { output_dir: Some(folder.clone()) };
        let manifests = [("Secret", "tax"), ("ConnectorDeployment", "../tax")]
            .map(|(kind, name)| json!({"kind": kind, "metadata": {"name": name}}));
        target.write(&manifests).expect("the files are written");
        for (file, kind) in [("secret-tax.yaml", "Secret"), ("connectordeployment-tax.yaml", "ConnectorDeployment")] {
            let text = fs::read_to_string(folder.join(file)).expect(file);
            let read: Value = serde_saphyr::from_str(&text).expect("it is YAML");
            assert_eq!(read["kind"], json!(kind));
        }
        let error = target.write(&manifests).expect_err("the files exist").to_string();
        assert!(error.contains("secret-tax.yaml: File exists"), "{error}");
    }
}
