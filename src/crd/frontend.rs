//! The frontend whose actions are called: in an `ActionCheck`, and once for all of them in a `ConnectProject`.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Which frontend is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.url) || (!has(self.projectName) && !has(self.companyName) && !has(self.tld))")
    .message("give either url, or projectName and companyName, which make the address"))]
#[x_kube(validation = Rule::new("!has(self.path) || !has(self.preset) || self.preset == 'Frontastic'")
    .message("path is for the preset Frontastic only: leave it out, or leave out preset")
    .field_path(".path"))]
pub struct Frontend {
    /// Address of the frontend, without a slash at its end, instead of projectName, companyName and tld. Only hosts that
    /// the operator allows are called (`--allowed-action-hosts`). Example, for a dev server: http://127.0.0.1:8787.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub url: Option<String>,
    /// Name of the project; the address is https://{projectName}-{companyName}.frontastic{tld}. Example: shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub project_name: Option<String>,
    /// Name of the company. Example: example.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub company_name: Option<String>,
    /// End of the address, with its dot. Default: .live.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 64), regex(pattern = r"^(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$"))]
    pub tld: Option<String>,
    /// Which host, paths and names of headers the frontend has. Frontastic: ….frontastic.live, /frontastic/action/….
    /// Service: ….service.live, /service/action/…. Default: Frontastic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<FrontendPreset>,
    /// Path of the page that the call is made for; with the preset Frontastic only. Example: /cart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^/[\x21-\x7E]*$"))]
    pub path: Option<String>,
}

impl Frontend {
    /// These fields, and those of `shared` for what is left out. An address is taken as a whole: `url` here replaces the
    /// names there, and names here replace `url` there.
    #[must_use]
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

/// Host, paths and names of headers of a frontend.
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
    fn what_a_check_says_wins_over_its_project() {
        let read = |value| serde_json::from_value::<Frontend>(value).expect("a frontend");
        let shared = json!({"projectName": "shop", "companyName": "example", "tld": ".io", "path": "/cart"});
        let url = json!({"url": "http://127.0.0.1:1", "preset": "Service"});
        for (case, own, shared, expected) in [
            ("nothing", json!({}), shared.clone(), shared.clone()),
            (
                "an end",
                json!({"tld": ".rocks"}),
                shared.clone(),
                json!({"projectName": "shop", "companyName": "example", "tld": ".rocks", "path": "/cart"}),
            ),
            (
                "an address",
                url.clone(),
                shared.clone(),
                json!({"url": "http://127.0.0.1:1", "preset": "Service", "path": "/cart"}),
            ),
            (
                "names instead of an address",
                json!({"projectName": "a", "companyName": "b"}),
                url.clone(),
                json!({"projectName": "a", "companyName": "b", "preset": "Service"}),
            ),
            (
                "a preset",
                json!({"preset": "Frontastic"}),
                url,
                json!({"url": "http://127.0.0.1:1", "preset": "Frontastic"}),
            ),
        ] {
            let merged = read(own).or(&read(shared));
            assert_eq!(serde_json::to_value(merged).expect("JSON"), expected, "{case}");
        }
    }
}
