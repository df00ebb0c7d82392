//! `ClusterConnectProject`: a project that several namespaces share, with credentials in the namespace of the operator.
//!
//! Its fields are those of a `ConnectProject`, and the namespaces that may use it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::connect_project::{ConnectProjectSpec, ConnectProjectStatus};
use super::schema::{LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, NAME_PATTERN};
use super::shared::is_default;

/// A shared project: the remote project, its addresses and credentials, and who may use it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "ClusterConnectProject",
    plural = "clusterconnectprojects",
    shortname = "cctp",
    category = "connect",
    status = "ConnectProjectStatus",
    derive = "PartialEq",
    doc = "A commercetools project that resources of several namespaces share, with its API addresses and credentials. \
        ConnectorDeployments of the namespaces that it allows refer to it."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConnectProjectSpec {
    /// The fields of a `ConnectProject`.
    #[serde(flatten)]
    pub project: ConnectProjectSpec,
    /// Namespaces whose resources may use this project. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,
}

/// The namespaces that may use a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("(has(self.from) && self.from == 'Names') == (has(self.names) && self.names.size() > 0)")
    .message("from: Names needs names, and names need from: Names")
    .field_path(".names"))]
#[x_kube(validation = Rule::new("(has(self.from) && self.from == 'Selector') == has(self.selector)")
    .message("from: Selector needs a selector, and a selector needs from: Selector")
    .field_path(".selector"))]
pub struct AllowedNamespaces {
    /// None, All, Selector (those that selector matches) or Names (those in names). Default: None.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: NamespacesFrom,
    /// Names of namespaces; 256 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63), regex(pattern = NAME_PATTERN)))]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub names: Vec<String>,
    /// Labels of namespaces. Whoever may change the labels of a namespace can allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector")]
    pub selector: Option<LabelSelector>,
}

/// How namespaces are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = super::schema::leave_description_to_the_field)]
pub enum NamespacesFrom {
    /// No namespace.
    #[default]
    None,
    /// Every namespace.
    All,
    /// Those with certain labels.
    Selector,
    /// Those that are named.
    Names,
}

impl AllowedNamespaces {
    /// Returns whether a namespace with these labels is allowed; `labels` is `None` while they are not known.
    pub fn allow(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
        match self.from {
            NamespacesFrom::None => false,
            NamespacesFrom::All => true,
            NamespacesFrom::Selector => {
                self.selector.as_ref().zip(labels).is_some_and(|(selector, labels)| matches(selector, labels))
            }
            NamespacesFrom::Names => self.names.iter().any(|name| name == namespace),
        }
    }
}

/// Returns whether every requirement of a selector holds. One without requirements, and one that cannot be understood, match
/// nothing: the schema refuses both.
fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|selector| !selector.selects_all() && selector.matches(labels))
}

