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

/// Reads the key, or creates one with these labels. If two processes create it at once, the second one uses the key of the first.
/// `None`: the Secret holds no digest key.
///
/// # Errors
/// When the API server refuses, or does not answer.
pub async fn load_or_create(
    client: &Client,
    namespace: &str,
    name: &str,
    labels: &Labels,
) -> Result<Option<DigestKey>, kube::Error> {
    if let Some(found) = secret::read(client, namespace, name).await? {
        return Ok(read(&found));
    }
    let key: [u8; KEY_LENGTH] = rand::random();
    let secret = Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels.clone()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([(DATA_KEY.to_owned(), ByteString(key.to_vec()))])),
        ..Secret::default()
    };
    let api = Api::<Secret>::namespaced(client.clone(), namespace);
    match api.create(&post_params(), &secret).await {
        Ok(_) => Ok(Some(DigestKey::new(key))),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            Ok(secret::read(client, namespace, name).await?.as_ref().and_then(read))
        }
        Err(error) => Err(secret::without_content(error)),
    }
}

fn read(secret: &Secret) -> Option<DigestKey> {
    let bytes = secret.data.as_ref()?.get(DATA_KEY)?;
    <[u8; KEY_LENGTH]>::try_from(bytes.0.as_slice()).ok().map(DigestKey::new)
}
