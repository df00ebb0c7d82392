//! Hints about misspelt regions. Pure.

use connect_api::model::REGIONS;

use super::resources::similar;

/// Returns a hint about a region that is not known to this version; `None`: it is.
pub(super) fn hint(region: &str) -> Option<String> {
    if REGIONS.contains(&region) {
        return None;
    }
    let lower = region.to_ascii_lowercase();
    let location = |known: &&str| known.split_once('.').is_some_and(|(location, _)| location == lower);
    let meant = REGIONS.into_iter().find(location).or_else(|| similar(&lower, REGIONS));
    let meant = meant.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    Some(format!("{region} is not a known region{meant} (known: {})", REGIONS.join(", ")))
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt as _;

    use super::*;
    use crate::crd::ConnectProject;

    #[test]
    fn a_misspelt_region_suggests_the_known_one() {
        for (case, region, meant) in [
            ("a missing hyphen", "us-east2.aws", Some("us-east-2.aws")),
            ("capitals", "EU-Central-1.AWS", Some("eu-central-1.aws")),
            ("an underscore", "europe_west1.gcp", Some("europe-west1.gcp")),
            ("the location alone", "europe-west1", Some("europe-west1.gcp")),
            ("another one", "mars", None),
        ] {
            let hint = hint(region).expect(case);
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            let expected = format!("{region} is not a known region{meant} (known: europe-west1.gcp, us-central1.gcp, ");
            assert!(hint.starts_with(&expected) && hint.ends_with("eu-central-1.aws)"), "{case}: {hint}");
        }
        let documented = serde_json::to_string(&ConnectProject::crd()).expect("a CRD");
        for region in REGIONS {
            assert_eq!(hint(region), None, "{region}");
            assert!(documented.contains(region), "{region}");
        }
    }
}
