//! Names of the Connector objects: readable, valid (RFC 1123 subdomains), and the same after every restart. Pure.
//!
//! A name is `{project}.{key}`, so that two projects of a namespace with overlapping filters never use the same object.
//! A key that is not a DNS label is converted to one, with two hyphens and the beginning of a digest appended. The name for
//! a `ClusterConnectProject`, whose objects are in the operator's namespace, ends with `--cluster`. No key that is used
//! unchanged contains two hyphens, and `cluster` is no beginning of a digest, so no two connectors share a name.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::desired::Identity;
use crate::controllers::values::digest::hex;
use crate::crd::{ProjectKind, ProjectRef};

/// Longest label (RFC 1123).
const LONGEST_LABEL: usize = 63;
/// Longest name of an object (Kubernetes API, RFC 1123 subdomain).
const LONGEST_NAME: usize = 253;
/// Separates a converted key from its digest.
const APART: &str = "--";
/// Hexadecimal digits of the digest in a name.
const DIGITS: usize = 8;
/// End of the names for a `ClusterConnectProject`.
const OF_CLUSTER: &str = "--cluster";

/// Returns the name of a connector's object, unless another connector has it.
#[must_use]
pub fn usual(project: &ProjectRef, connector: &Identity) -> String {
    let label = match &connector.key {
        Some(key) if is_taken_as_it_is(key) => key.clone(),
        Some(key) => apart(key, key),
        None => apart(&connector.name, &connector.id),
    };
    within(project, &label)
}

/// Returns the name if another connector has the usual one: keys of different creators may be equal.
#[must_use]
pub fn by_id(project: &ProjectRef, connector: &Identity) -> String {
    let readable = connector.key.as_deref().unwrap_or(&connector.name);
    within(project, &apart(readable, &connector.id))
}

/// Returns unique names for `connectors`. `holder`: returns the id of the connector whose object has this name already.
/// If several connectors have the same usual name, its holder keeps it; without one, the connector with the smallest id
/// gets it.
#[must_use]
pub fn all<'c>(
    project: &ProjectRef,
    connectors: impl Iterator<Item = &'c Identity>,
    holder: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let wanted: Vec<(String, &Identity)> = connectors.map(|connector| (usual(project, connector), connector)).collect();
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_cached_key(|at| {
        let (name, connector) = &wanted[*at];
        (name.clone(), holder(name).as_ref() != Some(&connector.id), connector.id.clone())
    });
    let mut taken = BTreeSet::new();
    let mut names = vec![String::new(); wanted.len()];
    for at in order {
        let (name, connector) = &wanted[at];
        names[at] = if taken.insert(name) { name.clone() } else { by_id(project, connector) };
    }
    names
}

/// Returns the project to which an object of this name would belong.
#[must_use]
pub fn project_of(name: &str) -> Option<ProjectRef> {
    let (project, label) = name.rsplit_once('.')?;
    let shared = label.ends_with(OF_CLUSTER);
    let kind = if shared { ProjectKind::ClusterConnectProject } else { ProjectKind::ConnectProject };
    Some(ProjectRef { kind, name: project.to_owned() })
}

fn is_taken_as_it_is(key: &str) -> bool {
    let inner = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    (1..=LONGEST_LABEL).contains(&key.len())
        && key.chars().all(inner)
        && !key.starts_with('-')
        && !key.ends_with('-')
        && !key.contains(APART)
}

