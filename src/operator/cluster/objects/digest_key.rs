//! The digest key, in a Secret in the operator's namespace that all replicas and shards share (rule 7).

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta};

use crate::leader::scope::Labels;
use crate::operator::cluster::objects::patch::post_params;
use crate::operator::cluster::objects::secret;
use crate::operator::values::digest::DigestKey;
pub use crate::operator::values::digest::KEY_LENGTH;

/// Key within the Secret's `data`.
pub const DATA_KEY: &str = "key";

/// The errors of reading or creating the key.
#[derive(Debug, thiserror::Error)]
pub enum DigestKeyError {
    /// The Secret does not contain a digest key.
    #[error(
        "the Secret {namespace}/{name} does not hold a digest key ({KEY_LENGTH} bytes under `{DATA_KEY}`): name another one \
         with --digest-key-secret, or delete it to have a new one created"
    )]
    Invalid {
        /// Namespace of the Secret.
        namespace: String,
        /// Name of the Secret.
        name: String,
    },
    /// The API server refused the request, or did not answer.
    #[error("the Secret {namespace}/{name} with the digest key cannot be read or created: {source}")]
    Cluster {
        /// Namespace of the Secret.
        namespace: String,
        /// Name of the Secret.
        name: String,
        /// Error of the Kubernetes client.
        source: Box<kube::Error>,
    },
}

/// Reads the key, if the Secret exists.
///
/// # Errors
/// When the API server refuses, or the Secret does not contain a digest key.
pub async fn load(client: &Client, namespace: &str, name: &str) -> Result<Option<DigestKey>, DigestKeyError> {
    let found = secret::read(client, namespace, name).await.map_err(|source| DigestKeyError::Cluster {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        source: Box::new(source),
    })?;
    found.map(|secret| read(&secret, namespace, name)).transpose()
}

/// Reads the key, or creates one with these labels. If two processes create it at once, the second one uses the key of the first.
///
/// # Errors
/// When the API server refuses, or the Secret does not contain a digest key.
pub async fn load_or_create(
    client: &Client,
    namespace: &str,
    name: &str,
    labels: &Labels,
) -> Result<DigestKey, DigestKeyError> {
    let api = Api::<Secret>::namespaced(client.clone(), namespace);
    let failed = |source| DigestKeyError::Cluster {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        source: Box::new(secret::without_content(source)),
    };
    if let Some(key) = load(client, namespace, name).await? {
        return Ok(key);
    }
    let key: [u8; KEY_LENGTH] = rand::random();
    let secret = Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels.clone()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([(DATA_KEY.to_owned(), ByteString(key.to_vec()))])),
        ..Secret::default()
    };
    match api.create(&post_params(), &secret).await {
        Ok(_) => Ok(DigestKey::new(key)),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            read(&api.get(name).await.map_err(failed)?, namespace, name)
        }
        Err(error) => Err(failed(error)),
    }
}

fn read(secret: &Secret, namespace: &str, name: &str) -> Result<DigestKey, DigestKeyError> {
    let bytes = secret.data.as_ref().and_then(|data| data.get(DATA_KEY));
    let key = bytes.and_then(|bytes| <[u8; KEY_LENGTH]>::try_from(bytes.0.as_slice()).ok());
    key.map(DigestKey::new)
        .ok_or_else(|| DigestKeyError::Invalid { namespace: namespace.to_owned(), name: name.to_owned() })
}
