//! The lifecycle of an installation: installed, used, its leader killed, upgraded, rolled back, removed.

use crate::node::Node;
use crate::patience::timeout_option;
use crate::shop::Shop;

const RELEASE: &str = "connect-operator";
const NAMESPACE: &str = "connect-operator";
const CHART: &str = "charts/connect-operator";

/// The label by which a shared project allows a namespace.
const ALLOWED: &str = "connect=shared";

/// An installation of the chart.
struct Installed<'a> {
    node: &'a Node,
    values: Vec<String>,
}

/// With the default values, for all namespaces.
pub(crate) fn with_the_defaults(node: &Node) {
    node.make_restricted_namespace(NAMESPACE);
    let installed = Installed::install(node, &[&hosts(&["shop"])]);
    installed.both_replicas_serve_and_one_leads();
    installed.its_token_has_no_other_rights("shop");
    let shop = Shop::open(node, "shop");
    shop.quickstart();
    assert_eq!((shop.creates(), shop.redeploys()), (1, 0), "live after one create");
    shop.rotate("the-second-token");
    shop.redeployed(1);
    installed.another_replica_takes_over_from_a_deleted_leader_pod();
    shop.rotate("the-third-token");
    shop.redeployed(2);
    installed.changes_version_during_a_redeploy(&shop);
    installed.keeps_all_resources_when_uninstalled(&shop);
    let installed = Installed::install(node, &[&hosts(&["shop"])]);
    installed.is_removed_with_all_its_objects(&shop);
    node.kubectl(&["delete", "namespace", "shop", NAMESPACE]);
}

/// With Roles only in the named namespaces; later with a project that two of them share.
pub(crate) fn in_some_namespaces(node: &Node) {
    node.make_restricted_namespace(NAMESPACE);
    let (watched, other) = (Shop::open(node, "watched"), Shop::open(node, "other"));
    let installed = Installed::install(node, &["watchNamespaces={watched}", &hosts(&["watched", "other"])]);
    node.apply("other", &other.manifests());
    watched.quickstart();
    assert_eq!((watched.creates(), other.creates()), (1, 0), "only the watched namespace is reconciled");
    installed.its_token_has_no_other_rights("watched");
    assert_eq!(installed.may("get", "secrets", "other"), "no");
    node.kubectl(&["--namespace", "watched", "delete", "cdep,ctp", "--all", &timeout_option()]);
    assert_eq!(watched.deployments(), 0, "undeployed");
    node.kubectl(&["--namespace", "other", "delete", "cdep,ctp", "--all", &timeout_option()]);
    installed.shares_a_project(&watched, &other);
    installed.uninstall();
    node.kubectl(&["delete", "namespace", "watched", "other", NAMESPACE]);
    node.kubectl(&["delete", "crd", "--selector=app.kubernetes.io/name=connect-operator"]);
}

fn hosts(namespaces: &[&str]) -> String {
    let hosts: Vec<_> = namespaces.iter().map(|namespace| format!("http://{}", Shop::host(namespace))).collect();
    format!("allowedApiHosts={{{}}}", hosts.join(","))
}

impl<'a> Installed<'a> {
    fn install(node: &'a Node, values: &[&str]) -> Self {
        let image = [format!("image.repository={}", node.repository), format!("image.tag={}", node.tag)];
        let values = image.into_iter().chain(values.iter().map(|value| (*value).to_owned())).collect();
        let installed = Self { node, values };
        let printed = installed.release("install", &[]);
        assert!(printed.contains("ConnectProject"), "the notes name the next step: {printed}");
        installed
    }

    /// Runs `helm install` or `helm upgrade`, until all is ready.
    fn release(&self, what: &str, more: &[&str]) -> String {
        let timeout = timeout_option();
        let mut arguments = vec![what, RELEASE, CHART, "--namespace", NAMESPACE, "--wait", timeout.as_str()];
        for value in self.values.iter().map(String::as_str).chain(more.iter().copied()) {
            arguments.extend(["--set", value]);
        }
        self.node.helm(&arguments)
    }

    fn uninstall(&self) -> String {
        self.node.helm(&["uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", &timeout_option()])
    }

    /// Names of its running pods, without those that terminate.
    fn pods(&self) -> Vec<String> {
        let pods = self.node.get(NAMESPACE, &["pods", "--selector=app.kubernetes.io/name=connect-operator"]);
        let items = pods["items"].as_array().cloned().unwrap_or_default();
        let alive = items.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let running = alive.filter(|pod| pod["status"]["phase"] == "Running");
        running.filter_map(|pod| pod["metadata"]["name"].as_str().map(str::to_owned)).collect()
    }

