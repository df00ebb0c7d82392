//! The rules of `ARCHITECTURE.md` about what no code does, each as a test over the sources. An exception needs a
//! reason.

use std::collections::BTreeMap;

use crate::sources::{self, Source};

/// A file or folder of `src/` that may break a rule, and why.
type Exception = (&'static str, &'static str);

/// Which module of the operator may use which other module, and which other crate of the workspace; the dependencies of
/// those crates are in their `Cargo.toml`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("names", &[]),
    ("mutex", &[]),
    ("error_text", &[]),
    ("telemetry", &["clock", "connect_api"]),
    ("crd", &["names"]),
    ("leader", &["names", "error_text", "clock", "connect_api"]),
    ("metrics", &["mutex", "clock", "connect_api"]),
    ("operator", &["names", "mutex", "error_text", "clock", "crd", "connect_api", "leader", "metrics"]),
    (
        "cli",
        &[
            "names",
            "mutex",
            "error_text",
            "clock",
            "telemetry",
            "crd",
            "connect_api",
            "leader",
            "metrics",
            "operator",
            "dev_server",
            "local_control_plane",
        ],
    ),
    ("lib", &[]),
    ("main", &["cli"]),
];

/// The other crates of the workspace.
const CRATES: [&str; 4] = ["clock", "connect_api", "dev_server", "local_control_plane"];

/// What no pure file uses: waiting, the cluster, the network, files, and the clock itself.
const IO: &[&str] = &[
    "async",
    ". await",
    "kube :: Client",
    "kube :: Api",
    "kube :: api :: Api",
    "Api <",
    "tokio ::",
    "reqwest ::",
    "std :: fs",
    "TcpStream",
    "TcpListener",
    "std :: env",
    "std :: process",
    "std :: thread",
    "Clock",
    "rand ::",
    "tracing ::",
];

/// Pure files and folders: they take values and return a value; time is an argument.
const PURE: &[&str] = &[
    "operator/cluster/queue/fair_queue",
    "operator/check/decide",
    "operator/check/desired",
    "operator/check/expect",
    "operator/check/status",
    "operator/deployment/decide",
    "operator/deployment/declared",
    "operator/deployment/desired",
    "operator/deployment/intent",
    "operator/deployment/preflight",
    "operator/deployment/registered",
    "operator/deployment/persisted",
    "operator/deployment/status",
    "operator/deployment/state",
    "operator/staged/call",
    "operator/staged/decide",
    "operator/staged/desired",
    "operator/staged/intent",
    "operator/staged/observed",
    "operator/staged/outcome",
    "operator/staged/proof",
    "operator/staged/state",
    "operator/staged/status",
    "operator/cluster/queue/backoff",
    "operator/reporting/service_report",
    "operator/cluster/references/sources",
    "operator/project/status",
    "operator/reporting/conditions",
    "operator/values/digest",
    "operator/cluster/keys/claim",
    "operator/cluster/permissions",
    "operator/reporting/problem",
    "operator/reporting/reason",
    "operator/deployment/kind",
    "operator/deployment/reconcile/sent",
    "operator/staged/kind",
    "operator/reporting/observed_record",
    "operator/reporting/outage",
    "operator/reporting/reconcile_outcome",
    "operator/values",
    "operator/remote/circuit_breaker",
    "operator/remote/records",
    "leader/election",
    "leader/scope",
    "leader/selector",
    "connect-api/action",
    "connect-api/hosts",
    "connect-api/http/answer",
    "connect-api/mask",
    "connect-api/model",
    "connect-api/registry",
    "connect-api/routes",
    "metrics/families",
    "metrics/labels",
    "dev-server/actions/cart",
    "dev-server/actions/query",
    "dev-server/action_route",
    "dev-server/actions/request",
    "dev-server/actions/template",
    "dev-server/world",
    "dev-server/build",
    "dev-server/catalogue",
    "dev-server/checks",
    "dev-server/retry_policy",
    "dev-server/staged",
    "dev-server/values",
    "dev-server/variant",
    "crd",
    "cli/plan/difference",
    "cli/plan/simulation",
    "cli/plan/staged",
    "cli/commands/template",
    "cli/resources/advice",
    "cli/resources/argument",
    "cli/resources/branches",
    "cli/resources/change",
    "cli/resources/doctor/finding",
    "cli/resources/doctor/install",
    "cli/resources/doctor/reported",
    "cli/resources/facts",
    "cli/resources/failure",
    "cli/resources/output",
    "cli/resources/page",
    "cli/resources/progress",
    "cli/text",
];

