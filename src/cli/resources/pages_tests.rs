//! What `status` and `tree` print, as whole pages.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::branches::Forest;
use super::kind::{Resource, ResourceType};
use super::page::{View, page};
use super::testing::{check, cluster_project, conditions, deployment, project, staged};

fn view(wide: bool) -> View<'static> {
    View { now: "2026-11-23T09:02:00Z".parse::<Timestamp>().expect("a time"), program: "p", wide }
}

#[test]
fn a_deployment_has_a_page() {
    let live = json!({
        "observedGeneration": 3, "conditions": conditions(("True", "Deployed", "")),
        "id": "d-1", "key": "shop_tax",
        "connector": {"id": "c-1", "key": "demo-connector", "version": 2, "tag": "v1.2.0"},
        "remote": {"apiUrl": "https://connect.example.com", "projectKey": "my-shop", "region": "europe-west1.gcp",
            "state": "Deployed", "version": 5},
        "applications": [{"applicationName": "service", "url": "https://service.example.com"}, {"applicationName": "job", "schedule": "* * * * *"}],
        "state": json!({"v": 1, "applied":
            {"generation": 3, "outcome": "Deployed", "serves": true, "at": "2026-11-23T08:32:00Z"}}).to_string(),
    });
    let mut failed = live.clone();
    failed["conditions"] = conditions(("False", "RedeployFailed", "Stalled"));
    failed["report"] =
        json!([{"type": "Error", "title": "Build", "message": "no\u{1b}[2Jway", "applicationName": "service"}]);
    for (case, change, expected) in [
        (
            "not observed",
            json!({"spec": {"connector": {"version": 2}}}),
            "\
ConnectorDeployment shop/tax

Ready:       Unknown: the operator has not observed the resource yet
Running:     nothing
Wanted:      demo-connector, version 2, through project/shop
Next step:   Check that an operator runs and watches the namespace shop: p doctor --namespace shop
",
        ),
        (
            "a failed redeploy",
            json!({
                "metadata": {"generation": 4, "annotations": {"connect-operator.io/redeploy-requested-at": "today"}},
                "spec": {"connector": {"updatePolicy": "Latest"}}, "status": failed,
            }),
            "\
ConnectorDeployment shop/tax

Ready:          False (RedeployFailed) for 2m
Message:        because
Outdated:       this status describes generation 3; the spec has generation 4
Running:        demo-connector version 2 (tag v1.2.0)
Wanted:         demo-connector, always the latest version, through project/shop
Remote:         shop_tax (id d-1) version 5 in project my-shop, region europe-west1.gcp: Deployed
Last applied:   generation 3: Deployed, 30m ago
Applications:   service https://service.example.com
                job * * * * *
Requested:      redeploy (today), not handled yet
Last report:    Error in service: Build: no�[2Jway
Next step:      The last redeploy failed. The code that was deployed before keeps serving, so this is no outage: read status.report, change the value that it names, or request a redeploy.
                p redeploy deployment/tax --namespace shop
",
        ),
        (
            "in progress, and deleted",
            json!({
                "metadata": {"deletionTimestamp": "2026-11-23T09:01:00Z", "finalizers": ["connect-operator.io/finalizer"]},
                "spec": {"managementPolicy": "ObserveOnly"},
                "status": {
                    "observedGeneration": 3, "conditions": conditions(("Unknown", "Undeploying", "Reconciling")),
                    "state": json!({"v": 1, "operation": {"type": "Undeploy", "state": "Accepted", "attempt": 1,
                        "generation": 3, "startedAt": "2026-11-23T09:01:30Z"}}).to_string(),
                },
            }),
            "\
ConnectorDeployment shop/tax

Deletion:    requested 60s ago; finalizers: connect-operator.io/finalizer
Ready:       Unknown (Undeploying) for 2m
Message:     because
Running:     nothing
Wanted:      demo-connector, through project/shop; only observed (managementPolicy: ObserveOnly)
Operation:   Undeploy for 30s, attempt 1: the service has accepted it
Next step:   The deployment is being undeployed.
",
        ),
    ] {
        assert_eq!(page(&deployment(&change), &view(false)), expected, "{case}");
    }
}

#[test]
fn every_other_kind_has_a_page() {
    let staged = staged(&json!({
        "spec": {"suspend": true, "publishAfter": {"deploymentRef": {"name": "kit-preview"}, "checkRefs": [{"name": "cart"}]}},
        "status": {
            "observedGeneration": 3, "conditions": conditions(("False", "Suspended", "Suspended")),
            "id": "s-1", "preview": "Granted", "publishedTag": "v1",
            "remote": {"apiUrl": "https://connect.example.com", "projectKey": "my-shop", "state": "Draft", "version": 4},
            "publishingReport": [{"type": "Warning", "title": "Slow"}],
        },
    }));
    let project = project(&json!({
        "status": {
            "observedGeneration": 3, "conditions": conditions(("True", "Available", "")), "deployments": 2,
            "remote": {"apiUrl": "https://connect.example.com", "projectKey": "my-shop"},
            "lastResponseAt": "2026-11-23T09:01:50Z", "scopes": ["manage_project:my-shop"],
        },
    }));
    let check = check(&json!({
        "spec": {"deploymentRef": {"name": "tax"}},
        "status": {
            "observedGeneration": 3, "conditions": conditions(("False", "CheckFailed", "Stalled")),
            "checkedAt": "2026-11-23T09:00:00Z",
            "state": r#"{"v": 1, "cause": {"generation": 3}, "outcome": "Failed", "httpStatus": 500}"#,
        },
    }));
    for (resource, expected) in [
        (
            staged,
            "\
ConnectorStaged shop/kit

Ready:           False (Suspended) for 2m
Message:         because
Published:       tag v1
Wanted:          tag v2 of https://example.com/kit.git, previewable, published for private projects
Publish after:   deployment/kit-preview, check/cart
Remote:          kit (id s-1) version 4 in project my-shop: Draft, preview permission Granted
Notices:         Suspended: because
Last report:     Warning: Slow
Next step:       Nothing is sent because suspend is true, not even when the resource is deleted: set it to false to go on. To delete the resource and keep what it deployed, set deletionPolicy: Orphan.
                 p resume staged/kit --namespace shop
",
        ),
        (
            project,
            "\
ConnectProject shop/shop

Ready:         True (Available) for 2m
Message:       because
Remote:        my-shop at https://connect.example.com
Wanted:        my-shop in europe-west1.gcp, with the Secret login
Last read:     10s ago
Deployments:   2
Scopes:        manage_project:my-shop
Next step:     Nothing to do.
",
        ),
        (
            check,
            "\
ActionCheck shop/cart

Ready:       False (CheckFailed) for 2m
Message:     because
Wanted:      GET cart/getCart, after deployment/tax
Recorded:    2m ago, HTTP status 500: Failed
Next step:   The response of the action is not as expected, and the operator does not repeat a POST or PUT: correct what the message names, then request a rerun with connect-operator rerun, change the spec, or have the deployment in spec.deploymentRef applied again.
             p rerun check/cart --namespace shop
",
        ),
    ] {
        assert_eq!(page(&resource, &view(false)), expected);
    }
}

#[test]
fn the_next_step_names_the_resource_that_is_in_the_way() {
    let reported = |reason: &str| json!({"status": {"observedGeneration": 3, "conditions": conditions(("False", reason, "Reconciling"))}});
    let by_ref = json!({"spec": {"connector": {"key": null, "stagedRef": {"name": "kit"}}}, "status": reported("StagedNotReady")["status"]});
    let suspended = json!({"spec": {"suspend": true}, "status": {"observedGeneration": 3, "conditions": conditions(("True", "Deployed", ""))}});
    let unverified = json!({"status": {"observedGeneration": 3, "conditions": conditions(("True", "Deployed", "SecretsUnverified"))}});
    for (case, resource, expected) in [
        ("its project", deployment(&reported("ProjectNotReady")), "p status project/shop --namespace shop"),
        (
            "its shared project",
            deployment(&json!({"spec": {"projectRef": {"kind": "ClusterConnectProject", "name": "shared"}},
                "status": reported("ProjectNotReady")["status"]})),
            "p status clusterproject/shared",
        ),
        (
            "a shared project that no operator observes",
            cluster_project(&json!({})),
            "(clusterProjects.enabled of the chart): p doctor",
        ),
        ("its staged connector", deployment(&by_ref), "p status staged/kit --namespace shop"),
        ("its proof", staged(&reported("AwaitingProof")), "p tree staged/kit --namespace shop"),
        ("a pause without a change", deployment(&suspended), "p resume deployment/tax --namespace shop"),
        ("unverified values", deployment(&unverified), "p redeploy deployment/tax --namespace shop"),
    ] {
        let page = page(&resource, &view(false));
        assert!(page.trim_end().ends_with(expected), "{case}: {page}");
    }
}

#[test]
fn a_wide_page_lists_every_condition() {
    let status = json!({"observedGeneration": 3, "conditions": conditions(("False", "SecretMissing", "Reconciling"))});
    let page = page(&deployment(&json!({"status": status})), &view(true));
    let expected = "\
Conditions:   TYPE          STATUS   REASON          AGE   MESSAGE
              Ready         False    SecretMissing   2m    because
              Reconciling   True     SecretMissing   2m    because
";
    assert!(page.contains(expected), "{page}");
}

fn forest() -> Vec<Resource> {
    let ready = |reason: &str| json!({"observedGeneration": 3, "conditions": conditions(("True", reason, ""))});
    let named = |name: &str| json!({"metadata": {"name": name}});
    let mut kit = named("kit-preview");
    kit["spec"] = json!({"connector": {"key": null, "stagedRef": {"name": "kit"}}});
    let mut live = ready("Deployed");
    live["remote"] = json!({"apiUrl": "https://connect.test", "projectKey": "shop", "state": "Deployed"});
    let mut oms = named("oms");
    oms["spec"] = json!({"projectRef": {"name": "nowhere"}, "suspend": true});
    let mut after = named("after-tax");
    after["spec"] = json!({"deploymentRef": {"name": "tax"}, "projectRef": {"name": "shop"}});
    after["status"] = json!({
        "observedGeneration": 3, "conditions": conditions(("True", "CheckPassed", "")),
        "state": r#"{"v": 1, "cause": {"generation": 3}, "outcome": "Passed", "httpStatus": 200}"#,
    });
    let mut of_project = named("of-project");
    of_project["spec"] = json!({"projectRef": {"name": "shop"}});
    let mut other = named("tax");
    other["metadata"]["namespace"] = json!("other");
    vec![
        check(&named("alone")),
        check(&of_project),
        check(&after),
        deployment(&json!({"status": live})),
        deployment(&oms),
        deployment(&other),
        deployment(&kit),
        staged(&json!({"status": ready("Previewable")})),
        project(&json!({"status": ready("Available")})),
    ]
}

#[test]
fn the_tree_shows_what_belongs_to_what() {
    let resources = forest();
    let here: Vec<Resource> = resources.iter().filter(|it| it.namespace() == "shop").cloned().collect();
    assert_eq!(
        Forest::of(&here).text(&view(false), false),
        "\
NAME                                    READY     REASON           STATUS     AGE
ConnectProject/nowhere                  -         does not exist
└─ ConnectorDeployment/oms              Unknown   -                -          62m
ConnectProject/shop                     True      Available        -          62m
├─ ConnectorStaged/kit                  True      Previewable      -          62m
│  └─ ConnectorDeployment/kit-preview   Unknown   -                -          62m
├─ ConnectorDeployment/tax              True      Deployed         Deployed   62m
│  └─ ActionCheck/after-tax             True      CheckPassed      200        62m
└─ ActionCheck/of-project               Unknown   -                -          62m
ActionCheck/alone                       Unknown   -                -          62m
"
    );
    let everywhere = Forest::of(&resources).text(&view(true), true);
    assert!(everywhere.starts_with("NAMESPACE   NAME"), "{everywhere}");
    assert!(everywhere.lines().next().is_some_and(|line| line.ends_with("MESSAGE")), "{everywhere}");
    assert!(everywhere.contains("other       └─ ConnectorDeployment/tax"), "{everywhere}");
    assert!(everywhere.contains("62m   because"), "{everywhere}");
}

#[test]
fn a_shared_project_is_not_taken_for_the_one_of_the_same_name_in_the_namespace() {
    let shared = json!({"metadata": {"name": "oms"},
        "spec": {"projectRef": {"kind": "ClusterConnectProject", "name": "shop"}}});
    let mut elsewhere = shared.clone();
    elsewhere["metadata"]["namespace"] = json!("yard");
    let unused = cluster_project(&json!({"metadata": {"name": "unused"}}));
    let all = [
        deployment(&shared),
        deployment(&elsewhere),
        deployment(&json!({})),
        project(&json!({})),
        unused,
        cluster_project(&json!({})),
    ];
    let first = |forest: &Forest<'_>| -> Vec<String> {
        let text = forest.text(&view(false), false);
        text.lines().skip(1).map(|line| line.split("  ").next().unwrap_or_default().to_owned()).collect()
    };
    let mut forest = Forest::of(&all);
    let own = ["ConnectProject/shop", "└─ ConnectorDeployment/tax"];
    // One tree for all namespaces.
    let used = ["ClusterConnectProject/shop", "├─ ConnectorDeployment/oms", "└─ ConnectorDeployment/oms"];
    assert_eq!(first(&forest), [&own[..], &used[..], &["ClusterConnectProject/unused"]].concat());
    forest.retain_used();
    assert_eq!(first(&forest), [&own[..], &used[..]].concat());
    for (case, resource_type, expected) in
        [("own", ResourceType::Project, &own[..]), ("shared", ResourceType::ClusterProject, &used[..])]
    {
        let mut forest = Forest::of(&all);
        forest.retain(&[(resource_type, "shop".to_owned())]);
        assert_eq!(first(&forest), expected, "{case}");
    }
    // A user who may not list shared projects sees their names.
    let text = Forest::of(&all[..1]).text(&view(false), false);
    assert!(text.contains("ClusterConnectProject/shop") && text.contains("not found, or not readable"), "{text}");
}

