//! Hints about misspelt regions. Pure.

use super::resources::similar;

/// The known regions, as in the descriptions of the CRDs.
const KNOWN: [&str; 5] =
    ["europe-west1.gcp", "us-central1.gcp", "australia-southeast1.gcp", "us-east-2.aws", "eu-central-1.aws"];

/// Returns a hint about a region that is not known to this version; `None`: it is.
pub(super) fn hint(region: &str) -> Option<String> {
    if KNOWN.contains(&region) {
        return None;
    }
    let region_in_lower_case = region.to_ascii_lowercase();
    let location = |known: &&str| known.split_once('.').is_some_and(|(location, _)| location == region_in_lower_case);
    let meant = KNOWN.into_iter().find(location).or_else(|| similar(&region_in_lower_case, KNOWN));
    let meant = meant.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    Some(format!("{region} is not a known region{meant} (known: {})", KNOWN.join(", ")))
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
        for region in KNOWN {
            assert_eq!(hint(region), None, "{region}");
            assert!(documented.contains(region), "{region}");
        }
    }
}
