//! Reads Secrets; no other module does. It reads one Secret by name, and for a resource only if its use is allowed.
//!
//! Nothing is kept here, and errors never show the content: the decoder of an answer would quote what it cannot read.

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::{Client, ResourceExt};
use serde::de::Error as _;

use crate::names;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};

/// Reads the Secret of that name, if it exists, without a check of its use: for the operator's own Secrets, and for
/// commands that use the rights of their user. For a Secret that a resource names, use [`named`].
///
/// # Errors
/// Those of the API server, without any content of the Secret.
pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Option<Secret>, kube::Error> {
    Api::<Secret>::namespaced(client.clone(), namespace).get_opt(name).await.map_err(without_content)
}

/// Types of Secrets whose values are never used, each with a description. They give access to the cluster itself or to
/// container registries, and a user who names a Secret in a resource need not be allowed to read it. (Kubernetes:
/// Secret types; Helm: its releases.)
pub const REFUSED_TYPES: [(&str, &str); 6] = [
    ("kubernetes.io/service-account-token", "the token of a service account"),
    ("bootstrap.kubernetes.io/token", "a token with which nodes join the cluster"),
    ("kubernetes.io/dockerconfigjson", "credentials of a container registry"),
    ("kubernetes.io/dockercfg", "credentials of a container registry"),
    ("helm.sh/release.v1", "a release of Helm"),
    (names::CREDENTIALS_COPY_TYPE, "a copy of the operator's own"),
];

/// The policy for Secrets that resources name.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Whether a Secret must have the label [`names::SECRET_USE`].
    pub require_label: bool,
    /// Namespace and name of the Secret with the digest key, which has no type of its own: users may create it.
    pub digest_key: Option<(String, String)>,
}

impl Policy {
    /// Checks whether the values of this Secret may be used.
    ///
    /// # Errors
    /// The condition with the reason and the remedy.
    pub fn check(&self, secret: &Secret) -> Result<(), ConditionUpdate> {
        let name = secret.name_any();
        let type_ = secret.type_.as_deref().unwrap_or_default();
        let refused = REFUSED_TYPES.iter().find(|(refused, _)| *refused == type_);
        let is_digest_key = self.digest_key.as_ref().is_some_and(|(namespace, of_key)| {
            secret.metadata.namespace.as_ref() == Some(namespace) && *of_key == name
        });
        let message = if is_digest_key {
            format!(
                "Secret {name} has the digest key of the operator, and is never used: whoever has the key can verify guesses \
                 of secured values. Put the values that are needed into another Secret, and name that one"
            )
        } else if let Some((_, what)) = refused {
            format!(
                "Secret {name} is of type {type_}, {what}, and is never used: put the values that are needed into a Secret \
                 of type Opaque, and name that one"
            )
        } else if self.require_label
            && secret.labels().get(names::SECRET_USE).is_none_or(|it| it != names::SECRET_USE_VALUE)
        {
            format!(
                "Secret {name} lacks the label {}={}, without which this operator uses no Secret: have it added by a user \
                 who may change the Secret",
                names::SECRET_USE,
                names::SECRET_USE_VALUE
            )
        } else {
            return Ok(());
        };
        Err(ConditionUpdate::new(Reason::ConfigurationInvalid, message))
    }
}

/// Reads the Secret of that name for a resource that names it, if it exists. The inner error is the condition for the
/// resource: why the Secret may not be used, or cannot be read.
///
/// # Errors
/// Transient errors of the API server, without any content of the Secret.
pub async fn named(
    client: &Client,
    policy: &Policy,
    namespace: &str,
    name: &str,
) -> Result<Result<Option<Secret>, ConditionUpdate>, kube::Error> {
    match read(client, namespace, name).await {
        Ok(None) => Ok(Ok(None)),
        Ok(Some(secret)) => Ok(policy.check(&secret).map(|()| Some(secret))),
        Err(error) => refusal::condition(Access::Read, &format!("get Secret {name}"), error).map(Err),
    }
}

/// Returns the condition for a Secret that does not exist. `field`: the field that names it.
pub fn missing(name: &str, field: &str) -> ConditionUpdate {
    let message = format!("Secret {name} does not exist in this namespace (needed by {field})");
    ConditionUpdate::new(Reason::SecretMissing, message)
}

/// Returns the condition for a Secret without a value under this key. `field`: the field that names it.
pub fn lacks_key(name: &str, key: &str, field: &str) -> ConditionUpdate {
    let message = format!("Secret {name} lacks the key {key}, or it is empty (needed by {field})");
    ConditionUpdate::new(Reason::SecretMissing, message)
}

/// Returns the condition for a Secret that does not exist in another namespace than that of the resource.
pub fn missing_in(namespace: &str, name: &str, field: &str) -> ConditionUpdate {
    let message =
        format!("Secret {name} does not exist in the namespace {namespace} of the operator (needed by {field})");
    ConditionUpdate::new(Reason::SecretMissing, message)
}