/// Returns the files that `rule` selects with the forbidden phrases that they contain, except for the exceptions.
fn found(rule: impl Fn(&Source) -> bool, phrases: &[&str], exceptions: &[Exception]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources::all().iter().filter(|source| rule(source)) {
        let exception = exceptions.iter().position(|(place, _)| source.is_below(place));
        for phrase in phrases {
            match exception {
                Some(at) => used[at] |= source.says(phrase),
                None if source.says(phrase) => found.push(format!("{}: {phrase}", source.path)),
                None => {}
            }
        }
    }
    let idle: Vec<_> = exceptions.iter().zip(used).filter(|(_, used)| !used).map(|((place, _), _)| place).collect();
    assert!(idle.is_empty(), "unused exceptions: {idle:?}");
    found
}

fn anywhere(_: &Source) -> bool {
    true
}

const NOWHERE: Vec<String> = Vec::new();

#[test]
fn arrows_of_use_point_upwards() {
    let mut wrong = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let of_a_crate = |source: &Source| CRATES.iter().any(|name| source.is_below(&name.replace('_', "-")));
    for source in sources::all().iter().filter(|source| !of_a_crate(source)) {
        let here = MAY_USE.iter().find(|(module, _)| source.is_below(module));
        let (module, allowed) = here.unwrap_or_else(|| panic!("src/{} is in no listed module", source.path));
        *seen.entry(module).or_default() += 1;
        let modules = source.uses_of("crate").into_iter().filter(|name| MAY_USE.iter().any(|(known, _)| known == name));
        let crates = CRATES.into_iter().filter(|name| !source.uses_of(name).is_empty());
        let used = modules.chain(crates).filter(|name| name != module && !allowed.contains(name));
        wrong.extend(used.map(|name| format!("{}: {module} uses {name}", source.path)));
    }
    assert_eq!(wrong, NOWHERE);
    assert_eq!(seen.len(), MAY_USE.len(), "every listed module exists: {seen:?}");
}

#[test]
fn controllers_see_the_remote_only_as_a_trait() {
    let exceptions = &[
        ("operator/clients/action_factory", "it creates the client"),
        ("operator/clients/connect_factory", "it creates the client"),
    ];
    let rule = |source: &Source| source.is_below("operator");
    assert_eq!(found(rule, &["HttpConnect", "reqwest", "connect_api :: http", "axum"], exceptions), NOWHERE);
}

#[test]
fn the_shared_view_of_a_remote_knows_nothing_of_kubernetes() {
    let rule = |source: &Source| source.is_below("operator/remote");
    assert_eq!(found(rule, &["kube", "k8s_openapi", "crd"], &[]), NOWHERE);
}

#[test]
fn decide_knows_neither_kubernetes_nor_the_connect_api() {
    let rule =
        |source: &Source| source.is_below("operator/deployment/decide") || source.is_below("operator/staged/decide");
    let foreign = ["kube", "k8s_openapi", "connect_api", "crd", "serde", "serde_json"];
    assert_eq!(found(rule, &foreign, &[]), NOWHERE);
}

#[test]
fn clients_are_made_where_their_hosts_are_guarded() {
    let exceptions = &[
        ("connect-api/http/connection", "it guards names, follows no redirects and repeats nothing"),
        ("operator/clients/kube_client", "the API server's own client, with limits"),
        ("leader/fenced", "the API server's own client, behind a fence"),
        ("cli/plan/overlay", "the API server's own client, and one of no cluster"),
        (
            "local-control-plane/download",
            "one published archive, whose bytes must have a sum that is part of the program",
        ),
        (
            "dev-server/applications",
            "it calls processes on this machine that the command line named, by their addresses",
        ),
    ];
    let phrases = ["Client :: builder", "Client :: new", "ClientBuilder :: new", "reqwest :: get"];
    assert_eq!(found(anywhere, &phrases, exceptions), NOWHERE);
}

