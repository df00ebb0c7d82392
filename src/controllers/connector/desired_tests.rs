use serde_json::{Value, json};

use super::*;
use crate::controllers::reporting::bounds;
use crate::crd::ProjectKind;

fn owner() -> Owner {
    let project = ProjectRef { kind: ProjectKind::ConnectProject, name: "shop".into() };
    Owner { project, uid: "u-1".into() }
}

fn connector(change: impl FnOnce(&mut Value)) -> model::Connector {
    let mut record = json!({
        "id": "c-1", "key": "tax", "version": 3, "name": "Tax", "description": "Computes taxes",
        "integrationTypes": ["tax", "moon"],
        "creator": {"email": "dev@example.com", "name": "Dev", "title": "Ms", "company": "Example", "noOfContributors": 2,
            "logoUrl": "https://example.com/logo", "supportUrl": "https://example.com/support"},
        "repository": {"url": "https://example.com/tax.git", "tag": "v3"},
        "configurations": [{"applicationName": "service", "applicationType": "service",
            "standardConfiguration": [{"key": "LOG_LEVEL", "description": "How much", "default": "info", "required": false}],
            "securedConfiguration": [{"key": "API_TOKEN", "description": "Opens it", "required": true}]}],
        "apiClient": {"scopes": ["manage_orders"]},
        "private": true,
        "globalConfiguration": {"standardConfiguration": [{"key": "MODE", "description": "", "required": true}],
            "securedConfiguration": []},
        "supportedRegions": ["europe-west1.gcp"],
        "certified": true,
        "documentationUrl": "https://example.com/docs",
    });
    change(&mut record);
    serde_json::from_value(record).expect("a record")
}

fn status_of(change: impl FnOnce(&mut Value)) -> ConnectorStatus {
    desired(&owner(), connector(change)).status
}

/// The stored object of a record, as the API server returns it.
fn stored(desired: &Desired) -> Connector {
    let mut object = Connector::new("shop.tax", desired.spec.clone());
    object.metadata.owner_references = Some(desired.owners.clone());
    object.status = Some(desired.status.clone());
    let text = serde_json::to_string(&object).expect("JSON");
    serde_json::from_str(&text).expect("the same object")
}

#[test]
fn every_member_of_the_record_is_kept() {
    let status = serde_json::to_value(status_of(|_| ())).expect("JSON");
    assert_eq!(status["summary"], json!({"types": "tax,moon", "regions": "europe-west1.gcp"}));
    let mut record = serde_json::to_value(connector(|_| ())).expect("JSON");
    record.as_object_mut().expect("an object").remove("id");
    for (path, value) in leaves("", &record) {
        // Empty and absent members are equivalent.
        let there = status.pointer(&path).cloned().unwrap_or_else(|| json!(""));
        assert!(there == value || value == json!([]), "{path}: {there} instead of {value}");
    }
}

fn leaves(path: &str, value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| leaves(&format!("{path}/{name}"), value)).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().flat_map(|(at, value)| leaves(&format!("{path}/{at}"), value)).collect()
        }
        value => vec![(path.to_owned(), value.clone())],
    }
}

#[test]
fn columns_are_short() {
    let many: Vec<String> = (0..30).map(|number| format!("type-{number}")).collect();
    for (case, types, regions, expected) in [
        ("nothing declared", json!([]), json!([]), ("", "any")),
        ("one", json!(["tax"]), json!(["a.gcp"]), ("tax", "a.gcp")),
        ("two", json!(["tax", "erp"]), json!(["a.gcp", "b.aws"]), ("tax,erp", "a.gcp,b.aws")),
        ("more", json!(["tax"]), json!(["a.gcp", "b.aws", "c.gcp", "d.aws"]), ("tax", "a.gcp,b.aws,+2")),
    ] {
        let summary = status_of(|record| {
            record["integrationTypes"] = types;
            record["supportedRegions"] = regions;
        })
        .summary;
        assert_eq!((summary.types.as_str(), summary.regions.as_str()), expected, "{case}");
    }
    assert!(status_of(|record| record["integrationTypes"] = json!(many)).summary.types.len() <= LONGEST_COLUMN);
}

