//! Downloads an archive into a file and verifies its sum.
//!
//! The first response must arrive soon, so that a machine without network loses little time. After that, a download may
//! take any time as long as data keeps arriving. See `archive.rs` for what is downloaded and `cache.rs` for what
//! happens after a failure.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Response, Url, redirect};
use sha2::{Digest, Sha512};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::archive::Archive;
use super::step::Step;
use clock::Clock;

/// Time limit for the first response, including DNS, connection and TLS handshake. Without network, the build starts
/// after this time.
pub(super) const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// Maximum pause without data after the first response.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(30);

/// Maximum number of redirects; GitHub sends one.
const MOST_REDIRECTS: usize = 5;

/// Maximum size of an archive in bytes; published archives have less than 100 MB.
const LARGEST: u64 = 512 << 20;

/// Downloads `archive` into `file`. After an error, the content of `file` is undefined.
///
/// # Errors
/// Returns the reason as a message for users, without the URL.
pub(super) async fn download(
    archive: &Archive,
    file: &Path,
    clock: &Clock,
    report: &impl Fn(Step),
) -> Result<(), String> {
    let mut response = open(&archive.address, clock).await?;
    let announced = response.content_length();
    report(Step::Downloading { bytes: announced });
    let too_large = || format!("the archive has more than {LARGEST} bytes");
    if announced.is_some_and(|bytes| bytes > LARGEST) {
        return Err(too_large());
    }
    let unwritten = |error: std::io::Error| format!("{}: {error}", file.display());
    // Not beside this future: when it is dropped, nothing may appear in the folder that is removed.
    let mut written = File::from_std(std::fs::File::create(file).map_err(unwritten)?);
    let (mut bytes, mut sum) = (0, Sha512::new());
    while let Some(chunk) = within(clock, SILENT_FOR, response.chunk())
        .await
        .ok_or_else(|| format!("no data arrived for {} s after {bytes} bytes", SILENT_FOR.as_secs()))?
        .map_err(|error| format!("the download broke after {bytes} bytes: {}", innermost(error)))?
    {
        bytes += chunk.len() as u64;
        if bytes > LARGEST {
            return Err(too_large());
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

/// Requests the archive and follows redirects; returns the final response.
async fn open(start: &Url, clock: &Clock) -> Result<Response, String> {
    let client = client(start).map_err(|error| format!("no HTTP client: {}", innermost(error)))?;
    let (mut address, mut limit) = (start.clone(), FIRST_ANSWER_WITHIN);
    for _ in 0..=MOST_REDIRECTS {
        let host = address.host_str().unwrap_or_default().to_owned();
        let response = within(clock, limit, client.get(address.clone()).send())
            .await
            .ok_or_else(|| format!("no response from {host} within {} s", limit.as_secs()))?
            .map_err(|error| format!("no response from {host}: {}", innermost(error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        address = match location {
            Some(location) if status.is_redirection() => redirected(&address, location)?,
            _ => return Err(format!("{host} answered {status}")),
        };
        limit = SILENT_FOR;
    }
    Err(format!("more than {MOST_REDIRECTS} redirects"))
}

/// Creates a client that uses the proxies of the environment. [`open`] follows redirects itself.
fn client(start: &Url) -> reqwest::Result<Client> {
    // Fails if the process already installed a provider; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("connect-operator/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false);
    // No proxy can reach this machine's loopback address.
    let builder = if start.host_str() == Some("127.0.0.1") { builder.no_proxy() } else { builder };
    builder.build()
}

/// Returns the target of a redirect. A redirect from HTTPS to another scheme is an error.
fn redirected(from: &Url, location: &str) -> Result<Url, String> {
    let to = from.join(location).map_err(|error| format!("an invalid redirect: {error}"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        (_, other) => Err(format!("a redirect to {other}, which is not HTTPS")),
    }
}

/// Returns the result of `work`, or `None` if it takes longer than `limit`.
async fn within<T>(clock: &Clock, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(limit) => None,
    }
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

    #[test]
    fn a_redirect_never_leaves_https() {
        for (case, from, location, expected) in [
            ("another host", "https://a.test/x", "https://b.test/y?z=1", Some("https://b.test/y?z=1")),
            ("the same host", "https://a.test/x", "/y", Some("https://a.test/y")),
            ("another host, scheme left out", "https://a.test/x", "//b.test/y", Some("https://b.test/y")),
            ("down to HTTP", "https://a.test/x", "http://b.test/y", None),
            ("a file", "https://a.test/x", "file:///etc/passwd", None),
            ("up from HTTP", "http://127.0.0.1/x", "https://b.test/y", Some("https://b.test/y")),
            ("HTTP to HTTP", "http://127.0.0.1/x", "/y", Some("http://127.0.0.1/y")),
            ("no address", "https://a.test/x", "https://", None),
        ] {
            let to = redirected(&Url::parse(from).expect("an address"), location);
            assert_eq!(to.as_ref().map(Url::as_str).ok(), expected, "{case}: {to:?}");
        }
    }

    #[test]
    fn without_network_the_build_starts_within_5_seconds() {
        assert!(FIRST_ANSWER_WITHIN < Duration::from_secs(5));
    }
}