#[test]
fn what_is_pure_does_no_io() {
    let rule = |source: &Source| PURE.iter().any(|place| source.is_below(place));
    assert_eq!(found(rule, IO, &[]), NOWHERE);
    let sources = sources::all();
    let missing: Vec<_> = PURE.iter().filter(|place| !sources.iter().any(|source| source.is_below(place))).collect();
    assert_eq!(missing, Vec::<&&str>::new(), "pure places that do not exist any more");
}

#[test]
fn only_the_clock_reads_the_time() {
    let exceptions = &[("clock/lib", "it is the clock"), ("cli/dev_server", "where a stepped clock starts")];
    let phrases = ["Timestamp :: now", "Instant :: now", "SystemTime :: now", "Zoned :: now"];
    assert_eq!(found(anywhere, &phrases, exceptions), NOWHERE);
}

#[test]
fn only_the_clock_waits() {
    let exceptions = &[
        ("clock/lib", "it is the clock"),
        ("connect-api/http/connection", "the time limit of a real socket, which no stepped clock can end"),
        ("connect-api/resolver", "the time limit of a real lookup"),
        ("operator/clients/kube_client", "the time limit of a real socket"),
        ("dev-server/answers", "a body that never ends must not fill the memory of its reader at once"),
        ("dev-server/http", "answers that come late, to real sockets"),
        ("dev-server/repositories", "a real process, which has to answer"),
        ("dev-server/server", "connections that do not end when they are asked to"),
        ("cli/run", "before the controllers and their clock start, and real sockets of slow clients"),
        ("cli/demo", "a demo on a real machine, with users watching"),
        ("local-control-plane/guardian", "a real process, which has to end"),
        ("local-control-plane/lib", "a real process, which has to answer"),
        ("local-control-plane/running_build", "real processes, which have to end before a destructor does"),
    ];
    let phrases = ["tokio :: time", "thread :: sleep"];
    assert_eq!(found(anywhere, &phrases, exceptions), NOWHERE);
}

#[test]
fn only_act_changes_the_remote() {
    let exceptions = &[
        ("operator/deployment/act", "it executes the decision"),
        ("operator/staged/act", "it executes the decision"),
        ("operator/remote/guarded_client", "it passes each call on, behind the circuit breaker"),
    ];
    let rule = |source: &Source| source.is_below("operator");
    let changes = [". create ( & draft", ". create ( draft", ". redeploy (", ". undeploy ("];
    let of_staged = [". stage (", "api . update (", "client . update (", ". discard ("];
    assert_eq!(found(rule, &[changes, of_staged].concat(), exceptions), NOWHERE);
}

#[test]
fn plan_writes_nothing() {
    let rule = |source: &Source| source.is_below("cli/plan");
    let writes =
        [". create (", ". replace (", ". patch (", ". patch_status (", ". delete (", ". redeploy (", ". undeploy ("];
    let exceptions = &[("cli/plan/dry_run", "each of its requests is a dry run")];
    assert_eq!(found(rule, &writes, exceptions), NOWHERE);
    let dry_run = sources::all().iter().find(|source| source.is_below("cli/plan/dry_run")).unwrap();
    assert!(dry_run.says("dry_run : true") && !dry_run.says("dry_run : false"));
}

#[test]
fn secured_values_are_secret_strings() {
    let exceptions: &[Exception] = &[
        ("connect-api/http/call", "opened for as long as one call takes, to mask its answer"),
        ("operator/values/names", "names of secured values, not the values"),
        ("crd/connect_project", "the name of an entry of a Secret, not its value"),
        ("cli/run", "the name of a Secret"),
        ("dev-server/catalogue", "secrets of the dev server, which are public"),
        ("dev-server/logs", "a token for the next page"),
        ("dev-server/tokens", "tokens of the dev server, which are good for nothing else"),
    ];
    let mut wrong = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources::all() {
        let open = open_secrets(source);
        match exceptions.iter().position(|(place, _)| source.is_below(place)) {
            Some(at) => used[at] |= !open.is_empty(),
            None => wrong.extend(open.iter().map(|name| format!("{}: {name}", source.path))),
        }
    }
    assert_eq!(wrong, NOWHERE);
    assert!(!used.contains(&false), "unused exceptions: {used:?}");
}

