//! The two reads of the HTTP API. They use a separate [`HttpConnect`] whose `api_url` is the address of that API, with
//! its own token, rate limit and connections, so that they cannot delay a call of the Connect API.

use super::HttpConnect;
use crate::api::Answer;
use crate::commerce::CommerceApi;
use crate::model::{Extension, Subscription};

impl CommerceApi for HttpConnect {
    fn extension<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Extension>> {
        Box::pin(self.maybe(self.get("getExtensionByKey", key)))
    }

    fn subscription<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Subscription>> {
        Box::pin(self.maybe(self.get("getSubscriptionByKey", key)))
    }
}