#[test]
fn what_is_too_large_is_cut_and_listed() {
    type Row<'r> = (&'r str, Box<dyn FnOnce(&mut Value) + 'r>, &'r [&'r str]);
    let long = "x".repeat(LONGEST_TEXT + 1);
    let variables = |count: usize, text: &str| -> Value {
        (0..count).map(|number| json!({"key": format!("KEY_{number}"), "description": text, "default": text, "required": true})).collect()
    };
    let application = |count: usize, text: &str| {
        json!({"applicationName": "a", "applicationType": "service", "standardConfiguration": variables(count, text),
            "securedConfiguration": []})
    };
    let rows: [Row<'_>; 10] = [
        ("nothing", Box::new(|_| ()), &[]),
        ("the description", Box::new(|record| record["description"] = json!(long)), &["description"]),
        (
            "a description of a variable",
            Box::new(|record| record["configurations"] = json!([application(1, &long)])),
            &["configurations[].default", "configurations[].description"],
        ),
        ("many scopes", Box::new(|record| record["apiClient"]["scopes"] = json!(vec!["s"; 65])), &["apiClient.scopes"]),
        (
            "many variables",
            Box::new(|record| record["configurations"] = json!([application(257, "")])),
            &["configurations[].standardConfiguration"],
        ),
        (
            "large with descriptions",
            Box::new(|record| record["configurations"] = json!([application(256, &"d".repeat(800))])),
            &["configurations[].description"],
        ),
        (
            "large without descriptions",
            Box::new(|record| {
                record["configurations"] = json!(vec![application(200, &"d".repeat(300)); 60]);
            }),
            &["configurations", "configurations[].description"],
        ),
        (
            "many applications",
            Box::new(|record| record["configurations"] = json!(vec![application(0, ""); 65])),
            &["configurations"],
        ),
        (
            "many variables of all applications",
            Box::new(|record| {
                let keys: Vec<_> = (0..256)
                    .map(|number| json!({"key": format!("{number:0>256}"), "description": "", "required": true}))
                    .collect();
                record["globalConfiguration"] = json!({"standardConfiguration": keys, "securedConfiguration": keys});
            }),
            &["configurations[].description", "globalConfiguration"],
        ),
        (
            "long lists of long words",
            Box::new(|record| {
                let words = json!(vec!["\"".repeat(256); 64]);
                record["apiClient"]["scopes"] = words.clone();
                record["supportedRegions"] = words.clone();
                record["integrationTypes"] = words;
                record["description"] = json!("\"".repeat(LONGEST_TEXT));
            }),
            &["apiClient.scopes"],
        ),
    ];
    for (case, change, expected) in rows {
        let status = status_of(change);
        assert!(size(&status) <= bounds::LARGEST_STATUS, "{case}: {}", size(&status));
        for path in expected {
            assert!(status.cut.iter().any(|cut| cut == path), "{case}: {:?}", status.cut);
        }
        if case.starts_with("long lists") {
            continue;
        }
        assert_eq!(status.cut, expected, "{case}");
        assert!(size(&status) < LARGEST_RECORD + 1024, "{case}: {}", size(&status));
    }
}

#[test]
fn an_unchanged_object_is_recognized_and_every_change_in_it_is_detected() {
    type Row<'r> = (&'r str, Box<dyn Fn(&mut Connector) + 'r>, bool);
    let wanted = desired(&owner(), connector(|_| ()));
    let untouched = stored(&wanted);
    let expected = Print { digest: wanted.digest.clone(), intact: true, changed_by_others: false };
    assert_eq!(print(&untouched), expected, "also after a round trip through the API server");
    let status = |object: &mut Connector, change: &dyn Fn(&mut ConnectorStatus)| {
        object.status.iter_mut().for_each(change);
    };
    let rows: [Row<'_>; 8] = [
        ("a label", Box::new(|it| it.metadata.labels = Some([("team".into(), "tax".into())].into())), true),
        ("the id", Box::new(|it| it.spec.id = "c-2".into()), false),
        ("the project", Box::new(|it| it.spec.project_ref.name = "other".into()), false),
        ("the owner", Box::new(|it| it.metadata.owner_references = None), false),
        ("the version", Box::new(|it| status(it, &|it| it.version = 4)), false),
        ("a removed text", Box::new(|it| status(it, &|it| it.description = None)), false),
        ("a variable", Box::new(|it| status(it, &|it| it.configurations = None)), false),
        ("the digest", Box::new(|it| status(it, &|it| it.digest = Some("1-0".into()))), false),
    ];
    for (case, change, intact) in rows {
        let mut object = untouched.clone();
        change(&mut object);
        let print = print(&object);
        assert_eq!((print.intact, print.changed_by_others), (intact, !intact), "{case}");
    }
    for (case, digest) in [("just created", None), ("written by another version", Some("0-abc".to_owned()))] {
        let mut object = untouched.clone();
        object.status.iter_mut().for_each(|status| status.digest.clone_from(&digest));
        assert!(!print(&object).intact && !print(&object).changed_by_others, "{case}");
    }
    let other = desired(&Owner { uid: "u-2".into(), ..owner() }, connector(|_| ()));
    assert_ne!(other.digest, wanted.digest, "a recreated project has another digest");
}