/// Returns members and arguments whose name suggests a secret and whose type is plain text.
fn open_secrets(source: &Source) -> Vec<&str> {
    let mut open = Vec::new();
    for (at, words) in source.words.windows(2).enumerate() {
        let name = words[0].as_str();
        let secret = ["secret", "secured", "password", "access_token"].iter().any(|part| name.contains(part));
        if words[1] != ":" || !(secret || name == "token") {
            continue;
        }
        let ends = [",", ")", "}", ";", "="];
        let kind = &source.words[at + 2..];
        // The key of a map may be plain text.
        let kind = if kind.first().is_some_and(|word| word == "BTreeMap") { &kind[4..] } else { kind };
        let mut kind = kind.iter().take_while(|word| !ends.contains(&word.as_str()));
        if kind.any(|word| word == "String" || word == "str") {
            open.push(name);
        }
    }
    open
}

#[test]
fn secured_values_are_opened_in_few_places() {
    let exceptions = &[
        ("connect-api/action", "sent as headers of an action, and masked in its answer"),
        ("connect-api/mask", "what is hidden in texts of the service"),
        ("connect-api/model/values", "written into the body of a request"),
        ("connect-api/http/call", "what is masked in the answers to a call"),
        ("connect-api/http/mod", "what is masked in the answers to every call"),
        ("connect-api/http/token", "sent to the token endpoint, and as a bearer token"),
        ("operator/values/digest", "digests of all values"),
        ("operator/deployment/declared", "whether a value is empty"),
        ("operator/deployment/desired", "Secrets become values, which must be UTF-8"),
        ("operator/deployment/reconcile", "what is masked in texts of the service"),
        ("operator/remote/settings", "whether credentials have changed"),
        ("dev-server/values", "fingerprints of what was sent"),
        ("local-control-plane/identity", "the token of a cluster that lives as long as this process"),
    ];
    assert_eq!(found(anywhere, &["expose_secret", "ExposeSecret"], exceptions), NOWHERE);
}

#[test]
fn secrets_are_read_in_one_place() {
    let exceptions = &[
        ("operator/cluster/objects/secret", "it is the place"),
        ("operator/cluster/objects/digest_key", "makes the key, and hides what is quoted"),
    ];
    assert_eq!(found(anywhere, &["Api :: < Secret >"], exceptions), NOWHERE);
}

#[test]
fn nothing_panics_on_purpose() {
    let phrases = [
        ". unwrap (",
        ". unwrap_err (",
        "panic !",
        "unreachable !",
        "todo !",
        "unimplemented !",
        "dbg !",
        "assert !",
        "assert_eq !",
        "unsafe",
    ];
    assert_eq!(found(anywhere, &phrases, &[]), NOWHERE);
}

#[test]
fn an_expectation_says_what_holds() {
    let mut silent = Vec::new();
    for source in sources::all() {
        for words in source.words.windows(4).filter(|words| words[..3] == [".", "expect", "("]) {
            let text = &words[3];
            if !text.starts_with('"') || text.split(' ').count() < 3 {
                silent.push(format!("{}: {text}", source.path));
            }
        }
    }
    assert_eq!(silent, NOWHERE);
}

#[test]
fn names_of_our_own_stand_in_names() {
    let exceptions = [
        ("names", "it is the place"),
        ("crd/action_check", "an attribute of a derive takes literals only; a test compares it"),
        ("crd/connect_project", "an attribute of a derive takes literals only; a test compares it"),
        ("crd/connector", "an attribute of a derive takes literals only; a test compares it"),
        ("crd/connector_deployment", "an attribute of a derive takes literals only; a test compares it"),
    ];
    let mut misplaced = Vec::new();
    for source in sources::all().iter().filter(|source| !exceptions.iter().any(|(place, _)| source.is_below(place))) {
        let ours = source.words.iter().filter(|word| word.starts_with('"') && word.contains("connect-operator.io"));
        misplaced.extend(ours.map(|word| format!("{}: {word}", source.path)));
    }
    assert_eq!(misplaced, NOWHERE);
}

/// They panic if nobody reads what they print; `cli/printing.rs` does not.
#[test]
fn nothing_prints_with_the_macros_that_panic() {
    assert_eq!(found(anywhere, &["println !", "print !", "eprintln !", "eprint !"], &[]), NOWHERE);
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources::all()
        .iter()
        .filter(|source| !std::fs::read_to_string(&source.file).unwrap().starts_with("//! "))
        .map(|source| source.path.clone())
        .collect();
    assert_eq!(silent, NOWHERE);
}