/// Returns the readable part of a text, with the digest of a unique text.
fn apart(readable: &str, unique: &str) -> String {
    let mut label = String::new();
    for sign in readable.chars().map(|sign| sign.to_ascii_lowercase()) {
        if sign.is_ascii_lowercase() || sign.is_ascii_digit() {
            label.push(sign);
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    label.truncate(LONGEST_LABEL - APART.len() - DIGITS);
    let label = label.trim_end_matches('-');
    let label = if label.is_empty() { "connector" } else { label };
    format!("{label}{APART}{}", digits(unique))
}

/// Joins project and label. A project name may be as long as an object name, so the longest ones are cut, too.
fn within(project: &ProjectRef, label: &str) -> String {
    let end = match project.kind {
        ProjectKind::ConnectProject => "",
        ProjectKind::ClusterConnectProject => OF_CLUSTER,
    };
    let project = &project.name;
    let room = LONGEST_NAME - LONGEST_LABEL - 1 - end.len();
    if project.len() <= room {
        return format!("{project}.{label}{end}");
    }
    // Project names are ASCII, so the cut is a character boundary.
    let cut = project.get(..room - APART.len() - DIGITS).unwrap_or_default().trim_end_matches(['-', '.']);
    format!("{cut}{APART}{}.{label}{end}", digits(project))
}

fn digits(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..DIGITS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(key: Option<&str>, id: &str) -> Identity {
        Identity { id: id.into(), key: key.map(Into::into), name: "Tax & More".into() }
    }

    fn project(name: &str) -> ProjectRef {
        ProjectRef { kind: ProjectKind::ConnectProject, name: name.to_owned() }
    }

    fn shared(name: &str) -> ProjectRef {
        ProjectRef { kind: ProjectKind::ClusterConnectProject, ..project(name) }
    }

    fn is_valid(name: &str) -> bool {
        let label = |label: &str| {
            (1..=LONGEST_NAME).contains(&label.len())
                && label.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        name.len() <= LONGEST_NAME && name.split('.').all(label)
    }

    #[test]
    fn names_are_readable_and_valid_whatever_the_key() {
        let long = "a".repeat(256);
        for (case, key, readable, changed) in [
            ("a label", Some("avalara-tax"), "shop.avalara-tax", false),
            ("one letter", Some("a"), "shop.a", false),
            ("capitals and underscores", Some("My_Tax"), "shop.my-tax", true),
            ("hyphens at the ends", Some("-tax-"), "shop.tax", true),
            ("two hyphens", Some("my--tax"), "shop.my-tax", true),
            ("no allowed character", Some("__"), "shop.connector", true),
            ("characters outside the contract", Some("Größe/1.2"), "shop.gr-e-1-2", true),
            ("empty", Some(""), "shop.connector", true),
            ("no key", None, "shop.tax-more", true),
        ] {
            let name = usual(&project("shop"), &connector(key, "1"));
            assert_eq!(name.split("--").next(), Some(readable), "{case}");
            assert_eq!(name.contains("--"), changed, "{case}");
            assert!(is_valid(&name), "{case}: {name}");
            assert_eq!(project_of(&name), Some(project("shop")), "{case}");
        }
        // A fixed expected value: another digest would be another object after an upgrade.
        assert_eq!(usual(&project("shop"), &connector(Some("My_Tax"), "1")), "shop.my-tax--5715af3b");
        let cut = usual(&project("shop"), &connector(Some(&long), "1"));
        assert!(is_valid(&cut) && cut.len() == "shop.".len() + 63, "{cut}");
        assert_ne!(cut, usual(&project("shop"), &connector(Some(&"a".repeat(255)), "1")));
    }

    #[test]
    fn a_key_that_looks_like_a_converted_one_is_converted() {
        let changed = usual(&project("shop"), &connector(Some("My_Tax"), "1"));
        let (_, label) = changed.split_once('.').expect("a project and a label");
        let posing = usual(&project("shop"), &connector(Some(label), "2"));
        assert_ne!(posing, changed);
    }

    #[test]
    fn projects_with_long_names_do_not_share_names() {
        let (one, other) = (format!("{}.a", "p".repeat(250)), format!("{}.b", "p".repeat(250)));
        let names = [&one, &other].map(|name| usual(&project(name), &connector(Some("tax"), "1")));
        assert!(names.iter().all(|name| is_valid(name)), "{names:?}");
        assert_ne!(names[0], names[1]);
        // A project whose name ends as the objects of another project do.
        assert_ne!(
            usual(&project("shop.tax"), &connector(Some("a"), "1")),
            usual(&project("shop"), &connector(Some("tax.a"), "1"))
        );
    }

    #[test]
    fn a_shared_project_and_one_of_the_operators_namespace_with_its_name_do_not_share_names() {
        let long = "p".repeat(253);
        for (name, key) in [("shop", "tax"), ("shop", "My_Tax"), ("shop", "cluster"), (long.as_str(), "tax")] {
            let connector = connector(Some(key), "1");
            let (own, of_cluster) = (usual(&project(name), &connector), usual(&shared(name), &connector));
            assert_ne!(own, of_cluster);
            assert!(is_valid(&of_cluster), "{of_cluster}");
            assert_eq!(project_of(&of_cluster).map(|project| project.kind), Some(ProjectKind::ClusterConnectProject));
            let posing = self::connector(Some(of_cluster.rsplit_once('.').expect("two parts").1), "2");
            assert_ne!(usual(&project(name), &posing), of_cluster, "a key that looks like the end of such a name");
        }
        assert_eq!(usual(&shared("shop"), &connector(Some("tax"), "1")), "shop.tax--cluster");
        assert_eq!(project_of("shop.tax--cluster"), Some(shared("shop")));
    }

    #[test]
    fn of_several_connectors_with_one_key_the_holder_keeps_the_name_in_any_order() {
        let [one, two, three] = ["1", "2", "3"].map(|id| connector(Some("tax"), id));
        let names = |order: [&Identity; 3], holder: Option<&str>| {
            let given = all(&project("shop"), order.into_iter(), |_| holder.map(str::to_owned));
            let by_id: std::collections::BTreeMap<_, _> = order.iter().map(|it| &it.id).zip(given).collect();
            by_id.into_values().collect::<Vec<_>>()
        };
        for (case, holder, plain) in
            [("no holder", None, 0), ("the last", Some("3"), 2), ("a deleted one", Some("9"), 0)]
        {
            let first = names([&one, &two, &three], holder);
            assert_eq!(first, names([&three, &one, &two], holder), "{case}: whatever the order of pages");
            assert_eq!(first.iter().position(|name| name == "shop.tax"), Some(plain), "{case}");
            assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 3, "{case}");
        }
    }
}
