//! Reads manifests from files, folders and standard input; YAML or JSON, with several documents each. Checks only their
//! form.
//!
//! Files may contain Secrets, so no error quotes their content.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// API group of what kustomize reads.
const KUSTOMIZE: &str = "kustomize.config.k8s.io/";
/// Start of the names of its files, which need no kind.
const KUSTOMIZATION: &str = "kustomization.";
/// What to do with such a file.
const BUILD_IT: &str =
    "kustomize reads this file, the cluster does not: pipe what `kubectl kustomize DIR` prints into `plan -f -`";

/// Stands for standard input in place of a file.
const STANDARD_INPUT: &str = "-";
/// Extensions of the files that are read from a folder, as for kubectl.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// An object to apply. Not `Debug`: it may be a Secret.
#[derive(Clone)]
pub(super) struct Document {
    /// File and document, for messages.
    pub(super) origin: String,
    /// Its kind.
    pub(super) kind: String,
    /// Its API group, empty for the core one.
    pub(super) group: String,
    /// Its namespace, if the manifest has one.
    pub(super) namespace: Option<String>,
    /// Its name.
    pub(super) name: String,
    /// The whole object.
    pub(super) body: Value,
}

impl Document {
    /// Returns the object as it is applied in a namespace, which is empty for a cluster-scoped kind: without a status.
    pub(super) fn body_in(&self, namespace: &str) -> Value {
        let mut body = self.body.clone();
        json_patch::merge(&mut body, &json!({"status": null}));
        if !namespace.is_empty() {
            body["metadata"]["namespace"] = json!(namespace);
        }
        body
    }
}

/// Why manifests cannot be read: the file, the document if it is one of it, and what is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub(in crate::cli) struct ManifestError(String, String);

/// Reads all named files and folders, in this order.
///
/// # Errors
/// If something cannot be read; the error has its name.
pub(super) fn read(names: &[PathBuf], recursive: bool) -> Result<Vec<Document>, ManifestError> {
    let mut documents = Vec::new();
    for name in names {
        let mut files = vec![name.clone()];
        if name.is_dir() && name.as_os_str() != STANDARD_INPUT {
            files = files_in(name, recursive).map_err(|error| failed(name, &error))?;
            files.sort();
        }
        if files.is_empty() {
            let nothing = "no file in this folder ends with .yaml, .yml or .json (--recursive also reads its folders)";
            return Err(failed(name, &nothing));
        }
        for file in files {
            let is_input = file.as_os_str() == STANDARD_INPUT;
            let text = if is_input { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(&file) };
            let text = text.map_err(|error| failed(&file, &error))?;
            let origin = if is_input { "standard input".to_owned() } else { file.display().to_string() };
            documents.extend(parse(&origin, &text)?);
        }
    }
    Ok(documents)
}

fn failed(file: &Path, why: &impl ToString) -> ManifestError {
    ManifestError(file.display().to_string(), why.to_string())
}

fn files_in(folder: &Path, recursive: bool) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.is_dir() {
            // Links to folders may form a circle.
            if recursive && entry.file_type()?.is_dir() {
                files.extend(files_in(&path, recursive)?);
            }
        } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Parses the objects in a text. Pure.
///
/// # Errors
/// If a document cannot be parsed; the error names its place.
pub(super) fn parse(origin: &str, text: &str) -> Result<Vec<Document>, ManifestError> {
    let values: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| {
        let place = error.location().map(|place| format!(", line {}", place.line())).unwrap_or_default();
        let why = "this is not valid YAML; the content is not shown, because it may be a secret";
        ManifestError(format!("{origin}{place}"), why.to_owned())
    })?;
    let mut documents = Vec::new();
    for (at, value) in values.into_iter().enumerate() {
        add(&format!("{origin}, document {}", at + 1), value, &mut documents)?;
    }
    Ok(documents)
}

fn add(origin: &str, value: Value, documents: &mut Vec<Document>) -> Result<(), ManifestError> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(ToOwned::to_owned);
    let object = |what: &str| ManifestError(origin.to_owned(), what.to_owned());
    if value.is_null() {
        return Ok(());
    }
    let of_kustomize = match value["apiVersion"].as_str() {
        Some(version) => version.starts_with(KUSTOMIZE),
        None => value["kind"].is_null() && origin.rsplit('/').next().is_some_and(|it| it.starts_with(KUSTOMIZATION)),
    };
    if of_kustomize {
        return Err(object(BUILD_IT));
    }
    let kind = text(&value["kind"]).ok_or_else(|| object("this is not a Kubernetes object: it has no kind"))?;
    let version = text(&value["apiVersion"]).ok_or_else(|| object("it has no apiVersion"))?;
    if let (true, Some(items)) = (kind.ends_with("List"), value["items"].as_array()) {
        return items.iter().try_for_each(|item| add(origin, item.clone(), documents));
    }
    let name = text(&value["metadata"]["name"])
        .ok_or_else(|| object("it has no metadata.name (generateName cannot be planned)"))?;
    documents.push(Document {
        origin: origin.to_owned(),
        kind,
        group: version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
        namespace: text(&value["metadata"]["namespace"]),
        name,
        body: value,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_a_stream_is_read_and_lists_are_expanded() {
        let text = "---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n\
            - {apiVersion: connect-operator.io/v1alpha1, kind: ConnectProject, metadata: {name: b, namespace: shop}}\n";
        let read = parse("file", text).unwrap_or_default();
        let shown: Vec<_> = read
            .iter()
            .map(|it| (it.group.as_str(), it.kind.as_str(), it.namespace.as_deref(), it.name.as_str()))
            .collect();
        assert_eq!(shown, [("", "Secret", None, "a"), ("connect-operator.io", "ConnectProject", Some("shop"), "b")]);
        assert_eq!(
            parse("file", "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"j\"}}")
                .map_or(0, |all| all.len()),
            1
        );
    }

    #[test]
    fn a_file_of_kustomize_is_to_be_built_first() {
        let of_kustomize = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
        let of_flux =
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {}\n";
        for (case, origin, text, refused) in [
            ("with its kind", "dir/a.yaml", of_kustomize, Some("kubectl kustomize")),
            ("without", "dir/kustomization.yaml", "resources: [a.yaml]\n", Some("kubectl kustomize")),
            ("another file without a kind", "dir/values.yaml", "resources: [a.yaml]\n", Some("it has no kind")),
            ("one of Flux", "dir/kustomization.yaml", of_flux, None),
        ] {
            let error = parse(origin, text).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), refused.is_some(), "{case}: {error:?}");
            assert!(error.unwrap_or_default().contains(refused.unwrap_or_default()), "{case}");
        }
    }

    #[test]
    fn errors_name_the_document_and_do_not_quote_it() {
        for (case, text, expected) in [
            ("no YAML", "apiVersion: v1\nstringData: {token: canary\n", "not valid YAML"),
            ("twice the same key", "stringData:\n  token: canary\n  token: canary\n", "not valid YAML"),
            ("a text", "canary", "it has no kind"),
            ("no kind", "apiVersion: v1\nstringData: {token: canary}\n", "it has no kind"),
            ("no version", "kind: Secret\nstringData: {token: canary}\n", "it has no apiVersion"),
            ("no name", "apiVersion: v1\nkind: Secret\nmetadata: {generateName: canary}\n", "no metadata.name"),
        ] {
            let error = parse("file", text).err().map(|error| format!("{error} {error:?}")).unwrap_or_default();
            assert!(error.starts_with("file, ") && error.contains(expected), "{case}: {error}");
            assert!(!error.contains("canary"), "{case}: {error}");
        }
    }
}