/// Removes the content of an undecodable answer from an error.
pub(in crate::operator) fn without_content(error: kube::Error) -> kube::Error {
    let what = match &error {
        kube::Error::SerdeError(error) => {
            format!("{:?} error at line {}, column {}", error.classify(), error.line(), error.column())
        }
        kube::Error::FromUtf8(_) => "not UTF-8".to_owned(),
        _ => return error,
    };
    kube::Error::SerdeError(serde_json::Error::custom(format!("the answer is not a Secret: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undecodable_answer_is_not_quoted() {
        for (case, answer) in [
            ("a text for a number", r#"{"metadata": {"generation": "canary"}, "data": {}}"#),
            ("a text for a map", r#"{"data": "canary"}"#),
            ("no base64", r#"{"data": {"token": "canary!"}}"#),
            ("cut off", r#"{"data": {"token": "canary"#),
        ] {
            let error = serde_json::from_str::<Secret>(answer).expect_err(case);
            let error = without_content(kube::Error::SerdeError(error));
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("the answer is not a Secret") && !shown.contains("canary"), "{case}: {shown}");
        }
        let bytes = String::from_utf8(b"canary \xff".to_vec()).expect_err("it is not UTF-8");
        let shown = format!("{:?}", without_content(kube::Error::FromUtf8(bytes)));
        assert!(!shown.contains("99, 97"), "{shown}");
    }

    #[test]
    fn secrets_that_give_access_to_the_cluster_are_refused_and_others_need_the_label_if_required() {
        const TOKEN: &str = "kubernetes.io/service-account-token";
        let any = &Policy::default();
        let labelled = &Policy { require_label: true, ..Policy::default() };
        let (yes, no) = ([(names::SECRET_USE, "true")], [(names::SECRET_USE, "false")]);
        for (case, policy, type_, labels, words) in [
            ("opaque", any, "Opaque", &[][..], None),
            ("without a type", any, "", &[], None),
            ("of an external store", any, "example.com/store", &[], None),
            ("a login", any, "kubernetes.io/basic-auth", &[], None),
            ("a service account", any, TOKEN, &[], Some("token of a service account")),
            ("a node", any, "bootstrap.kubernetes.io/token", &[], Some("nodes join")),
            ("Helm", any, "helm.sh/release.v1", &[], Some("release of Helm")),
            ("a registry", any, "kubernetes.io/dockerconfigjson", &[], Some("container registry")),
            ("a registry, in the old form", any, "kubernetes.io/dockercfg", &[], Some("container registry")),
            ("a copy", any, names::CREDENTIALS_COPY_TYPE, &[], Some("copy of the operator's own")),
            ("without the label", labelled, "Opaque", &[], Some("lacks the label connect-operator.io/use=true")),
            ("with another value of it", labelled, "Opaque", &no, Some("lacks the label")),
            ("with the label", labelled, "Opaque", &yes, None),
            ("with the label that is not required", any, "Opaque", &yes, None),
            ("a label makes no token usable", labelled, TOKEN, &yes, Some("never used")),
        ] {
            let mut secret = Secret { type_: (!type_.is_empty()).then(|| type_.to_owned()), ..Secret::default() };
            secret.metadata.name = Some("tax".to_owned());
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            secret.metadata.labels = Some(labels.collect());
            let condition = policy.check(&secret).err();
            assert_eq!(condition.is_some(), words.is_some(), "{case}: {condition:?}");
            if let (Some(ConditionUpdate { reason, message, .. }), Some(words)) = (condition, words) {
                assert!(message.contains("Secret tax") && message.contains(words), "{case}: {message}");
                assert!(message.contains(type_) || type_ == "Opaque", "{case}: {message}");
                assert_eq!(reason, Reason::ConfigurationInvalid, "{case}");
            }
        }
    }

    #[test]
    fn errors_of_the_api_server_stay_as_they_are() {
        let status = kube::core::Status::failure("secrets is forbidden", "Forbidden").with_code(403);
        let error = without_content(kube::Error::Api(Box::new(status)));
        assert!(error.to_string().contains("forbidden"), "{error}");
    }

    #[test]
    fn the_digest_key_is_refused_where_it_is_and_under_no_other_name() {
        let policy = Policy { digest_key: Some(("system".to_owned(), "key".to_owned())), ..Policy::default() };
        for (case, namespace, name, refused) in [
            ("the key", "system", "key", true),
            ("another Secret beside it", "system", "login", false),
            ("a Secret of the same name elsewhere", "shop", "key", false),
        ] {
            let mut secret = Secret::default();
            (secret.metadata.namespace, secret.metadata.name) = (Some(namespace.to_owned()), Some(name.to_owned()));
            let condition = policy.check(&secret).err();
            assert_eq!(condition.is_some(), refused, "{case}");
            if let Some(ConditionUpdate { reason, message, .. }) = condition {
                assert_eq!(reason, Reason::ConfigurationInvalid, "{case}");
                assert!(message.contains("digest key") && message.contains("another Secret"), "{case}");
            }
        }
    }
}
