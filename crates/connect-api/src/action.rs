//! Calls of frontend actions (contract section 11): which host, path and headers. Pure; `http/action.rs` sends.
//!
//! They live on other hosts than the Connect API and share nothing with it but JSON: no token, no codes. What people
//! write (names of hosts, headers, paths) is checked here, so that it is refused with a reason before anything leaves.

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use thiserror::Error;
use url::Url;

use super::api::Answer;
use super::hosts::Endpoint;
use super::mask::Masker;
use super::model::ActionError;
use super::routes;

/// Longest label of a host name (RFC 1035 section 2.3.4).
const LONGEST_LABEL: usize = 63;
/// Longest host name (the same).
const LONGEST_HOST: usize = 253;
/// Longest part of a wrong value that an error repeats, in characters.
const LONGEST_QUOTE: usize = 64;

/// How frontends of one kind are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Part of the host between `{projectName}-{companyName}.` and `{tld}`.
    pub host: &'static str,
    /// What the path starts with.
    pub prefix: &'static str,
    /// Header of the locale.
    pub locale: &'static str,
    /// Header of the extension version.
    pub extension_version: &'static str,
    /// Header of the page path, if there is one.
    pub page_path: Option<&'static str>,
    /// Names of the operations in the contract: GET, POST, PUT.
    operations: [&'static str; 3],
}

impl Preset {
    /// As the seed document has it (contract section 11).
    pub const SERVICE: Self = Self {
        host: "service",
        prefix: "/service/action",
        locale: "service-locale",
        extension_version: "service-frontend-extension-version",
        page_path: None,
        operations: ["readAction", "writeActionPost", "writeActionPut"],
    };

    /// The default: as the public description of the frontend API has it, and the official frontend client.
    pub const FRONTASTIC: Self = Self {
        host: "frontastic",
        prefix: "/frontastic/action",
        locale: "frontastic-locale",
        extension_version: "commercetools-frontend-extension-version",
        page_path: Some("frontastic-path"),
        operations: ["readFrontasticAction", "writeFrontasticActionPost", "writeFrontasticActionPut"],
    };

    /// Name of the operation of a method in the contract; `None` for methods that actions do not have.
    #[must_use]
    pub fn operation(&self, method: &str) -> Option<&'static str> {
        let at = ["GET", "POST", "PUT"].iter().position(|known| *known == method)?;
        self.operations.get(at).copied()
    }

    /// `https://{projectName}-{companyName}.frontastic{tld}`, or with another host part. Whether that host may be called is
    /// for [`super::hosts::AllowedHosts`] to say.
    ///
    /// # Errors
    /// When one of the three cannot be part of a host name; `tld` starts with a dot and may have several parts.
    pub fn url(&self, project_name: &str, company_name: &str, tld: &str) -> Result<String, BadAction> {
        for (what, text) in [("project name", project_name), ("company name", company_name)] {
            if !is_label(text) {
                return Err(BadAction::Label { what, text: quoted(text) });
            }
        }
        let ending = tld.strip_prefix('.').filter(|rest| rest.split('.').all(is_label));
        let ending = ending.ok_or_else(|| BadAction::Tld(quoted(tld)))?;
        let first = format!("{project_name}-{company_name}");
        let host = format!("{first}.{}.{ending}", self.host);
        if first.len() > LONGEST_LABEL || host.len() > LONGEST_HOST {
            return Err(BadAction::TooLong);
        }
        Ok(format!("https://{host}"))
    }
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn quoted(text: &str) -> String {
    text.chars().take(LONGEST_QUOTE).filter(|character| !character.is_control()).collect()
}

/// One call of an action.
#[derive(Clone, Debug)]
pub struct Action {
    /// Namespace of the action.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it reads or writes.
    pub method: ActionMethod,
    /// Parameters of the query, in this order, repeated ones included.
    pub query: Vec<(String, String)>,
    /// Such as `en-GB`; sent as it is, since servers take other spellings too.
    pub locale: String,
    /// Version of the extension to call.
    pub extension_version: String,
    /// Path of the page that the call is made for; only with a preset that has a header for it.
    pub page_path: Option<String>,
    /// Further headers, such as a cookie.
    pub headers: Vec<ExtraHeader>,
}

/// What a call does. A body is sent as JSON, also an empty object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionMethod {
    /// Reads.
    Get,
    /// Writes; not safe to repeat.
    Post(JsonText),
    /// Writes; not safe to repeat.
    Put(JsonText),
}

/// A text that is JSON, sent as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// The text, if it is JSON. Nothing is built from it.
    ///
    /// # Errors
    /// With where it is not JSON.
    pub fn read(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        serde_json::from_str::<IgnoredAny>(&text).map_err(|error| error.to_string())?;
        Ok(Self(text))
    }
}

impl Default for JsonText {
    /// An empty object.
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

/// A header whose value nobody may see.
#[derive(Clone, Debug)]
pub struct ExtraHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: SecretString,
}

/// Calls actions of one frontend.
pub trait ActionApi: Send + Sync {
    /// Sends a request, once: it is used up. It leaves before `send_before`, if that is given, or not at all.
    ///
    /// Fails with [`Failure::NotSent`] if nothing left and with [`Failure::NoAnswer`] if it may have arrived, and never
    /// otherwise. Texts of errors are masked for the extra headers; the answer is not, see [`Action::masker`].
    ///
    /// [`Failure::NotSent`]: super::error::Failure::NotSent
    /// [`Failure::NoAnswer`]: super::error::Failure::NoAnswer
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer>;
}

