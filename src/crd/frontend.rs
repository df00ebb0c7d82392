//! The frontend whose actions are called: set in an `ActionCheck`, or in a `ConnectProject` for all of its checks.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// The frontend to call.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.path) || !has(self.preset) || self.preset == 'Frontastic'")
    .message("path is for the preset Frontastic only: leave it out, or leave out preset")
    .field_path(".path"))]
pub struct Frontend {
    /// Base URL of the frontend, without a trailing slash. The operator calls only hosts that it is allowed to call.
    /// Example: https://shop-example.frontastic.live.
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub url: Option<String>,
    /// Preset for the paths and header names of the frontend. Frontastic: /frontastic/action/…. Service: /service/action/….
    /// Default: Service for a host such as shop-example.service.live, .io or .rocks, otherwise Frontastic.
    pub preset: Option<FrontendPreset>,
    /// Path of the page for which the action is called; with the preset Frontastic only. Example: /cart.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^/[\x21-\x7E]*$"))]
    pub path: Option<String>,
}

impl Frontend {
    /// Returns these fields, with those of `shared` in place of absent ones. Preset and path belong to
    /// their URL.
    pub fn or(&self, shared: &Self) -> Self {
        Self {
            url: self.url.clone().or_else(|| shared.url.clone()),
            preset: self.preset.or(shared.preset.filter(|_| self.url.is_none())),
            path: self.path.clone().or_else(|| shared.path.clone().filter(|_| self.url.is_none())),
        }
    }
}

/// Preset for the paths and header names of a frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum FrontendPreset {
    /// `/frontastic/action/…`.
    Frontastic,
    /// `/service/action/…`.
    Service,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_a_check_override_those_of_its_project() {
        let read = |value| serde_json::from_value::<Frontend>(value).expect("a frontend");
        let shared = json!({"url": "http://127.0.0.1:1", "preset": "Service", "path": "/cart"});
        let url = json!({"url": "https://shop-example.frontastic.live"});
        for (case, own, expected) in [
            ("nothing", json!({}), shared.clone()),
            ("a URL, and not the preset and path of another one", url.clone(), url.clone()),
            (
                "a preset",
                json!({"preset": "Frontastic"}),
                json!({"url": shared["url"], "preset": "Frontastic", "path": "/cart"}),
            ),
        ] {
            let merged = read(own).or(&read(shared.clone()));
            assert_eq!(serde_json::to_value(merged).expect("JSON"), expected, "{case}");
        }
    }
}
