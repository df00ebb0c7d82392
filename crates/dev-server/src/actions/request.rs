//! Validation of a call of an action (contract section 11): method, headers, JSON. Pure.
//!
//! Locales may have the form of the official client (`en_US`, `en_US@EUR`). The page path is optional, because the
//! official client does not send it.

use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::{SESSION, Unanswered, query};
use crate::action_route::ActionRoute;

/// Header in which the official client sends a currency.
const CURRENCY: &str = "frontastic-currency";
/// Longest part of a path that an error quotes, in characters.
const LONGEST_QUOTE: usize = 128;
const METHODS: [&str; 3] = ["GET", "POST", "PUT"];

/// A call that passed validation.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) method: &'static str,
    pub(super) locale: String,
    pub(super) query: Map<String, Value>,
    /// `None` for a GET, and if no body was sent.
    pub(super) body: Option<Value>,
    session: Option<String>,
    currency: Option<String>,
}

impl Asked {
    pub(super) fn read(route: &ActionRoute, parts: &Parts, body: &[u8]) -> Result<Self, Unanswered> {
        let method = METHODS.into_iter().find(|method| *method == route.method);
        let method = method.ok_or_else(|| wrong_method(METHODS.join(", ")))?;
        let preset = &route.preset;
        let headers = &parts.headers;
        if !accepts_json(headers) {
            return Err(Unanswered::bad("The header Accept is required and must allow application/json."));
        }
        let locale = required(headers, preset.locale)?;
        if !is_locale(locale) {
            return Err(Unanswered::bad(format!("The header {} is not a locale; use the form en-GB.", preset.locale)));
        }
        required(headers, preset.extension_version)?;
        if let Some(name) = preset.page_path
            && headers.contains_key(name)
            && !text(headers, name).is_some_and(|path| path.starts_with('/'))
        {
            return Err(Unanswered::bad(format!("The header {name} must start with '/'.")));
        }
        let body = match (method, body) {
            ("GET", _) | (_, []) => None,
            (_, body) => Some(serde_json::from_slice(body).map_err(|_| Unanswered::bad("The body must be JSON."))?),
        };
        Ok(Self {
            namespace: route.namespace.clone(),
            name: route.name.clone(),
            method,
            locale: locale.to_owned(),
            query: query::parameters(parts.uri.query().unwrap_or_default()),
            body,
            session: text(headers, SESSION.as_str()).map(str::to_owned),
            currency: text(headers, CURRENCY).map(str::to_owned),
        })
    }

    /// Returns the cart id of the query.
    pub(super) fn cart_id(&self) -> Option<&str> {
        self.query.get("cartId").and_then(Value::as_str)
    }

    /// Returns the id of the cart: that of the query wins over the session.
    pub(super) fn session(&self) -> Option<&str> {
        self.cart_id().or(self.session.as_deref())
    }

    /// Returns the currency: from the header, else from the end of a locale such as `en_US@USD`, else `EUR`.
    pub(super) fn currency(&self) -> &str {
        let is_code = |code: &&str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        let of_locale = self.locale.split_once('@').map(|(_, currency)| currency);
        self.currency.as_deref().filter(is_code).or(of_locale.filter(is_code)).unwrap_or("EUR")
    }
}

/// The refusal for an action that exists, but not for this method.
pub(super) fn wrong_method(allowed: String) -> Unanswered {
    let message = format!("The method is not allowed for this action; use {allowed}.");
    Unanswered { status: StatusCode::METHOD_NOT_ALLOWED, message, allowed: Some(allowed) }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty())
}

fn required<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, Unanswered> {
    text(headers, name).ok_or_else(|| Unanswered::bad(format!("The header {name} is required.")))
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds =
        accepted.flat_map(|text| text.split(',')).map(|kind| kind.split(';').next().unwrap_or_default().trim());
    kinds.any(|kind| ["application/json", "application/*", "*/*"].iter().any(|right| kind.eq_ignore_ascii_case(right)))
}

/// Whether a text is a locale: a language, further parts separated by `-` or `_`, and optionally `@` and a currency.
fn is_locale(text: &str) -> bool {
    let (tag, currency) = text.split_once('@').map_or((text, None), |(tag, currency)| (tag, Some(currency)));
    let mut parts = tag.split(['-', '_']);
    let language = parts.next().unwrap_or_default();
    let word = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (2..=8).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(word)
        && currency.is_none_or(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// Formats namespace and name for an error, shortened to [`LONGEST_QUOTE`] characters.
pub(super) fn cut(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}").chars().take(LONGEST_QUOTE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_those_of_the_contract_and_of_the_official_client() {
        for right in ["en", "en-GB", "en-US", "zh-Hans-SG", "en_US", "en_US@EUR", "de@CHF"] {
            assert!(is_locale(right), "{right}");
        }
        for wrong in
            ["", "e", "1", "en-", "-GB", "en GB", "en@", "en_US@eur", "en_US@EURO", "en--GB", "verylonglanguage"]
        {
            assert!(!is_locale(wrong), "{wrong}");
        }
    }
}
