//! Downloads an archive into a file and checks its sum.
//!
//! The first answer has to come soon, so that a machine without network loses little time. What has begun to arrive may
//! take as long as it needs, as long as something arrives. Next: `archive.rs` for what is downloaded, `cache.rs` for what
//! happens if that fails.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Response, Url, redirect};
use sha2::{Digest, Sha512};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::archive::Archive;
use super::assets::Step;
use clock::Clock;

/// How long the first answer may take, with the name, the connection and the TLS handshake: without network the programs
/// are built after this time.
pub(super) const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// How long nothing may arrive after the first answer.
pub(super) const SILENT_FOR: Duration = Duration::from_secs(30);

/// Most redirects that are followed; GitHub sends one.
const MOST_REDIRECTS: usize = 5;

/// Largest archive, in bytes; those that are published have less than 100 MB.
const LARGEST: u64 = 512 << 20;

/// Downloads `archive` into `file`. If this returns an error, `file` may hold anything.
///
/// # Errors
/// Why there is no such archive, for people; without the address.
pub(super) async fn download(
    archive: &Archive,
    file: &Path,
    clock: &Clock,
    report: &impl Fn(Step),
) -> Result<(), String> {
    let mut response = open(&archive.address, clock).await?;
    let announced = response.content_length();
    report(Step::Downloading { bytes: announced });
    let too_large = || format!("it has more than {LARGEST} bytes");
    if announced.is_some_and(|bytes| bytes > LARGEST) {
        return Err(too_large());
    }
    let unwritten = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut written = File::create(file).await.map_err(unwritten)?;
    let (mut bytes, mut sum) = (0, Sha512::new());
    while let Some(chunk) = within(clock, SILENT_FOR, response.chunk())
        .await
        .ok_or_else(|| format!("nothing more arrived for {} s after {bytes} bytes", SILENT_FOR.as_secs()))?
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
    Err(format!("it is not the archive that was published: its {bytes} bytes have the SHA-512 sum {found}"))
}

/// The answer at the end of all redirects.
async fn open(start: &Url, clock: &Clock) -> Result<Response, String> {
    let client = client(start).map_err(|error| format!("no HTTP client: {}", innermost(error)))?;
    let (mut address, mut limit) = (start.clone(), FIRST_ANSWER_WITHIN);
    for _ in 0..=MOST_REDIRECTS {
        let host = address.host_str().unwrap_or_default().to_owned();
        let response = within(clock, limit, client.get(address.clone()).send())
            .await
            .ok_or_else(|| format!("no answer of {host} within {} s", limit.as_secs()))?
            .map_err(|error| format!("no answer of {host}: {}", innermost(error)))?;
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

/// A client that honours the proxies of the environment. Redirects are followed by [`open`].
fn client(start: &Url) -> reqwest::Result<Client> {
    // Someone may have installed a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("connect-operator/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false);
    // No proxy can reach this machine's loopback address.
    let builder = if start.host_str() == Some("127.0.0.1") { builder.no_proxy() } else { builder };
    builder.build()
}

/// Where a redirect leads: never from HTTPS to anything else.
fn redirected(from: &Url, location: &str) -> Result<Url, String> {
    let to = from.join(location).map_err(|error| format!("a redirect that leads nowhere: {error}"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        (_, other) => Err(format!("a redirect to {other}, which is not HTTPS")),
    }
}

/// What `work` came to, unless that took longer than `limit`.
async fn within<T>(clock: &Clock, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(limit) => None,
    }
}

/// The text of the first cause; those around it only repeat that something failed, and name the address with its query.
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

/// Lower-case hexadecimal digits.
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
