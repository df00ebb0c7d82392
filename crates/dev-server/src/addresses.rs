//! Addresses and topics of deployed applications, in the observed forms (contract section 15.3): pure.
//!
//! The host belongs to one application of one deployment. It stays the same across redeploys; a deployment that is
//! deleted and created again gets another one. Topics change with each redeploy.

use super::connector::ConnectorDefinition;
use connect_api::model::{ApplicationType, DeclaredApplication, DeploymentType};

/// Characters of the id in a host.
const LENGTH: usize = 24;

/// What the address of one application of a deployment depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressParts<'a> {
    /// Id of the application.
    pub(super) id: &'a str,
    /// Region of the deployment.
    pub(super) region: &'a str,
    /// Type of the deployment.
    pub(super) kind: &'a DeploymentType,
}

impl AddressParts<'_> {
    /// Returns the address of an application; `None` if its type has none.
    pub(super) fn url(self, connector: &ConnectorDefinition, application: &DeclaredApplication) -> Option<String> {
        let (start, middle) = match &application.application_type {
            ApplicationType::Service => ("service", ""),
            ApplicationType::MerchantCenterCustomApplication => ("mc-app", ""),
            ApplicationType::MerchantCenterCustomView => ("mc-view", ""),
            ApplicationType::Assets => ("assets", "assets."),
            ApplicationType::Event | ApplicationType::Job | ApplicationType::Other(_) => return None,
        };
        let endpoint = connector.endpoints.get(&application.application_name);
        let endpoint = endpoint.filter(|_| application.application_type == ApplicationType::Service);
        let path = endpoint.map_or(String::new(), |endpoint| format!("/{}", endpoint.trim_start_matches('/')));
        Some(format!("https://{start}-{}.{middle}{}.{}connect.example{path}", self.start(), self.region, self.stage()))
    }

    /// Returns the topic of an event application after `builds` builds: a Pub/Sub topic, or the ARN of an SNS topic in
    /// an AWS region. `None` for other types.
    pub(super) fn topic(self, application: &DeclaredApplication, builds: u32) -> Option<String> {
        if application.application_type != ApplicationType::Event {
            return None;
        }
        let name = format!("{}-{}-{builds}", application.application_name, self.start());
        Some(match self.region.rsplit_once('.') {
            Some((location, "aws")) => format!("arn:aws:sns:{location}:000000000000:{name}"),
            _ => format!("projects/dev-server/topics/{name}"),
        })
    }

    fn start(self) -> String {
        self.id.chars().filter(char::is_ascii_hexdigit).take(LENGTH).collect()
    }

    /// Returns the prefix of the domain; empty for production.
    fn stage(self) -> &'static str {
        match self.kind {
            DeploymentType::Preview => "preview.",
            DeploymentType::Sandbox => "2.sandbox.",
            DeploymentType::Production | DeploymentType::Other(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rows;

    #[test]
    fn each_type_of_application_and_deployment_has_the_observed_address() {
        let id = "0123abcd-4567-489a-bcde-f0123456789a";
        let region = "europe-west1.gcp";
        for [kind, deployment, endpoint, expected] in rows(
            "
            service | sandbox | | service-ID.europe-west1.gcp.2.sandbox.connect.example
            service | preview | /a/b | service-ID.europe-west1.gcp.preview.connect.example/a/b
            service | production | tax | service-ID.europe-west1.gcp.connect.example/tax
            merchant-center-custom-application | production | /x | mc-app-ID.europe-west1.gcp.connect.example
            merchant-center-custom-view | preview | | mc-view-ID.europe-west1.gcp.preview.connect.example
            assets | sandbox | | assets-ID.assets.europe-west1.gcp.2.sandbox.connect.example
            event | sandbox | /x |
            job | production | /x |
            ",
        ) {
            let application = DeclaredApplication {
                application_name: "one".into(),
                application_type: kind.as_str().into(),
                standard_configuration: Vec::new(),
                secured_configuration: Vec::new(),
            };
            let mut connector = ConnectorDefinition::default();
            if !endpoint.is_empty() {
                connector.endpoints.insert("one".into(), endpoint);
            }
            let deployment = DeploymentType::from(deployment.as_str());
            let place = AddressParts { id, region, kind: &deployment };
            let url = place.url(&connector, &application);
            let expected = expected.replace("ID", "0123abcd4567489abcdef012");
            let expected = (!expected.is_empty()).then(|| format!("https://{expected}"));
            assert_eq!(url, expected, "{kind} {deployment}");
            assert_eq!(place.topic(&application, 1).is_some(), kind == "event", "{kind}");
            if kind == "event" {
                assert_eq!(
                    place.topic(&application, 2).as_deref(),
                    Some("projects/dev-server/topics/one-0123abcd4567489abcdef012-2")
                );
                let on_aws = AddressParts { region: "us-east-2.aws", ..place };
                assert_eq!(
                    on_aws.topic(&application, 1).as_deref(),
                    Some("arn:aws:sns:us-east-2:000000000000:one-0123abcd4567489abcdef012-1")
                );
            }
        }
    }
}