/// Returns the schema of a label selector, with bounds, and without what Kubernetes would refuse in a selector.
fn selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "x-kubernetes-map-type": "atomic",
        "x-kubernetes-validations": [{
            "rule": "(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && \
                self.matchExpressions.size() > 0)",
            "message": "selector names no label, so that it would match every namespace: give matchLabels or matchExpressions",
        }, {
            "rule": "!has(self.matchLabels) || self.matchLabels.all(name, name.size() >= 1 && name.size() <= 317)",
            "message": "keys of labels in matchLabels must have 1 to 317 characters", "fieldPath": ".matchLabels",
        }],
        "properties": {
            "matchLabels": {
                "description": "Labels that the namespace has, with these values; 16 at most.",
                "type": "object", "maxProperties": 16,
                "additionalProperties": {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN},
            },
            "matchExpressions": {
                "description": "Further requirements; 16 at most.",
                "type": "array", "maxItems": 16, "x-kubernetes-list-type": "atomic",
                "items": {
                    "description": "A requirement for one label.",
                    "type": "object", "required": ["key", "operator"],
                    "x-kubernetes-validations": [{
                        "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
                        "message": "In and NotIn need values, and Exists and DoesNotExist have none", "fieldPath": ".values",
                    }],
                    "properties": {
                        "key": {
                            "description": "Key of the label. Example: team.",
                            "type": "string", "minLength": 1, "maxLength": 317, "pattern": LABEL_KEY_PATTERN,
                        },
                        "operator": {
                            "description": "In, NotIn, Exists or DoesNotExist.",
                            "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                        },
                        "values": {
                            "description": "Values for In and NotIn; 64 at most.",
                            "type": "array", "maxItems": 64, "x-kubernetes-list-type": "atomic",
                            "items": {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN},
                        },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn labelled(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_namespace_is_allowed_by_its_name_or_its_labels_and_none_by_default() {
        let by_label = json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}});
        let expression = |key: &str, operator: &str, values: Value| {
            let mut requirement = json!({"key": key, "operator": operator});
            if !values.is_null() {
                requirement["values"] = values;
            }
            json!({"from": "Selector", "selector": {"matchExpressions": [requirement]}})
        };
        let both = json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}, "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["test"]}]}});
        let tax: &[(&str, &str)] = &[("team", "tax")];
        for (case, allowed, labels_of, expected) in [
            ("nothing is given", json!({}), tax, false),
            ("none", json!({"from": "None"}), tax, false),
            ("all", json!({"from": "All"}), &[][..], true),
            ("an empty selector", json!({"from": "Selector", "selector": {}}), tax, false),
            ("its name", json!({"from": "Names", "names": ["other", "shop"]}), &[], true),
            ("the name of another", json!({"from": "Names", "names": ["other"]}), tax, false),
            ("the beginning of its name", json!({"from": "Names", "names": ["sho"]}), tax, false),
            ("its label", by_label.clone(), tax, true),
            ("another value", by_label.clone(), &[("team", "cart")], false),
            ("no label", by_label, &[], false),
            ("one of the values", expression("team", "In", json!(["cart", "tax"])), tax, true),
            ("none of the values", expression("team", "In", json!(["cart"])), tax, false),
            ("not in, and another", expression("team", "NotIn", json!(["cart"])), tax, true),
            ("not in, and absent", expression("team", "NotIn", json!(["cart"])), &[], true),
            ("not in, but it is", expression("team", "NotIn", json!(["tax"])), tax, false),
            ("exists", expression("team", "Exists", Value::Null), tax, true),
            ("does not exist", expression("team", "Exists", Value::Null), &[], false),
            ("absent as it should be", expression("team", "DoesNotExist", Value::Null), &[], true),
            ("present although it should not be", expression("team", "DoesNotExist", Value::Null), tax, false),
            ("an operator that does not exist", expression("team", "Like", json!(["tax"])), tax, false),
            ("no values", expression("team", "NotIn", Value::Null), tax, false),
            ("all requirements hold", both.clone(), tax, true),
            ("one does not", both, &[("team", "tax"), ("tier", "test")], false),
        ] {
            let allowed: AllowedNamespaces = serde_json::from_value(allowed).expect(case);
            assert_eq!(allowed.allow("shop", Some(&labelled(labels_of))), expected, "{case}");
        }
    }

    #[test]
    fn unknown_labels_allow_nothing() {
        let allowed: AllowedNamespaces = serde_json::from_value(json!({"from": "Selector", "selector": {
            "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}))
        .expect("namespaces");
        assert!(!allowed.allow("shop", None));
    }

    #[test]
    fn a_spec_has_the_fields_of_a_project_beside_its_own() {
        let manifest = json!({"projectKey": "demo", "region": "us-east-2.aws", "credentialsSecretRef": {"name": "shop"},
            "allowedNamespaces": {"from": "Names", "names": ["shop"]}});
        let spec: ClusterConnectProjectSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.project.effective_api_url(), "https://connect.us-east-2.aws.commercetools.com");
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
    }
}
