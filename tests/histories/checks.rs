//! `ActionChecks` of a history: their specs, and what users do with them.

use proptest::prelude::*;

use crate::frontend::REPLIES;
use crate::prelude::*;
use crate::users::YARD;

/// The checks that a history may have: namespace and name. Each may follow the deployment `one` of its namespace.
pub(crate) const CHECKS: [(&str, &str); 3] = [(SHOP, "smoke"), (SHOP, "probe"), (YARD, "smoke")];
/// The deployment that a check follows.
const FOLLOWED: &str = "one";
/// `spec.interval` of a GET, in seconds.
pub(crate) const INTERVAL: u64 = 60;

/// The spec with which a check is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckShape {
    /// GET, POST or PUT.
    pub(crate) method: u8,
    /// Follows the deployment.
    pub(crate) after: bool,
    /// Its own, from the project, or one of two that are not allowed.
    pub(crate) host: u8,
    /// The expected answer: default, a member of the body, or a status.
    pub(crate) expect: u8,
    /// Sends a header with a value of the Secret.
    pub(crate) header: bool,
    pub(crate) suspend: bool,
    /// The version of the extension.
    pub(crate) extension: u8,
}

impl CheckShape {
    fn spec(self) -> Value {
        let method = ["GET", "POST", "PUT"][usize::from(self.method) % 3];
        let frontend = [
            json!({"url": "https://shop-example.service.live"}),
            Value::Null,
            json!({"url": "https://shop.example.com"}),
            json!({"url": "http://127.0.0.1:8787"}),
        ];
        let expect = [Value::Null, json!({"body": r#"{"ok": true}"#}), json!({"status": 500})];
        let from = json!({"name": "Cookie", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "token"}}});
        let (host, reads) = (usize::from(self.host) % 4, method == "GET");
        json!({
            "projectRef": (host == 1).then(|| json!({"name": PROJECT_NAME})),
            "frontend": frontend[host],
            "action": {"namespace": "cart", "name": "addToCart"},
            "method": method,
            "locale": "en-GB",
            "extensionVersion": format!("1.{}.0", self.extension),
            "expect": expect[usize::from(self.expect) % 3],
            "headers": self.header.then(|| json!([from])),
            "deploymentRef": self.after.then(|| json!({"name": FOLLOWED})),
            "interval": reads.then(|| format!("{INTERVAL}s")),
            "suspend": self.suspend.then_some(true),
        })
    }
}

/// Returns a check by its number.
pub(crate) fn stored(index: u8) -> Key {
    let (namespace, name) = CHECKS[usize::from(index) % CHECKS.len()];
    Key::new(Kind::Check, namespace, name)
}

impl Simulation {
    /// Creates a check, or replaces its spec.
    pub(crate) fn write_check(&mut self, key: &Key, shape: CheckShape) {
        self.write_object(key, &shape.spec());
    }

    /// Requests that a check calls its action once more.
    pub(crate) fn rerun(&mut self, key: &Key, number: usize) {
        self.edit(key, &json!({"metadata": {"annotations": {names::RERUN_REQUESTED_AT: format!("rerun-{number}")}}}));
    }

    /// Deletes a check.
    pub(crate) fn delete_check(&mut self, key: &Key) {
        let now = self.now();
        let _ = lock(&self.reach.cluster).delete(key, now);
        self.check();
    }

    /// Chooses what the frontend answers from now on.
    pub(crate) fn set_reply(&mut self, reply: u8) {
        lock(&self.reach.frontend).now = reply;
    }
}

fn shape() -> impl Strategy<Value = CheckShape> {
    let host = prop_oneof![5 => Just(0_u8), 2 => Just(1_u8), 1 => 2..4_u8];
    let rare = || prop::bool::weighted(0.15);
    let method = prop_oneof![2 => Just(0_u8), 3 => Just(1_u8), 1 => Just(2_u8)];
    (method, prop::bool::weighted(0.6), host, 0..3_u8, rare(), rare(), 0..3_u8).prop_map(
        |(method, after, host, expect, header, suspend, extension)| CheckShape {
            method,
            after,
            host,
            expect,
            header,
            suspend,
            extension,
        },
    )
}

/// Returns a fault of a call of the frontend, or of what its answer is written into.
fn fault() -> impl Strategy<Value = Armed> {
    let outage = prop_oneof![
        1 => Just(Outage::LostThere),
        2 => Just(Outage::LostBack),
        2 => (1..30_u8).prop_map(Outage::Late),
        1 => (1..30_u8).prop_map(Outage::Slow),
        1 => Just(Outage::Broken),
        2 => Just(Outage::Unavailable),
        2 => Just(Outage::DieBefore),
        3 => Just(Outage::DieAfter),
    ];
    (outage, any::<bool>(), 0..3_u8).prop_map(|(trouble, changes, skip)| Armed {
        place: Callee::Frontend,
        changes,
        skip,
        trouble,
    })
}

/// Returns a step of a history with checks.
pub(crate) fn step() -> BoxedStrategy<Step> {
    let check = || prop_oneof![3 => Just(0_u8), 1 => Just(1_u8), 1 => Just(2_u8)];
    let replies = u8::try_from(REPLIES.len()).expect("there are few");
    prop_oneof![
        6 => (check(), shape()).prop_map(|(check, shape)| Step::Check(check, shape)),
        2 => check().prop_map(Step::Rerun),
        1 => check().prop_map(Step::DropCheck),
        3 => (0..replies).prop_map(Step::Reply),
        4 => fault().prop_map(Step::Trouble),
    ]
    .boxed()
}
