//! Tables: when this install may work on an object that another install has claimed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::*;

fn labels(team: &str) -> Labels {
    Labels::from([("team".to_owned(), team.to_owned())])
}

fn object(namespace: &str, team: &str) -> Object {
    Object { namespace: namespace.to_owned(), labels: labels(team) }
}

fn install() -> LeaseName {
    "operator/tax".parse().expect("a name")
}

fn lease(holder: Option<&str>, renewed: i64, selector: &str) -> (LeaseSpec, Scope) {
    let spec = LeaseSpec {
        holder_identity: holder.map(str::to_owned),
        lease_duration_seconds: Some(15),
        renew_time: Some(MicroTime(jiff::Timestamp::from_second(renewed).expect("a time"))),
        ..LeaseSpec::default()
    };
    (spec, Scope::new(&["shop".to_owned()], selector).expect("a selector"))
}

#[test]
fn objects_in_the_scope_of_a_live_install_are_left_to_it() {
    let taken = Availability::Taken { unreadable: None };
    let held = || Ok(Some(lease(Some("a"), 0, "")));
    for (case, looks, expected) in [
        ("never read", vec![], Availability::Unknown),
        ("read for the first time", vec![(0, held())], taken.clone()),
        ("unchanged, not long enough", vec![(0, held()), (14, held())], taken.clone()),
        ("unchanged for long enough", vec![(0, held()), (15, held())], Availability::Free),
        ("renewed", vec![(0, held()), (15, Ok(Some(lease(Some("a"), 2, ""))))], taken.clone()),
        ("another replica of it", vec![(0, held()), (15, Ok(Some(lease(Some("b"), 0, ""))))], taken.clone()),
        ("released", vec![(0, held()), (1, Ok(Some(lease(None, 1, ""))))], Availability::Free),
        ("deleted", vec![(0, held()), (1, Ok(None))], Availability::Free),
        ("it never existed", vec![(0, Ok(None))], Availability::Free),
        (
            "it now selects others",
            vec![(0, held()), (1, Ok(Some(lease(Some("a"), 1, "team=cart"))))],
            Availability::Free,
        ),
        ("it selects this object", vec![(0, Ok(Some(lease(Some("a"), 0, "team=tax"))))], taken.clone()),
        (
            "a forbidden read",
            vec![(0, Err("no".to_owned()))],
            Availability::Taken { unreadable: Some("no".to_owned()) },
        ),
        (
            "a later forbidden read",
            vec![(0, Ok(None)), (1, Err("no".to_owned()))],
            Availability::Taken { unreadable: Some("no".to_owned()) },
        ),
        ("alive again", vec![(0, held()), (15, held()), (16, Ok(Some(lease(Some("a"), 16, ""))))], taken),
    ] {
        let mut others = OtherInstalls::default();
        let asked = others.availability(&install(), &"tax", object("shop", "tax"));
        assert_eq!(asked, Availability::Unknown, "{case}");
        for (second, read) in looks {
            others.saw(&install(), read, Duration::from_secs(second));
        }
        assert_eq!(others.availability(&install(), &"tax", object("shop", "tax")), expected, "{case}");
    }
}

#[test]
fn free_objects_are_enqueued_and_after_the_first_read_all_of_them() {
    let mut others = OtherInstalls::default();
    for (subject, team) in [("tax", "tax"), ("cart", "cart")] {
        others.availability(&install(), &subject, object("shop", team));
    }
    others.availability(&install(), &"elsewhere", object("other", "tax"));
    let at = Duration::from_secs;
    assert_eq!(others.to_look_at(), [install()]);
    assert_eq!(others.saw(&install(), Ok(Some(lease(Some("a"), 0, ""))), at(0)), ["cart", "elsewhere", "tax"]);
    assert_eq!(
        others.availability(&install(), &"elsewhere", object("other", "tax")),
        Availability::Free,
        "it watches shop only"
    );
    assert_eq!(others.saw(&install(), Ok(Some(lease(Some("a"), 2, ""))), at(2)), Vec::<&str>::new());
    assert_eq!(others.saw(&install(), Ok(Some(lease(Some("a"), 4, "team=tax"))), at(4)), ["cart"]);
    assert!(others.relabelled(&"tax", &labels("cart")) && !others.relabelled(&"tax", &labels("tax")));
    assert_eq!(
        others.availability(&install(), &"tax", object("shop", "cart")),
        Availability::Free,
        "its new labels free it"
    );
    others.forget(&"cart");
    assert_eq!(others.to_look_at(), [install()], "two objects still name it");
    assert_eq!(
        others.availability(&install(), &"tax", object("shop", "cart")),
        Availability::Free,
        "a later reconcile does not have to wait for its Lease again"
    );
    assert_eq!(others.saw(&install(), Ok(Some(lease(Some("a"), 4, "team=tax"))), at(5)), Vec::<&str>::new());
    others.forget(&"tax");
    others.forget(&"elsewhere");
    assert_eq!(others.to_look_at(), Vec::<LeaseName>::new());
    assert_eq!(others.saw(&install(), Ok(None), at(5)), Vec::<&str>::new(), "no object is left to it any more");
}
