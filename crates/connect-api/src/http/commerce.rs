//! The two reads of the HTTP API. They use a separate [`HttpConnect`] whose `api_url` is the address of that API, with
//! its own token, rate limit and connections, so that they cannot delay a call of the Connect API.

use super::HttpConnect;
use crate::api::{Answer, Selector};
use crate::commerce::CommerceApi;
use crate::model::{Extension, Subscription};
use crate::routes;

impl CommerceApi for HttpConnect {
    fn extension<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Extension>> {
        let path = routes::extension(&self.settings.project_key, &Selector::Key(key.to_owned()));
        Box::pin(self.maybe(self.get("getExtensionByKey", path)))
    }

    fn subscription<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Subscription>> {
        let path = routes::subscription(&self.settings.project_key, &Selector::Key(key.to_owned()));
        Box::pin(self.maybe(self.get("getSubscriptionByKey", path)))
    }
}
