//! Which resources a user names: `TYPE/NAME`, `TYPE NAME`, a bare name, or a type with a selector. Pure.

use crate::crd::{ProjectKind, ProjectRef};

use super::kind::ResourceType;

/// The resources that a command works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// These, each once, in the order of the arguments.
    Named(Vec<(ResourceType, String)>),
    /// All of these types that the label selector matches.
    Matching {
        /// The types.
        types: Vec<ResourceType>,
        /// The label selector; `None`: all objects.
        labels: Option<String>,
    },
}

/// Parses the arguments. `types`: what the command works on; a name without a type is one of the first of them.
///
/// # Errors
/// If a type is unknown or the command does not work on it, if a name is invalid, or if nothing is named.
pub(super) fn wanted(
    words: &[String],
    labels: Option<&str>,
    all: bool,
    types: &[ResourceType],
) -> Result<Selected, String> {
    if labels.is_none() && !all {
        let named = named(words, types)?;
        return if named.is_empty() {
            Err(format!("name a resource, such as {}/NAME, or select them with --selector or --all", types[0].alias()))
        } else {
            Ok(Selected::Named(named))
        };
    }
    let mut wanted = Vec::new();
    for word in words.iter().flat_map(|word| word.split(',')) {
        if word.contains('/') {
            return Err(format!("{word}: give a name, or --selector or --all, but not both"));
        }
        once(&mut wanted, known(word, types)?);
    }
    if wanted.is_empty() {
        wanted.push(types[0]);
    }
    Ok(Selected::Matching { types: wanted, labels: labels.map(ToOwned::to_owned) })
}

/// Parses the value of an option that names a project: NAME for a `ConnectProject`, or TYPE/NAME.
///
/// # Errors
/// If the type is unknown or that of no project, or if the name is invalid.
pub(in crate::cli) fn project(word: &str) -> Result<ProjectRef, String> {
    let types = [ResourceType::Project, ResourceType::ClusterProject];
    let (resource_type, name) = match word.split_once('/') {
        Some((resource_type, name)) => (known(resource_type, &types)?, name),
        None => (ResourceType::Project, word),
    };
    let kind = match resource_type {
        ResourceType::ClusterProject => ProjectKind::ClusterConnectProject,
        _ => ProjectKind::ConnectProject,
    };
    // The API server reports that a name is not in lower case.
    valid(&name.to_ascii_lowercase())?;
    Ok(ProjectRef { kind, name: name.to_owned() })
}

fn named(words: &[String], types: &[ResourceType]) -> Result<Vec<(ResourceType, String)>, String> {
    let mut named = Vec::new();
    // `TYPE NAME...`, as kubectl accepts it.
    let (of_all, words) = match words {
        [first, rest @ ..] if !rest.is_empty() && !first.contains('/') && ResourceType::parse(first).is_some() => {
            (Some(known(first, types)?), rest)
        }
        words => (None, words),
    };
    for word in words {
        let (resource_type, name) = match (word.split_once('/'), of_all) {
            (Some(_), Some(_)) => return Err(format!("{word}: write TYPE NAME or TYPE/NAME, not both")),
            (Some((word, name)), None) => (known(word, types)?, name),
            (None, of_all) => (of_all.unwrap_or(types[0]), word.as_str()),
        };
        once(&mut named, (resource_type, valid(name)?));
    }
    Ok(named)
}

fn known(word: &str, types: &[ResourceType]) -> Result<ResourceType, String> {
    let list = || types.iter().map(|it| it.alias()).collect::<Vec<_>>().join(", ");
    let Some(found) = ResourceType::parse(word) else {
        return Err(format!("there is no resource type {word}: choose one of {}", list()));
    };
    if types.contains(&found) {
        Ok(found)
    } else {
        let kind = found.kind();
        let article = if kind.starts_with('A') { "an" } else { "a" };
        Err(format!("this command does not work on {article} {kind}: choose one of {}", list()))
    }
}

/// Checks a name, because it becomes part of a URL (RFC 1123 subdomain).
fn valid(name: &str) -> Result<String, String> {
    let letter = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, '-' | '.');
    if name.is_empty() || name.len() > 253 || !name.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        return Err(format!("{name:?} is not the name of a resource"));
    }
    if name.chars().all(letter) { Ok(name.to_owned()) } else { Err(format!("{name:?} is not the name of a resource")) }
}