    /// The pod that holds the Lease, whose holder identity begins with the host name.
    fn leader(&self) -> Option<String> {
        let lease = self.node.get(NAMESPACE, &["lease", RELEASE, "--ignore-not-found"]);
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        self.pods().into_iter().find(|pod| holder.starts_with(pod.as_str()))
    }

    fn both_replicas_serve_and_one_leads(&self) {
        let pods = self.pods();
        assert_eq!(pods.len(), 2, "{pods:?}");
        let leader = self.node.until("leader", |_| self.leader());
        for pod in pods {
            let metrics = self.page(&pod, "metrics", "metrics");
            let leads = format!("connect_operator_leader {}", u8::from(pod == leader));
            assert!(metrics.lines().any(|line| line == leads), "{pod}: {metrics}");
            for page in ["livez", "readyz"] {
                self.page(&pod, "health", page);
            }
        }
    }

    /// What one of its pods serves, through the proxy of the API server.
    fn page(&self, pod: &str, port: &str, page: &str) -> String {
        let number = if port == "metrics" { 8080 } else { 8081 };
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}:{number}/proxy/{page}");
        self.node.kubectl(&["get", "--raw", &path])
    }

    /// Whether its service account has a right.
    fn may(&self, verb: &str, what: &str, namespace: &str) -> String {
        let account = format!("--as=system:serviceaccount:{NAMESPACE}:{RELEASE}");
        let mut command =
            self.node.command("kubectl", &["auth", "can-i", verb, what, &account, "--namespace", namespace]);
        // The exit code is 1 for a no.
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Asserts what a holder of the token of its pods can do.
    fn its_token_has_no_other_rights(&self, shop: &str) {
        for (verb, what, namespace, answer) in [
            ("get", "secrets", shop, "yes"),
            ("create", "secrets", shop, "no"),
            ("delete", "secrets", shop, "no"),
            ("create", "secrets", NAMESPACE, "yes"),
            ("get", "secrets", "kube-system", if shop == "watched" { "no" } else { "yes" }),
            ("create", "connectordeployments.connect-operator.io", shop, "no"),
            ("delete", "connectordeployments.connect-operator.io", shop, "no"),
            ("get", "pods", shop, "no"),
            ("create", "pods", NAMESPACE, "no"),
            ("create", "serviceaccounts/token", NAMESPACE, "no"),
            ("get", "nodes", "", "no"),
            ("create", "clusterrolebindings", "", "no"),
            ("update", "customresourcedefinitions", "", "no"),
            ("impersonate", "users", "", "no"),
        ] {
            assert_eq!(self.may(verb, what, namespace), answer, "{verb} {what} in '{namespace}'");
        }
    }

    /// The kubelet sends SIGTERM first, and the leader releases its Lease; `tests/apiserver/storm/leader_killed.rs` tests `kill
    /// -9`.
    fn another_replica_takes_over_from_a_deleted_leader_pod(&self) {
        let leader = self.node.until("leader", |_| self.leader());
        self.node.kubectl(&["--namespace", NAMESPACE, "delete", "pod", &leader, "--force", "--grace-period=0"]);
        self.node.until("other leader", |_| self.leader().filter(|other| *other != leader));
        self.node.kubectl(&[
            "--namespace",
            NAMESPACE,
            "rollout",
            "status",
            "deployment/connect-operator",
            &timeout_option(),
        ]);
    }

    /// An upgrade and a rollback in the middle of a redeploy: each change is deployed once.
    fn changes_version_during_a_redeploy(&self, shop: &Shop<'_>) {
        let before = shop.redeploys();
        shop.rotate("the-token-of-an-upgrade");
        self.release("upgrade", &["podAnnotations.upgraded=once", "logFormat=text"]);
        shop.redeployed(before + 1);
        shop.rotate("the-token-of-a-rollback");
        self.node.helm(&["rollback", RELEASE, "--namespace", NAMESPACE, "--wait", &timeout_option()]);
        shop.redeployed(before + 2);
        assert_eq!((shop.creates(), shop.redeploys()), (1, before + 2), "one redeploy for each change, and no other");
    }

    /// `helm uninstall` removes only the operator, and says so; a new installation continues where it ended.
    fn keeps_all_resources_when_uninstalled(&self, shop: &Shop<'_>) {
        let before = (shop.creates(), shop.redeploys());
        let printed = self.uninstall();
        assert!(printed.contains("kept") && printed.contains("connectordeployments"), "{printed}");
        assert_eq!(self.node.get(shop.namespace, &["cdep", "tax"])["status"]["remote"]["state"], "Deployed");
        assert_eq!(shop.deployments(), 1, "still live");
        let again = Self::install(self.node, &self.values.iter().map(String::as_str).collect::<Vec<_>>());
        self.node.until("leader", |_| again.leader());
        shop.rotate("the-token-after-an-installation");
        shop.redeployed(before.1 + 1);
        assert_eq!((shop.creates(), shop.redeploys()), (before.0, before.1 + 1));
        again.uninstall();
    }

    /// A `ClusterConnectProject` that one namespace may use by its name, and another while it has a label.
    fn shares_a_project(&self, named: &Shop<'_>, labelled: &Shop<'_>) {
        let watched = format!("watchNamespaces={{{},{}}}", named.namespace, labelled.namespace);
        self.release("upgrade", &["clusterProjects.enabled=true", &watched]);
        for (verb, what, namespace, answer) in [
            ("list", "namespaces", "", "yes"),
            ("get", "secrets", "kube-system", "no"),
            ("create", "clusterconnectprojects.connect-operator.io", "", "no"),
            ("delete", "clusterconnectprojects.connect-operator.io", "", "no"),
        ] {
            assert_eq!(self.may(verb, what, namespace), answer, "{verb} {what} in '{namespace}'");
        }
        let before = (named.creates(), labelled.creates());
        self.node.apply(NAMESPACE, &named.shared_project(NAMESPACE, ALLOWED));
        self.node.kubectl(&["label", "namespace", named.namespace, ALLOWED]);
        labelled.apply_shared_deployment("info");
        labelled.until_reason("ProjectNotAllowed");
        named.apply_shared_deployment("info");
        named.ready();
        assert_eq!((named.creates(), labelled.creates()), (before.0 + 1, before.1), "only for the allowed namespace");

        self.node.kubectl(&["label", "namespace", labelled.namespace, ALLOWED]);
        labelled.ready();
        assert_eq!((named.creates(), named.deployments()), (before.0 + 2, 2));

        let redeploys = named.redeploys();
        let label = ALLOWED.split_once('=').map(|(key, _)| format!("{key}-")).expect("a key and a value");
        self.node.kubectl(&["label", "namespace", labelled.namespace, &label]);
        labelled.until_reason("ProjectNotAllowed");
        labelled.apply_shared_deployment("debug");
        labelled.until_reason("ProjectNotAllowed");
        assert_eq!(named.redeploys(), redeploys, "nothing is sent without the label");
        self.node.kubectl(&["label", "namespace", labelled.namespace, ALLOWED]);
        labelled.ready();
        assert_eq!(named.redeploys(), redeploys + 1, "the change is sent once");

        for shop in [named, labelled] {
            self.node.kubectl(&["--namespace", shop.namespace, "delete", "cdep", "--all", &timeout_option()]);
        }
        assert_eq!(named.deployments(), 0, "undeployed");
        self.node.kubectl(&["delete", "cctp", "--all", &timeout_option()]);
    }

    /// The commands of docs/operations/uninstall.md, in order.
    fn is_removed_with_all_its_objects(&self, shop: &Shop<'_>) {
        let kinds = "connectordeployments,connectorstageds,actionchecks";
        self.node.kubectl(&["delete", kinds, "--all", "--all-namespaces", &timeout_option()]);
        self.node.kubectl(&["delete", "connectprojects", "--all", "--all-namespaces", &timeout_option()]);
        assert_eq!(shop.deployments(), 0, "undeployed");
        self.uninstall();
        self.node.kubectl(&["delete", "crd", "--selector=app.kubernetes.io/name=connect-operator"]);
        let left = self.node.get("", &["crd", "--selector=app.kubernetes.io/name=connect-operator"]);
        assert_eq!(left["items"], serde_json::json!([]), "no kind is left");
        // Its own Secret and Lease stay for a later installation; docs/operations/uninstall.md names them.
        let left = self.node.get(NAMESPACE, &["secrets,leases"]);
        let left = left["items"].as_array().cloned().unwrap_or_default();
        let left: Vec<_> = left.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
        assert_eq!(left, ["connect-operator-digest-key", RELEASE], "only these two, and no copy of credentials");
    }
}
