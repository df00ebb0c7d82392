//! Downloads an archive into a file and verifies its sum.
//!
//! A connection must be made soon, so that a machine without network loses little time. After that, a download may take
//! any time as long as data keeps arriving. See `archive.rs` for what is downloaded and `cache.rs` for what happens
//! after a failure.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Url};
use sha2::{Digest, Sha512};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::archive::Archive;

/// Time limit for DNS, connection and TLS handshake. Without network, the build starts after this time.
const CONNECTED_WITHIN: Duration = Duration::from_secs(4);

/// Maximum pause without data.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// Maximum size of an archive in bytes; published archives have less than 100 MB.
const LARGEST: u64 = 512 << 20;

/// Downloads `archive` into `file`. After an error, the content of `file` is undefined.
///
/// # Errors
/// Returns the reason as a message for users, without the URL.
pub(super) async fn download(archive: &Archive, file: &Path, report: &impl Fn(&str)) -> Result<(), String> {
    let host = archive.address.host_str().unwrap_or_default();
    let response = client(&archive.address).map_err(innermost)?.get(archive.address.clone()).send().await;
    let mut response = response.map_err(|error| format!("no response from {host}: {}", innermost(error)))?;
    if !response.status().is_success() {
        return Err(format!("{} answered {}", response.url().host_str().unwrap_or_default(), response.status()));
    }
    let announced = response.content_length();
    let size = announced.map(|bytes| format!("; {} MB", bytes.div_ceil(1_000_000)));
    report(&format!("downloading etcd, kube-apiserver and kubectl, once{}", size.unwrap_or_default()));
    let unwritten = |error: std::io::Error| format!("{}: {error}", file.display());
    // Not beside this future: when it is dropped, nothing may appear in the folder that is removed.
    let mut written = File::from_std(std::fs::File::create(file).map_err(unwritten)?);
    let (mut bytes, mut sum) = (0, Sha512::new());
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| format!("the download broke after {bytes} bytes: {}", innermost(error)))?
    {
        bytes += chunk.len() as u64;
        if announced.unwrap_or_default().max(bytes) > LARGEST {
            return Err(format!("the archive has more than {LARGEST} bytes"));
        }
        sum.update(&chunk);
        written.write_all(&chunk).await.map_err(unwritten)?;
    }
    written.flush().await.map_err(unwritten)?;
    let found = hex(&sum.finalize());
    if found == archive.sha512 {
        return Ok(());
    }
    Err(format!("the archive is not the published one: its {bytes} bytes have the SHA-512 sum {found}"))
}

/// Creates a client that uses the proxies of the environment, and never leaves HTTPS if the first request uses it.
fn client(start: &Url) -> reqwest::Result<Client> {
    // Fails if the process already installed a provider; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("connect-operator/", env!("CARGO_PKG_VERSION")))
        .https_only(start.scheme() == "https")
        .connect_timeout(CONNECTED_WITHIN)
        .read_timeout(SILENT_FOR)
        .referer(false);
    // No proxy can reach this machine's loopback address.
    let builder = if start.host_str() == Some("127.0.0.1") { builder.no_proxy() } else { builder };
    builder.build()
}

/// Returns the message of the innermost cause. The outer errors only repeat that a request failed, and contain the URL
/// with its query.
fn innermost(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

/// Returns lowercase hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_download_never_leaves_https() {
        let [https, http] =
            ["https://a.test/", "http://127.0.0.1:9/"].map(|address| Url::parse(address).expect("valid"));
        let error = client(&https).expect("a client").get(http).send().await.expect_err("it is refused");
        assert_eq!(innermost(error), "URL scheme is not allowed");
    }
}
