//! The frontend whose actions are called: set in an `ActionCheck`, or in a `ConnectProject` for all of its checks.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// The frontend to call.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.url) || (!has(self.projectName) && !has(self.companyName) && !has(self.tld))")
    .message("give either url, or projectName and companyName, which make the address"))]
#[x_kube(validation = Rule::new("!has(self.path) || !has(self.preset) || self.preset == 'Frontastic'")
    .message("path is for the preset Frontastic only: leave it out, or leave out preset")
    .field_path(".path"))]
pub struct Frontend {
    /// Base URL of the frontend, without a trailing slash, instead of projectName, companyName and tld. The operator
    /// calls only allowed hosts (`--allowed-action-hosts`). Example, for a dev server: http://127.0.0.1:8787.
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub url: Option<String>,
    /// Name of the project. The base URL is https://{projectName}-{companyName}.frontastic{tld}. Example: shop.
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub project_name: Option<String>,
    /// Name of the company. Example: example.
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub company_name: Option<String>,
    /// Top-level domain of the host, with its leading dot. Default: .live.
    #[schemars(length(min = 2, max = 64), regex(pattern = r"^(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$"))]
    pub tld: Option<String>,
    /// Preset for the host, paths and header names of the frontend. Frontastic: ….frontastic.live,
    /// /frontastic/action/…. Service: ….service.live, /service/action/…. Default: Frontastic.
    pub preset: Option<FrontendPreset>,
    /// Path of the page for which the action is called; with the preset Frontastic only. Example: /cart.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^/[\x21-\x7E]*$"))]
    pub path: Option<String>,
}

impl Frontend {
    /// Returns these fields, with those of `shared` in place of absent ones. The address is inherited as a whole: `url`
    /// here replaces the names in `shared`, and names here replace `url` in `shared`.
    pub fn or(&self, shared: &Self) -> Self {
        let named = self.project_name.is_some() || self.company_name.is_some() || self.tld.is_some();
        let inherited = |own: &Option<String>, theirs: &Option<String>| match self.url {
            Some(_) => None,
            None => own.clone().or_else(|| theirs.clone()),
        };
        Self {
            url: self.url.clone().or_else(|| shared.url.clone().filter(|_| !named)),
            project_name: inherited(&self.project_name, &shared.project_name),
            company_name: inherited(&self.company_name, &shared.company_name),
            tld: inherited(&self.tld, &shared.tld),
            preset: self.preset.or(shared.preset),
            path: self.path.clone().or_else(|| shared.path.clone()),
        }
    }
}

/// Preset for the host, paths and header names of a frontend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum FrontendPreset {
    /// `….frontastic.live`, `/frontastic/action/…`.
    #[default]
    Frontastic,
    /// `….service.live`, `/service/action/…`.
    Service,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_a_check_override_those_of_its_project() {
        let read = |value| serde_json::from_value::<Frontend>(value).expect("a frontend");
        let shared = json!({"projectName": "shop", "companyName": "example", "tld": ".io", "path": "/cart"});
        let url = json!({"url": "http://127.0.0.1:1", "preset": "Service"});
        let end = json!({"projectName": "shop", "companyName": "example", "tld": ".rocks", "path": "/cart"});
        let address = json!({"url": "http://127.0.0.1:1", "preset": "Service", "path": "/cart"});
        let named = json!({"projectName": "a", "companyName": "b", "preset": "Service"});
        let preset = json!({"url": "http://127.0.0.1:1", "preset": "Frontastic"});
        for (case, own, shared, expected) in [
            ("nothing", json!({}), &shared, &shared),
            ("an end", json!({"tld": ".rocks"}), &shared, &end),
            ("an address", url.clone(), &shared, &address),
            ("names instead of an address", json!({"projectName": "a", "companyName": "b"}), &url, &named),
            ("a preset", json!({"preset": "Frontastic"}), &url, &preset),
        ] {
            let merged = read(own).or(&read(shared.clone()));
            assert_eq!(serde_json::to_value(merged).expect("JSON"), *expected, "{case}");
        }
    }
}
