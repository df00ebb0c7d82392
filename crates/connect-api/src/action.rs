//! Calls of frontend actions (contract section 11): builds the URL, path and headers. Pure; `http/action.rs` sends
//! them.
//!
//! Frontends have other hosts than the Connect API and share nothing with it but JSON: no token and no error codes.
//! Input from users (host names, headers, paths) is validated here, so that a wrong value is refused with a reason
//! before anything is sent.

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::value::RawValue;
use thiserror::Error;
use url::Url;

use super::api::Answer;
use super::hosts::Endpoint;
use super::mask::Masker;
use super::routes;
use super::text::one_line;

/// Maximum length of an invalid value that an error quotes, in characters.
const LONGEST_QUOTE: usize = 64;

/// The path and header names of one kind of frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Start of the path.
    pub prefix: &'static str,
    /// Name of the header with the locale.
    pub locale: &'static str,
    /// Name of the header with the extension version.
    pub extension_version: &'static str,
    /// Name of the header with the page path, if there is one.
    pub page_path: Option<&'static str>,
    /// Names of the contract's operations for GET, POST and PUT.
    operations: [&'static str; 3],
}

impl Preset {
    /// The preset of the seed document (contract section 11).
    pub const SERVICE: Self = Self {
        prefix: "/service/action",
        locale: "service-locale",
        extension_version: "service-frontend-extension-version",
        page_path: None,
        operations: ["readAction", "writeActionPost", "writeActionPut"],
    };

    /// The default preset, as in the public description of the frontend API and in the official frontend client.
    pub const FRONTASTIC: Self = Self {
        prefix: "/frontastic/action",
        locale: "frontastic-locale",
        extension_version: "commercetools-frontend-extension-version",
        page_path: Some("frontastic-path"),
        operations: ["readFrontasticAction", "writeFrontasticActionPost", "writeFrontasticActionPut"],
    };

    /// Returns the contract's operation for a method, or `None` for a method that actions do not support.
    pub fn operation(&self, method: &str) -> Option<&'static str> {
        let at = ["GET", "POST", "PUT"].iter().position(|known| *known == method)?;
        self.operations.get(at).copied()
    }

    /// Returns the preset that follows from the host of a URL: that of the host `{project}-{company}.service.{tld}` is
    /// [`Self::SERVICE`], and that of every other host [`Self::FRONTASTIC`] (contract section 11).
    pub fn of_host(url: &str) -> Self {
        let url = Url::parse(url).ok();
        let labels = url.iter().filter_map(Url::domain).flat_map(|host| host.split('.')).collect::<Vec<_>>();
        if matches!(labels[..], [_, "service", "live" | "io" | "rocks"]) { Self::SERVICE } else { Self::FRONTASTIC }
    }
}

fn quoted(text: &str) -> String {
    one_line(&text.chars().take(LONGEST_QUOTE).collect::<String>())
}

/// One call of an action.
#[derive(Clone, Debug)]
pub struct Action {
    /// Namespace of the action.
    pub namespace: String,
    /// Name of the action.
    pub name: String,
    /// Whether it reads or writes.
    pub method: ActionMethod,
    /// Query parameters in this order, including repeated ones.
    pub query: Vec<(String, String)>,
    /// Locale such as `en-GB`; sent unchanged, because servers accept other spellings as well.
    pub locale: String,
    /// Version of the extension to call.
    pub extension_version: String,
    /// Path of the page for which the action is called; only with a preset that has a header for it.
    pub page_path: Option<String>,
    /// Additional headers, such as a cookie.
    pub headers: Vec<ExtraHeader>,
}

/// The method of a call. POST and PUT always send a JSON body, unchanged, even if it is an empty object.
#[derive(Clone, Debug)]
pub enum ActionMethod {
    /// Reads.
    Get,
    /// Writes; not safe to repeat.
    Post(Box<RawValue>),
    /// Writes; not safe to repeat.
    Put(Box<RawValue>),
}

/// A header that is sent in addition.
#[derive(Clone, Debug)]
pub struct ExtraHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: SecretString,
    /// Whether its value is masked in texts of the response.
    pub is_masked: bool,
}

/// Client for the actions of one frontend.
pub trait ActionApi: Send + Sync {
    /// Sends a request once and consumes it. If `send_before` is given, the request leaves before that time or not at
    /// all.
    ///
    /// Fails only with [`Failure::NotSent`] if nothing was sent, or with [`Failure::NoAnswer`] if the request may have
    /// arrived. Error messages are masked for the extra headers; the response is not, see [`Action::masker`].
    ///
    /// [`Failure::NotSent`]: super::error::Failure::NotSent
    /// [`Failure::NoAnswer`]: super::error::Failure::NoAnswer
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer>;
}

