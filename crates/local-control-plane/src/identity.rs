//! Keys, certificates and the administrator's token of one cluster, generated for each cluster and valid only there.
//!
//! The key of the certificate authority is discarded once it has signed the serving certificate. See `flags.rs` for the
//! flags that pass the files to kube-apiserver.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use secrecy::{ExposeSecret, SecretString};

use super::Error;

/// Certificate of the authority that clients trust.
pub(super) const AUTHORITY: &str = "authority.crt";
/// Certificate of kube-apiserver.
pub(super) const SERVING_CERTIFICATE: &str = "serving.crt";
/// Private key of the certificate.
pub(super) const SERVING_KEY: &str = "serving.key";
/// Private key that signs service account tokens.
pub(super) const SIGNING_KEY: &str = "service-accounts.key";
/// Public key that verifies service account tokens.
pub(super) const CHECKING_KEY: &str = "service-accounts.pub";
/// Static tokens of kube-apiserver; only the administrator's.
pub(super) const TOKENS: &str = "tokens.csv";
/// Kubeconfig for users and for this crate's clients.
pub(super) const KUBECONFIG: &str = "kubeconfig";

/// Name of the cluster, user and context in the kubeconfig.
const NAME: &str = "connect-operator-local";

/// Credentials of the cluster's administrator.
pub(super) struct Identity {
    token: SecretString,
}

impl Identity {
    /// Generates all credentials and writes the files for kube-apiserver into `folder`.
    pub(super) fn create(folder: &Path) -> Result<Self, Error> {
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "connect-operator local cluster");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        write(&folder.join(AUTHORITY), &authority.self_signed(&authority_key)?.pem())?;

        let serving_key = KeyPair::generate()?;
        let mut serving = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let serving = serving.signed_by(&serving_key, &Issuer::new(authority, authority_key))?;

        let token = SecretString::from(uuid::Uuid::new_v4().simple().to_string());
        write(&folder.join(SERVING_CERTIFICATE), &serving.pem())?;
        write(&folder.join(SERVING_KEY), &serving_key.serialize_pem())?;
        let signing_key = KeyPair::generate()?;
        write(&folder.join(SIGNING_KEY), &signing_key.serialize_pem())?;
        write(&folder.join(CHECKING_KEY), &signing_key.public_key_pem())?;
        write(&folder.join(TOKENS), &format!("{},admin,admin,\"system:masters\"\n", token.expose_secret()))?;
        Ok(Self { token })
    }

    /// Returns the administrator's kubeconfig for the API server on `port`, and writes it into `folder`.
    pub(super) fn kubeconfig(&self, folder: &Path, port: u16) -> Result<Kubeconfig, Error> {
        let cluster = Cluster {
            server: Some(format!("https://127.0.0.1:{port}")),
            certificate_authority: Some(folder.join(AUTHORITY).to_string_lossy().into_owned()),
            ..Cluster::default()
        };
        let user = AuthInfo { token: Some(self.token.clone()), ..AuthInfo::default() };
        let context = Context { cluster: NAME.to_owned(), user: Some(NAME.to_owned()), ..Context::default() };
        let kubeconfig = Kubeconfig {
            api_version: Some("v1".to_owned()),
            kind: Some("Config".to_owned()),
            clusters: vec![NamedCluster { name: NAME.to_owned(), cluster: Some(cluster), ..NamedCluster::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: NAME.to_owned(),
                auth_info: Some(user),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext { name: NAME.to_owned(), context: Some(context), ..NamedContext::default() }],
            current_context: Some(NAME.to_owned()),
            ..Kubeconfig::default()
        };
        let path = folder.join(KUBECONFIG);
        // JSON is valid YAML.
        let text = serde_json::to_string_pretty(&kubeconfig).map_err(|error| Error::file(&path)(error.into()))?;
        write(&path, &text)?;
        Ok(kubeconfig)
    }
}

/// Writes a file that only this user can read.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let open = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    open.and_then(|mut file| file.write_all(text.as_bytes())).map_err(Error::file(path))
}