fn once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use ResourceType::{Check, Deployment, Project, Staged};

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn resources_are_named_as_for_kubectl() {
        for (case, text, expected) in [
            ("a bare name", "tax", vec![(Deployment, "tax")]),
            ("several", "tax oms", vec![(Deployment, "tax"), (Deployment, "oms")]),
            ("a short name", "cst/kit", vec![(Staged, "kit")]),
            ("a kind", "ConnectorDeployment/tax", vec![(Deployment, "tax")]),
            ("as printed with -o name", "actioncheck.connect-operator.io/cart", vec![(Check, "cart")]),
            ("with the version", "connectprojects.v1alpha1.connect-operator.io/shop", vec![(Project, "shop")]),
            ("an alias", "staged/kit project/shop", vec![(Staged, "kit"), (Project, "shop")]),
            ("type and names", "cst kit other", vec![(Staged, "kit"), (Staged, "other")]),
            ("a name like a type", "staged", vec![(Deployment, "staged")]),
            ("each once", "tax cdep/tax", vec![(Deployment, "tax")]),
        ] {
            let expected = expected.into_iter().map(|(kind, name)| (kind, name.to_owned())).collect();
            let found = wanted(&words(text), None, false, &[Deployment, Staged, Project, Check]);
            assert_eq!(found, Ok(Selected::Named(expected)), "{case}");
        }
    }

    #[test]
    fn a_project_is_named_by_its_name_or_by_its_type_too() {
        for (word, kind) in [
            ("shop", ProjectKind::ConnectProject),
            ("project/shop", ProjectKind::ConnectProject),
            ("connectproject.connect-operator.io/shop", ProjectKind::ConnectProject),
            ("clusterproject/shop", ProjectKind::ClusterConnectProject),
            ("clusterconnectproject/shop", ProjectKind::ClusterConnectProject),
            ("clusterconnectprojects.connect-operator.io/shop", ProjectKind::ClusterConnectProject),
            ("cctp/shop", ProjectKind::ClusterConnectProject),
        ] {
            assert_eq!(project(word), Ok(ProjectRef { kind, name: "shop".to_owned() }), "{word}");
        }
        for (word, expected) in [
            ("secret/shop", "no resource type secret: choose one of project, clusterproject"),
            ("staged/kit", "does not work on a ConnectorStaged: choose one of project, clusterproject"),
            ("clusterproject/", "\"\" is not the name of a resource"),
            ("a/b/c", "no resource type a"),
        ] {
            let error = project(word).expect_err(word);
            assert!(error.contains(expected), "{word}: {error}");
        }
    }

    #[test]
    fn types_are_selected_by_labels_or_all_at_once() {
        for (case, text, labels, types) in [
            ("no type", "", None, vec![Deployment]),
            ("types", "cst,cdep", None, vec![Staged, Deployment]),
            ("labels", "staged", Some("team=tax"), vec![Staged]),
        ] {
            let found = wanted(&words(text), labels, labels.is_none(), &[Deployment, Staged]);
            assert_eq!(found, Ok(Selected::Matching { types, labels: labels.map(ToOwned::to_owned) }), "{case}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (case, text, all, expected) in [
            ("an article", "check/cart", false, "does not work on an ActionCheck: choose one of"),
            ("nothing", "", false, "name a resource, such as deployment/NAME"),
            ("another kind", "pod/tax", false, "no resource type pod: choose one of deployment, staged"),
            ("a kind that this command leaves alone", "project/shop", false, "not work on a ConnectProject"),
            (
                "another group",
                "connectordeployments.example.com/tax",
                false,
                "no resource type connectordeployments.ex",
            ),
            ("no name", "deployment/", false, "\"\" is not the name"),
            ("a path", "deployment/../secrets", false, "is not the name"),
            ("upper case", "Tax", false, "\"Tax\" is not the name"),
            ("two forms at once", "cst cst/kit", false, "not both"),
            ("a name and all", "deployment/tax", true, "not both"),
            ("a bare name and all", "tax", true, "no resource type tax"),
        ] {
            let error = wanted(&words(text), None, all, &[Deployment, Staged]).expect_err(case);
            assert!(error.contains(expected), "{case}: {error}");
        }
    }
}
