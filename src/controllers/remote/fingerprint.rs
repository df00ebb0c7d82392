//! The fingerprint of a deployment: shows in 8 bytes, instead of a whole record, whether it has changed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use serde::Serialize;

use connect_api::model::{ApplicationDeployment, Deployment, GlobalConfiguration};

/// Returns the fingerprint of an observation. Secured values do not count: what the service shows in their place is
/// unspecified (contract section 4.4), and may differ from read to read.
pub(super) fn fingerprint(found: Option<&Deployment>, hasher: &RandomState) -> u64 {
    let mut sink = Sink(hasher.build_hasher());
    if let Some(deployment) = found {
        // Destructured, so that a new field cannot be forgotten.
        let Deployment {
            id,
            key,
            version,
            kind,
            connector,
            global_configuration,
            api_client,
            details,
            deployed_region,
            applications,
            preview,
            status,
            rollback_revision,
        } = deployment;
        sink.add(&(id, key, version, kind, connector, api_client, details, deployed_region, preview, status));
        sink.add(rollback_revision);
        sink.add(
            &global_configuration
                .as_ref()
                .map(|GlobalConfiguration { standard_configuration, .. }| standard_configuration),
        );
        for application in applications {
            let ApplicationDeployment {
                id,
                application_name,
                standard_configuration,
                secured_configuration: _,
                url,
                topic,
                schedule,
                retry_policy,
            } = application;
            sink.add(&(id, application_name, standard_configuration, url, topic, schedule, retry_policy));
        }
    }
    sink.0.finish()
}

/// Hashes what is written into it.
struct Sink<H>(H);

impl<H: Hasher> Sink<H> {
    fn add(&mut self, value: &impl Serialize) {
        // Neither the sink nor these types can fail.
        let _ = serde_json::to_writer(self, value);
    }
}

impl<H: Hasher> io::Write for &mut Sink<H> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