#[test]
fn the_page_of_a_shared_project_shows_who_may_use_it() {
    for (case, namespaces, expected) in [
        ("nobody", Value::Null, "Allowed: no namespace"),
        ("everybody", json!({"from": "All"}), "Allowed: every namespace"),
        ("by name", json!({"from": "Names", "names": ["shop", "yard"]}), "Allowed: shop, yard"),
        (
            "by labels",
            json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}, "matchExpressions": [
                {"key": "tier", "operator": "NotIn", "values": ["test", "old"]}, {"key": "live", "operator": "Exists"}]}}),
            "Allowed: those with the labels team=tax,tier notin (old,test),live",
        ),
    ] {
        let page = page(&cluster_project(&json!({"spec": {"allowedNamespaces": namespaces}})), &view(false));
        assert!(page.starts_with("ClusterConnectProject shop\n"), "{case}: {page}");
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{case}: {page}");
    }
}

#[test]
fn a_tree_of_some_shows_what_is_above_and_below_them() {
    let resources = forest();
    let here: Vec<Resource> = resources.into_iter().filter(|it| it.namespace() == "shop").collect();
    for (case, resource_type, name, expected) in [
        ("a deployment", ResourceType::Deployment, "tax", "shop tax after-tax"),
        ("a staged connector", ResourceType::Staged, "kit", "shop kit kit-preview"),
        ("a check", ResourceType::Check, "of-project", "shop of-project"),
        ("a check alone", ResourceType::Check, "alone", "alone"),
        ("a project", ResourceType::Project, "shop", "shop kit kit-preview tax after-tax of-project"),
        ("a deployment without its project", ResourceType::Deployment, "oms", "oms"),
    ] {
        let mut forest = Forest::of(&here);
        forest.retain(&[(resource_type, name.to_owned())]);
        let names: Vec<_> = forest.resources().iter().map(|it| it.name()).collect();
        assert_eq!(names.join(" "), expected, "{case}");
    }
}
