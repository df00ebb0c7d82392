//! The two reads of the HTTP API. They use a separate [`HttpConnect`] whose `api_url` is the address of that API, with
//! its own token, rate limit and connections, so that they cannot delay a call of the Connect API.

use serde::Deserialize;

use super::HttpConnect;
use crate::api::Answer;
use crate::commerce::{CommerceApi, ResourceKind, ResourceName};
use crate::lenient::nullable;
use crate::model::Destination;

#[derive(Deserialize)]
struct Resource {
    #[serde(default, deserialize_with = "nullable")]
    destination: Destination,
}

impl CommerceApi for HttpConnect {
    fn destination<'a>(&'a self, name: &'a ResourceName) -> Answer<'a, Option<Destination>> {
        let operation = match name.kind {
            ResourceKind::Extension => "getExtensionByKey",
            ResourceKind::Subscription => "getSubscriptionByKey",
        };
        Box::pin(async move {
            let found: Option<Resource> = self.maybe(self.get(operation, &name.key)).await?;
            Ok(found.map(|found| found.destination))
        })
    }
}