/// A complete request. It cannot be cloned, so that it cannot be sent twice.
#[derive(Debug)]
pub struct ActionRequest {
    /// Name of the contract's operation.
    pub operation: &'static str,
    /// GET, POST or PUT.
    pub method: Method,
    /// URL of the action.
    pub url: Url,
    /// The headers of the preset and the extra headers, whose values are marked as sensitive.
    pub headers: HeaderMap,
    /// The JSON body; `None` for GET.
    pub body: Option<Vec<u8>>,
    /// Masks the values of the extra headers.
    pub masker: Masker,
}

/// A response with any status: an error of the action is a response too, and so is a redirect, which is not followed.
pub struct ActionAnswer {
    /// HTTP status.
    pub status: StatusCode,
    /// The body, truncated to the size limit.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub whole: bool,
    /// Time from the start of the connection to the end of the body, or of the part that is kept.
    pub duration: Duration,
}

impl fmt::Debug for ActionAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ActionAnswer")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("whole", &self.whole)
            .field("duration", &self.duration)
            .finish_non_exhaustive()
    }
}

/// Why a call cannot be sent, and how to correct that. The message contains neither header values nor the query.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadAction(String);

fn bad(why: impl Into<String>) -> BadAction {
    BadAction(why.into())
}

/// Headers that users cannot set, in addition to those of the preset.
const TAKEN: [&str; 11] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Action {
    /// Returns the contract's operation of this call.
    pub fn operation(&self, preset: &Preset) -> &'static str {
        let [get, post, put] = preset.operations;
        match self.method {
            ActionMethod::Get => get,
            ActionMethod::Post(_) => post,
            ActionMethod::Put(_) => put,
        }
    }

    /// Returns a masker for the secret values of the extra headers, to be applied to texts of the response.
    pub fn masker(&self) -> Masker {
        let secret = self.headers.iter().filter(|header| header.is_masked);
        Masker::new(secret.map(|header| header.value.expose_secret()))
    }

    /// Builds the complete request.
    ///
    /// # Errors
    /// Fails if a part of it cannot be sent; the message tells users how to correct it.
    pub fn request(&self, preset: &Preset, endpoint: &Endpoint) -> Result<ActionRequest, BadAction> {
        let leads_away = |what: &str, text: &str| {
            bad(format!("`{}` cannot be the {what} of an action: it would lead to another path", quoted(text)))
        };
        if self.name.is_empty() {
            return Err(leads_away("name", ""));
        }
        let url = endpoint.at(&routes::action(preset.prefix, &self.namespace, &self.name));
        let mut url =
            url.ok_or_else(|| leads_away("namespace or name", &format!("{}/{}", self.namespace, self.name)))?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let (method, body) = match &self.method {
            ActionMethod::Get => (Method::GET, None),
            ActionMethod::Post(body) => (Method::POST, Some(body)),
            ActionMethod::Put(body) => (Method::PUT, Some(body)),
        };
        let mut headers = self.headers(preset)?;
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let body = body.map(|text| text.get().as_bytes().to_vec());
        Ok(ActionRequest { operation: self.operation(preset), method, url, headers, body, masker: self.masker() })
    }

    fn headers(&self, preset: &Preset) -> Result<HeaderMap, BadAction> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(HeaderName::from_static(preset.locale), plain("locale", &self.locale)?);
        let version = plain("extension version", &self.extension_version)?;
        headers.insert(HeaderName::from_static(preset.extension_version), version);
        match (preset.page_path, &self.page_path) {
            (_, None) => {}
            (None, Some(_)) => {
                return Err(bad("calls of this kind have no page path: leave it out, or choose the preset Frontastic"));
            }
            (Some(_), Some(path)) if !path.starts_with('/') => return Err(bad("the page path must start with `/`")),
            (Some(name), Some(path)) => {
                headers.insert(HeaderName::from_static(name), plain("page path", path)?);
            }
        }
        let own = [Some(preset.locale), Some(preset.extension_version), preset.page_path];
        for ExtraHeader { name, value, .. } in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| bad(format!("`{}` cannot be the name of a header", quoted(name))))?;
            let proxy = name.as_str().starts_with("proxy-");
            if proxy || TAKEN.contains(&name.as_str()) || own.contains(&Some(name.as_str())) {
                let why = format!("header `{name}` cannot be set: it belongs to the call or to the connection");
                return Err(bad(why));
            }
            let bytes = Some(value.expose_secret().as_bytes()).filter(|bytes| !bytes.is_empty());
            let value = bytes.and_then(|bytes| HeaderValue::from_bytes(bytes).ok());
            let mut value = value.ok_or_else(|| {
                bad(format!("the value of header `{name}` is empty or has a line break: is there one at its end?"))
            })?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(headers)
    }
}

fn plain(what: &'static str, text: &str) -> Result<HeaderValue, BadAction> {
    let text = Some(text).filter(|text| !text.is_empty() && text.is_ascii());
    text.and_then(|text| HeaderValue::from_str(text).ok()).ok_or_else(|| {
        bad(format!("the {what} is empty or has characters that a header cannot carry: write it in ASCII, on one line"))
    })
}

#[cfg(test)]
#[path = "action_tests.rs"]
mod tests;