/// A call as it leaves. It cannot be copied, so that it cannot be sent twice.
#[derive(Debug)]
pub struct ActionRequest {
    /// Name of the operation in the contract.
    pub operation: &'static str,
    /// GET, POST or PUT.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Those of the preset and the extra ones, whose values are marked as sensitive.
    pub headers: HeaderMap,
    /// JSON; none with GET.
    pub body: Option<Vec<u8>>,
    /// Hides the values of the extra headers.
    pub masker: Masker,
}

/// What came, whatever its status: an error of the action and a redirect, which is not followed, are answers too.
pub struct ActionAnswer {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers; cookies may be among them.
    pub headers: HeaderMap,
    /// The body, or as much of its start as the limit allows.
    pub body: Vec<u8>,
    /// Whether that is the whole body.
    pub whole: bool,
    /// From the start of the connection to the end of the body, or of what is kept of it.
    pub duration: Duration,
}

impl ActionAnswer {
    /// The body as JSON; `None` if it is not JSON of that shape, or not whole.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        self.whole.then(|| serde_json::from_slice(&self.body).ok())?
    }

    /// What the frontend says about a call that did not work, such as that there is no such action; `None` after a
    /// success, and if the body says something else.
    #[must_use]
    pub fn error(&self) -> Option<ActionError> {
        (!self.status.is_success()).then(|| self.json())?
    }
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

/// A call that cannot be sent. The texts hold no value of a header and no query.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAction {
    /// Not part of a host name.
    #[error("`{text}` cannot be a {what}: write letters, digits and, between them, hyphens, 63 at most")]
    Label {
        /// Which one.
        what: &'static str,
        /// What is there instead.
        text: String,
    },
    /// Not the end of a host name.
    #[error("`{0}` cannot be a top-level domain: write it with its dot, as in `.live`")]
    Tld(String),
    /// Names are too long.
    #[error("project name and company name are too long for a host name: 62 characters together at most")]
    TooLong,
    /// Not a segment of a path.
    #[error("`{text}` cannot be the {what} of an action: it would lead to another path")]
    Segment {
        /// Which one.
        what: &'static str,
        /// What is there instead.
        text: String,
    },
    /// A value that is required, or that a header cannot carry.
    #[error("the {0} is empty or has characters that a header cannot carry: write it in ASCII, on one line")]
    Value(&'static str),
    /// The page path has no header.
    #[error("calls of this kind have no page path: leave it out, or choose the preset Frontastic")]
    NoPagePath,
    /// Not a path.
    #[error("the page path must start with `/`")]
    PagePath,
    /// Not a header.
    #[error("`{0}` cannot be the name of a header")]
    HeaderName(String),
    /// A header that the call has anyway, or that belongs to the connection.
    #[error("header `{0}` cannot be set: it belongs to the call or to the connection")]
    HeaderTaken(String),
    /// Not the value of a header.
    #[error("the value of header `{0}` is empty or has a line break: is there one at its end?")]
    HeaderValue(String),
}

/// Headers that are not for users to set, beside those of the preset.
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
    /// Name of the operation in the contract.
    #[must_use]
    pub fn operation(&self, preset: &Preset) -> &'static str {
        let [get, post, put] = preset.operations;
        match self.method {
            ActionMethod::Get => get,
            ActionMethod::Post(_) => post,
            ActionMethod::Put(_) => put,
        }
    }

    /// Hides the values of the extra headers in texts that come back.
    #[must_use]
    pub fn masker(&self) -> Masker {
        Masker::new(self.headers.iter().map(|header| header.value.expose_secret()))
    }

    /// The whole request.
    ///
    /// # Errors
    /// When something in it cannot be sent as it is; the text says what to do.
    pub fn request(&self, preset: &Preset, endpoint: &Endpoint) -> Result<ActionRequest, BadAction> {
        for (what, text) in [("namespace", &self.namespace), ("name", &self.name)] {
            if matches!(text.as_str(), "" | "." | "..") {
                return Err(BadAction::Segment { what, text: quoted(text) });
            }
        }
        let url = endpoint.at(&routes::action(preset.prefix, &self.namespace, &self.name));
        let mut url = url.ok_or_else(|| BadAction::Segment { what: "name", text: quoted(&self.name) })?;
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
        let body = body.map(|JsonText(text)| text.clone().into_bytes());
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
            (None, Some(_)) => return Err(BadAction::NoPagePath),
            (Some(_), Some(path)) if !path.starts_with('/') => return Err(BadAction::PagePath),
            (Some(name), Some(path)) => {
                headers.insert(HeaderName::from_static(name), plain("page path", path)?);
            }
        }
        let own = [Some(preset.locale), Some(preset.extension_version), preset.page_path];
        for ExtraHeader { name, value } in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| BadAction::HeaderName(quoted(name)))?;
            let proxy = name.as_str().starts_with("proxy-");
            if proxy || TAKEN.contains(&name.as_str()) || own.contains(&Some(name.as_str())) {
                return Err(BadAction::HeaderTaken(name.to_string()));
            }
            let bytes = Some(value.expose_secret().as_bytes()).filter(|bytes| !bytes.is_empty());
            let value = bytes.and_then(|bytes| HeaderValue::from_bytes(bytes).ok());
            let mut value = value.ok_or_else(|| BadAction::HeaderValue(name.to_string()))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(headers)
    }
}

fn plain(what: &'static str, text: &str) -> Result<HeaderValue, BadAction> {
    let text = Some(text).filter(|text| !text.is_empty() && text.is_ascii());
    text.and_then(|text| HeaderValue::from_str(text).ok()).ok_or(BadAction::Value(what))
}

#[cfg(test)]
#[path = "action_tests.rs"]
mod tests;
