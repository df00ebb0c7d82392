//! The call that a spec asks for. Pure.

use connect_api::action::{Action, ActionMethod, ExtraHeader, Preset};
use serde_json::value::RawValue;

use crate::crd::{ActionCheckMethod, ActionCheckSpec, Frontend, FrontendPreset};

/// A call, and its target.
#[derive(Debug)]
pub struct Desired {
    /// The kind of frontend, which determines the form of calls.
    pub preset: Preset,
    /// Its address.
    pub url: String,
    /// The call.
    pub action: Action,
}

/// Builds the call. `frontend`: that of the spec, completed from its project; `headers`: those of the spec, with
/// their values.
///
/// # Errors
/// What to change in the spec.
pub fn from_spec(spec: &ActionCheckSpec, frontend: &Frontend, headers: Vec<ExtraHeader>) -> Result<Desired, String> {
    let Some(url) = frontend.url.clone() else {
        return Err("frontend: neither this check nor its ConnectProject names one: give frontend.url".to_owned());
    };
    let preset = match frontend.preset {
        Some(FrontendPreset::Service) => Preset::SERVICE,
        Some(FrontendPreset::Frontastic) => Preset::FRONTASTIC,
        None => Preset::of_host(&url),
    };
    let body = spec.body.as_deref().unwrap_or("{}").to_owned();
    let body = RawValue::from_string(body).map_err(|why| format!("body is not JSON: {why}"))?;
    let method = match spec.method {
        ActionCheckMethod::Get => ActionMethod::Get,
        ActionCheckMethod::Post => ActionMethod::Post(body),
        ActionCheckMethod::Put => ActionMethod::Put(body),
    };
    let action = Action {
        namespace: spec.action.namespace.clone(),
        name: spec.action.name.clone(),
        method,
        query: spec.query.iter().map(|it| (it.name.clone(), it.value.clone())).collect(),
        locale: spec.locale.clone(),
        extension_version: spec.extension_version.clone(),
        page_path: frontend.path.clone(),
        headers,
    };
    Ok(Desired { preset, url, action })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(change: &Value) -> ActionCheckSpec {
        let mut spec = json!({
            "frontend": {"url": "https://shop-example.frontastic.live"},
            "action": {"namespace": "cart", "name": "addToCart"},
            "method": "POST", "locale": "en-GB", "extensionVersion": "1.4.0",
        });
        for (name, value) in change.as_object().expect("an object") {
            spec[name] = value.clone();
        }
        serde_json::from_value(spec).expect("the JSON is a spec")
    }

    fn desired(change: &Value) -> Result<Desired, String> {
        let spec = spec(change);
        from_spec(&spec, &spec.frontend, Vec::new())
    }

    #[test]
    fn the_host_names_the_preset_and_an_absent_body_is_an_empty_object() {
        let plain = desired(&json!({})).expect("the spec is valid");
        assert_eq!((plain.url.as_str(), plain.preset), ("https://shop-example.frontastic.live", Preset::FRONTASTIC));
        assert!(matches!(&plain.action.method, ActionMethod::Post(body) if body.get() == "{}"));
        for (frontend, expected) in [
            (json!({"url": "https://shop-example.service.io"}), Preset::SERVICE),
            (json!({"url": "https://shop-example.SERVICE.rocks:443/x"}), Preset::SERVICE),
            (json!({"url": "https://shop-example.service.io", "preset": "Frontastic"}), Preset::FRONTASTIC),
            (json!({"url": "http://127.0.0.1:8787", "preset": "Service"}), Preset::SERVICE),
            (json!({"url": "http://127.0.0.1:8787"}), Preset::FRONTASTIC),
            (json!({"url": "https://shop.service.example.com"}), Preset::FRONTASTIC),
        ] {
            let call = desired(&json!({"frontend": frontend, "method": "GET"})).expect("the spec is valid");
            assert_eq!(call.preset, expected, "{frontend}");
            assert!(matches!(call.action.method, ActionMethod::Get));
        }
        let body = "{\"a\":  1.0}";
        let sent = desired(&json!({"body": body})).expect("the spec is valid");
        assert!(matches!(&sent.action.method, ActionMethod::Post(sent) if sent.get() == body));
    }

    #[test]
    fn the_error_for_an_invalid_call_names_what_to_change() {
        for (case, change, expected) in [
            ("no address", json!({"frontend": {}}), "give frontend.url"),
            ("a body that is no JSON", json!({"body": "{a: 1}"}), "body is not JSON: key must be a string at line 1"),
        ] {
            let message = desired(&change).expect_err(case);
            assert!(message.contains(expected), "{case}: {message}");
        }
    }
}
