use connect_api::model::{DeclaredApplication, Deployment, RetryPolicy};
use serde_json::json;

use super::*;
use crate::operator::deployment::observe;
use crate::operator::values::digest::KEY_LENGTH;
use crate::operator::values::retry_policy;

/// Values of the application service from words: `KEY=value`, and `!KEY=value` for secured ones.
fn values(words: &str, schedule: Option<&str>) -> Values {
    let mut values = Values { applications: ["service".to_owned()].into(), ..Values::default() };
    for (key, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
        match key.strip_prefix('!') {
            Some(key) => drop(values.secured.insert(Item::secured("service", key), value.into())),
            None => drop(values.visible.insert(Item::standard("service", key), value.into())),
        }
    }
    values.visible.extend(schedule.map(|schedule| (Item::schedule("service"), schedule.into())));
    values
}

/// Formats each difference as a word: `+` added, `~` changed, `=` retained, `?` unknown; `!` secured, `@` schedule,
/// `r` retry policy.
fn shown(differences: &[Difference]) -> Vec<String> {
    let sign = |change| match change {
        Change::Added => "+",
        Change::Changed => "~",
        Change::Retained => "=",
        Change::Unknown => "?",
    };
    let line = |it: &Difference| {
        let kind = match it.kind {
            "plain" => "",
            "secured" => "!",
            "schedule" => "@",
            "retryPolicy" => "r",
            other => other,
        };
        let texts = [&it.before, &it.after].map(|text| text.clone().unwrap_or_default());
        format!("{}{kind}{} {}>{}", sign(it.change), it.key.as_deref().unwrap_or_default(), texts[0], texts[1])
    };
    differences.iter().map(line).collect()
}

#[test]
fn plain_values_and_schedules_are_compared_with_the_remote_and_secured_ones_with_what_was_applied() {
    let record: Deployment = serde_json::from_value(json!({
        "id": "1", "version": 1, "status": "Deployed",
        "applications": [{
            "applicationName": "service", "schedule": "0 5 * * *",
            "standardConfiguration": [{"key": "LEVEL", "value": "info"}, {"key": "DEFAULT", "value": "d"}],
            "securedConfiguration": [{"key": "TOKEN", "value": "**"}],
        }],
    }))
    .expect("a record");
    let declared: Vec<DeclaredApplication> = serde_json::from_value(json!([{
        "applicationName": "service", "standardConfiguration": [{"key": "DEFAULT", "default": "d"}],
    }]))
    .expect("declarations");
    let (seen, declared) = (observe::of_record(&record), observe::declared(Some(&declared), None));
    let key = DigestKey::new([1; KEY_LENGTH]);
    let same = values("LEVEL=info !TOKEN=canary-1", None);
    let at_one = values("LEVEL=info !TOKEN=canary-1", Some("1 1 * * *"));
    let known = Some(&same);
    for (case, desired, applied, expected) in [
        ("nothing", same.clone(), known, ""),
        ("a plain value", values("LEVEL=debug !TOKEN=canary-1", None), known, "~LEVEL info>debug"),
        ("one more, one less", values("MORE=1 !TOKEN=canary-1", None), known, "=LEVEL info>info, +MORE >1"),
        ("not the default", values("LEVEL=info DEFAULT=x !TOKEN=canary-1", None), known, "~DEFAULT d>x"),
        ("a secured value", values("LEVEL=info !TOKEN=canary-2", None), known, "~!TOKEN >"),
        ("unknown applied values", values("LEVEL=info !TOKEN=canary-2", None), None, "?!TOKEN >"),
        ("a new secured value", values("LEVEL=info !SIGN=canary-2", None), known, "+!SIGN >, =!TOKEN >"),
        ("a schedule", at_one, known, "~@ 0 5 * * *>1 1 * * *"),
        ("every value removed", Values::default(), known, "=LEVEL info>info, =!TOKEN >"),
    ] {
        let declared = declared.as_ref();
        let found = differences(Some(&seen), applied, &desired, declared, &key);
        assert_eq!(shown(&found).join(", "), expected, "{case}");
        assert!(!format!("{found:?}").contains("canary"), "{case}");
    }
}

#[test]
fn every_value_is_added_without_a_record() {
    let mut desired = values("LEVEL=info !TOKEN=canary", Some("0 5 * * *"));
    desired.visible.insert(Item::standard(GLOBAL, "SHOP"), "eu".into());
    let key = DigestKey::new([1; KEY_LENGTH]);
    let found = differences(None, None, &desired, None, &key);
    assert_eq!(shown(&found), ["+SHOP >eu", "+LEVEL >info", "+@ >0 5 * * *", "+!TOKEN >"]);
}

#[test]
fn a_retry_policy_is_compared_with_the_record_and_with_what_was_sent() {
    let backoff = json!({"strategy": "exponential-backoff", "minBackoffSeconds": 10, "maxBackoffSeconds": 60});
    let mut filled = backoff.clone();
    filled["maxAttempts"] = json!(5);
    let immediate = json!({"strategy": "immediate"});
    let none = serde_json::Value::Null;
    let other = "~rmaxBackoffSeconds 60>, ~rminBackoffSeconds 10>, ~rstrategy exponential-backoff>immediate";
    let restored = "+rmaxBackoffSeconds >60, +rminBackoffSeconds >10, ~rstrategy immediate>exponential-backoff";
    let stays = "=rstrategy exponential-backoff>exponential-backoff";
    for (case, shown_there, applied, desired, expected) in [
        ("the same", &backoff, &backoff, &backoff, ""),
        ("the record adds a default", &filled, &backoff, &backoff, ""),
        ("the record has none", &none, &backoff, &backoff, ""),
        ("another", &backoff, &backoff, &immediate, other),
        ("somebody else changed it to what is desired", &immediate, &backoff, &immediate, ""),
        ("somebody else changed it", &immediate, &backoff, &backoff, restored),
        ("another, and the record has none", &none, &backoff, &immediate, other),
        ("a member is dropped", &filled, &filled, &backoff, "~rmaxAttempts 5>"),
        ("removed", &backoff, &backoff, &none, stays),
        ("removed, and not in the record", &none, &backoff, &none, stays),
        ("never sent", &backoff, &none, &none, ""),
        ("new, and the record has none", &none, &none, &immediate, "+rstrategy >immediate"),
        ("instead of the connector's", &backoff, &none, &immediate, "~rstrategy exponential-backoff>immediate"),
    ] {
        let record: Deployment = serde_json::from_value(json!({
            "id": "1", "version": 1, "status": "Deployed",
            "applications": [{"applicationName": "service", "retryPolicy": shown_there}],
        }))
        .expect("a record");
        let with = |policy: &serde_json::Value| {
            let mut values = values("", None);
            let policy: Option<RetryPolicy> = serde_json::from_value(policy.clone()).expect("a policy or none");
            values.visible.extend(policy.iter().flat_map(|policy| retry_policy("service", policy)));
            values
        };
        let (applied, desired) = (with(applied), with(desired));
        let key = DigestKey::new([1; KEY_LENGTH]);
        let seen = observe::of_record(&record);
        let found = differences(Some(&seen), Some(&applied), &desired, None, &key);
        assert_eq!(shown(&found).join(", "), expected, "{case}");
    }
}
