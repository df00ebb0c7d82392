//! The call that a spec asks for: pure. What cannot be sent is told with a reason.

use crate::connect::action::{Action, ActionMethod, ExtraHeader, Preset};
use crate::controllers::conditions::Told;
use crate::controllers::reason::Reason;
use crate::crd::{ActionCheckMethod, ActionCheckSpec, FrontendPreset};

/// Largest body that is sent, in bytes.
const LARGEST_BODY: usize = 64 << 10;
/// End of the address of a frontend that names no other.
const DEFAULT_TLD: &str = ".live";

/// A call, and where it goes.
#[derive(Debug)]
pub struct Desired {
    /// How the frontend is called.
    pub preset: Preset,
    /// Its address.
    pub url: String,
    /// The call.
    pub action: Action,
}

/// Puts the call together. `headers`: those of `headersFrom`, with their values.
///
/// # Errors
/// `ConfigurationInvalid`, with what to change.
pub fn from_spec(spec: &ActionCheckSpec, headers: Vec<ExtraHeader>) -> Result<Desired, Told> {
    let invalid = |message: String| Told::new(Reason::ConfigurationInvalid, message);
    let frontend = &spec.frontend;
    let preset = match frontend.preset {
        FrontendPreset::Service => Preset::SERVICE,
        FrontendPreset::Frontastic => Preset::FRONTASTIC,
    };
    let url = match (&frontend.url, &frontend.project_name, &frontend.company_name) {
        (Some(url), ..) => url.clone(),
        (None, Some(project), Some(company)) => {
            let tld = frontend.tld.as_deref().unwrap_or(DEFAULT_TLD);
            preset.url(project, company, tld).map_err(|bad| invalid(format!("frontend: {bad}")))?
        }
        _ => return Err(invalid("frontend: give either url, or projectName and companyName".to_owned())),
    };
    if spec.body.as_ref().is_some_and(|body| body.to_string().len() > LARGEST_BODY) {
        return Err(invalid(format!("body has more than {LARGEST_BODY} bytes: send less")));
    }
    let body = spec.body.clone().unwrap_or_else(|| serde_json::json!({}));
    let method = match spec.method {
        ActionCheckMethod::Get if spec.body.is_some() => {
            return Err(invalid("body is for POST and PUT: leave it out, or choose another method".to_owned()));
        }
        ActionCheckMethod::Get => ActionMethod::Get,
        ActionCheckMethod::Post => ActionMethod::Post(body),
        ActionCheckMethod::Put => ActionMethod::Put(body),
    };
    let action = Action {
        namespace: spec.namespace.clone(),
        name: spec.action.clone(),
        method,
        query: spec.query.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
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

    fn spec(change: impl FnOnce(&mut Value)) -> ActionCheckSpec {
        let mut spec = json!({
            "frontend": {"projectName": "shop", "companyName": "example"}, "namespace": "cart", "action": "addToCart",
            "method": "POST", "locale": "en-GB", "extensionVersion": "1.4.0",
        });
        change(&mut spec);
        serde_json::from_value(spec).expect("it is a spec")
    }

    #[test]
    fn names_become_an_address_and_an_absent_body_an_empty_object() {
        let desired = from_spec(&spec(|_| {}), Vec::new()).expect("it is right");
        assert_eq!(desired.url, "https://shop-example.service.live");
        assert_eq!(desired.action.method, ActionMethod::Post(json!({})));
        let frontastic = spec(|spec| {
            spec["frontend"]["preset"] = json!("Frontastic");
            spec["frontend"]["tld"] = json!(".io");
            spec["method"] = json!("GET");
        });
        let desired = from_spec(&frontastic, Vec::new()).expect("it is right");
        assert_eq!(
            (desired.url.as_str(), desired.action.method),
            ("https://shop-example.frontastic.io", ActionMethod::Get)
        );
    }

    #[test]
    fn what_cannot_be_sent_says_what_to_change() {
        for (case, change, expected) in [
            ("no address", json!({"frontend": {}}), "projectName"),
            (
                "names that are too long",
                json!({"frontend": {"projectName": "a".repeat(61), "companyName": "bcd"}}),
                "too long",
            ),
            ("a body to read with", json!({"method": "GET", "body": {}}), "leave it out"),
            ("a large body", json!({"body": "x".repeat(LARGEST_BODY)}), "send less"),
        ] {
            let spec = spec(|spec| {
                for (name, value) in change.as_object().expect("an object") {
                    spec[name] = value.clone();
                }
            });
            let told = from_spec(&spec, Vec::new()).expect_err(case);
            assert_eq!(told.reason, Reason::ConfigurationInvalid, "{case}");
            assert!(told.message.contains(expected), "{case}: {}", told.message);
        }
    }
}
