//! What `ARCHITECTURE.md` says that no code does, each line as a test over the sources. An exception needs a reason.

use std::collections::BTreeMap;

use crate::sources::{self, Source};

/// A file or folder of `src/` that may do what others must not, and why.
type Exception = (&'static str, &'static str);

/// Who may use whom: arrows point upwards in this list, never down.
const MAY_USE: &[(&str, &[&str])] = &[
    ("names", &[]),
    ("clock", &[]),
    ("telemetry", &[]),
    ("crd", &["names"]),
    ("connect", &["clock", "names"]),
    ("leader", &["names", "clock", "connect"]),
    ("metrics", &["clock", "connect"]),
    ("controllers", &["names", "clock", "crd", "connect", "leader", "metrics"]),
    ("dev_server", &["clock", "connect"]),
    ("local_cluster", &["clock"]),
    (
        "cli",
        &[
            "names",
            "clock",
            "telemetry",
            "crd",
            "connect",
            "leader",
            "metrics",
            "controllers",
            "dev_server",
            "local_cluster",
        ],
    ),
    ("lib", &[]),
    ("main", &[]),
];

/// What every pure file keeps away from: waiting, the cluster, the network, files, and the clock itself.
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

/// Files and folders that are pure: they take values and return a value; time is an argument.
const PURE: &[&str] = &[
    "controllers/action_check/decide",
    "controllers/action_check/desired",
    "controllers/action_check/expect",
    "controllers/action_check/status",
    "controllers/connector/decide",
    "controllers/connector/desired",
    "controllers/connector/names",
    "controllers/connector/status",
    "controllers/connector_deployment/decide",
    "controllers/connector_deployment/desired",
    "controllers/connector_deployment/intent",
    "controllers/connector_deployment/preflight",
    "controllers/connector_deployment/registered",
    "controllers/connector_deployment/ledger",
    "controllers/connector_deployment/status",
    "controllers/connector_deployment/stored",
    "controllers/connector_staged/decide",
    "controllers/connector_staged/desired",
    "controllers/connector_staged/intent",
    "controllers/connector_staged/ledger",
    "controllers/connector_staged/status",
    "controllers/connector_staged/stored",
    "controllers/operations",
    "controllers/backoff",
    "controllers/changes",
    "controllers/report",
    "controllers/sources",
    "controllers/connect_project/status",
    "controllers/conditions",
    "controllers/digest",
    "controllers/keys/claim",
    "controllers/keys/entry",
    "controllers/lists",
    "controllers/problem",
    "controllers/reason",
    "controllers/values",
    "controllers/remote/gate",
    "controllers/remote/plan",
    "controllers/remote/turns",
    "controllers/remote/view",
    "leader/election",
    "leader/others",
    "leader/scope",
    "leader/selector",
    "connect/action",
    "connect/hosts",
    "connect/http/answer",
    "connect/mask",
    "connect/model",
    "connect/registry",
    "connect/routes",
    "metrics/families",
    "metrics/labels",
    "dev_server/actions/cart",
    "dev_server/actions/query",
    "dev_server/actions/request",
    "dev_server/actions/template",
    "dev_server/world",
    "dev_server/build",
    "dev_server/checks",
    "dev_server/staged",
    "dev_server/values",
    "dev_server/variant",
    "crd",
    "cli/plan/difference",
    "cli/plan/forecast",
];

/// Files that `rule` is about, with the phrases in them that must not be there; exceptions left out.
fn found(rule: impl Fn(&Source) -> bool, phrases: &[&str], exceptions: &[Exception]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources::all().iter().filter(|source| rule(source)) {
        let exception = exceptions.iter().position(|(place, _)| source.is_below(place));
        for phrase in phrases {
            match exception {
                Some(at) => used[at] |= source.says(phrase),
                None if source.says(phrase) => found.push(format!("src/{}: {phrase}", source.path)),
                None => {}
            }
        }
    }
    let idle: Vec<_> = exceptions.iter().zip(used).filter(|(_, used)| !used).map(|((place, _), _)| place).collect();
    assert!(idle.is_empty(), "exceptions that nothing needs any more: {idle:?}");
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
    for source in sources::all() {
        let here = MAY_USE.iter().find(|(module, _)| source.is_below(module));
        let (module, allowed) = here.unwrap_or_else(|| panic!("src/{} is in no module of the list", source.path));
        *seen.entry(module).or_default() += 1;
        for name in source.uses_of("crate") {
            let known = MAY_USE.iter().any(|(module, _)| *module == name);
            if known && name != *module && !allowed.contains(&name) {
                wrong.push(format!("src/{}: {module} uses {name}", source.path));
            }
        }
    }
    assert_eq!(wrong, NOWHERE);
    assert_eq!(seen.len(), MAY_USE.len(), "every module of the list is there: {seen:?}");
}

#[test]
fn the_dev_server_uses_nothing_of_controllers() {
    let rule = |source: &Source| source.is_below("dev_server");
    assert_eq!(found(rule, &["controllers", "crd", "kube", "k8s_openapi"], &[]), NOWHERE);
}

#[test]
fn connect_knows_nothing_of_kubernetes() {
    let rule = |source: &Source| source.is_below("connect");
    assert_eq!(found(rule, &["kube", "k8s_openapi", "crd", "controllers"], &[]), NOWHERE);
}

#[test]
fn controllers_see_the_remote_only_as_a_trait() {
    let exceptions = &[
        ("controllers/action_factory", "it makes the client"),
        ("controllers/connect_factory", "it makes the client"),
    ];
    let rule = |source: &Source| source.is_below("controllers");
    assert_eq!(found(rule, &["HttpConnect", "reqwest", "connect :: http", "axum"], exceptions), NOWHERE);
}

#[test]
fn the_shared_view_of_a_remote_knows_nothing_of_kubernetes() {
    let rule = |source: &Source| source.is_below("controllers/remote");
    assert_eq!(found(rule, &["kube", "k8s_openapi", "crd"], &[]), NOWHERE);
}

#[test]
fn decide_knows_neither_kubernetes_nor_the_connect_api() {
    let rule = |source: &Source| {
        source.is_below("controllers/connector_deployment/decide")
            || source.is_below("controllers/connector_staged/decide")
    };
    let foreign = ["kube", "k8s_openapi", "connect", "crd", "serde", "serde_json"];
    assert_eq!(found(rule, &foreign, &[]), NOWHERE);
}

#[test]
fn clients_are_made_where_their_hosts_are_guarded() {
    let exceptions = &[
        ("connect/http/connection", "it guards names, follows no redirects and repeats nothing"),
        ("controllers/connection", "the API server's own client, with limits"),
        ("leader/fenced", "the API server's own client, behind a fence"),
        ("local_cluster/download", "one published archive, whose bytes must have a sum that is part of the program"),
        (
            "dev_server/applications",
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
    assert_eq!(missing, Vec::<&&str>::new(), "pure places that are not there any more");
}

#[test]
fn only_the_clock_reads_the_time() {
    let exceptions = &[("clock", "it is the clock"), ("cli/dev_server", "where a stepped clock starts")];
    let phrases = ["Timestamp :: now", "Instant :: now", "SystemTime :: now", "Zoned :: now"];
    assert_eq!(found(anywhere, &phrases, exceptions), NOWHERE);
}

#[test]
fn only_the_clock_waits() {
    let exceptions = &[
        ("clock", "it is the clock"),
        ("connect/http/wire", "silence of a real socket, which no stepped clock can break"),
        ("controllers/connection", "silence of a real socket"),
        ("dev_server/answers", "a body that never ends must not fill the memory of its reader at once"),
        ("dev_server/http", "answers that come late, to real sockets"),
        ("dev_server/repositories", "a real process, which has to answer"),
        ("dev_server/server", "connections that do not end when they are asked to"),
        ("cli/run", "before the controllers and their clock start, and real sockets of slow clients"),
        ("cli/demo", "a demo on a real machine, before people's eyes"),
        ("local_cluster/guardian", "a real process, which has to end"),
        ("local_cluster/mod", "a real process, which has to answer"),
        ("local_cluster/running_build", "real processes, which have to end before a destructor does"),
    ];
    let phrases = ["tokio :: time", "thread :: sleep"];
    assert_eq!(found(anywhere, &phrases, exceptions), NOWHERE);
}

#[test]
fn only_act_changes_the_remote() {
    let exceptions = &[
        ("controllers/connector_deployment/act", "it does what was decided"),
        ("controllers/connector_staged/act", "it does what was decided"),
        ("controllers/remote/door", "it hands each call on, behind the gate"),
    ];
    let rule = |source: &Source| source.is_below("controllers");
    let changes = [". create ( & draft", ". create ( draft", ". redeploy (", ". undeploy ("];
    let of_staged = [". stage (", "changes . update (", "client . update (", ". discard ("];
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
        ("connect/http/call", "opened for as long as one call takes, to mask its answer"),
        ("controllers/connector_deployment/desired", "keys of secured values, not the values"),
        ("controllers/connector_deployment/ledger", "names of secured values, not the values"),
        ("crd/connector_deployment_status", "names of secured values with their keyed digests, not the values"),
        ("crd/connect_project", "the name of an entry of a Secret, not its value"),
        ("cli/plan/mod", "the name of a Secret"),
        ("cli/run", "the name of a Secret"),
        ("dev_server/catalogue", "secrets of the dev server, which are public"),
        ("dev_server/logs", "a token for the next page"),
        ("dev_server/tokens", "tokens of the dev server, which are good for nothing else"),
    ];
    let mut wrong = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources::all() {
        let open = open_secrets(source);
        match exceptions.iter().position(|(place, _)| source.is_below(place)) {
            Some(at) => used[at] |= !open.is_empty(),
            None => wrong.extend(open.iter().map(|name| format!("src/{}: {name}", source.path))),
        }
    }
    assert_eq!(wrong, NOWHERE);
    assert!(!used.contains(&false), "exceptions that nothing needs any more: {used:?}");
}

/// Members and arguments that are called after something secret and are ordinary text.
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
        // The key of a map may be text.
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
        ("connect/action", "sent as headers of an action, and masked in its answer"),
        ("connect/mask", "what is hidden in texts of the service"),
        ("connect/model/values", "written into the body of a request"),
        ("connect/http/call", "what is masked in the answers to a call"),
        ("connect/http/mod", "what is masked in the answers to every call"),
        ("connect/http/token", "sent to the token endpoint, and as a bearer token"),
        ("controllers/digest", "digests of all values"),
        ("controllers/connector_deployment/desired", "Secrets become values, which must be UTF-8"),
        ("controllers/connector_deployment/run", "what is masked in texts of the service"),
        ("controllers/remote/settings", "whether credentials have changed"),
        ("dev_server/values", "fingerprints of what was sent"),
        ("local_cluster/identity", "the token of a cluster that lives as long as this process"),
    ];
    assert_eq!(found(anywhere, &["expose_secret", "ExposeSecret"], exceptions), NOWHERE);
}

#[test]
fn secrets_are_read_in_one_place() {
    let exceptions = &[
        ("controllers/secret", "it is the place"),
        ("controllers/digest_key", "makes the key, and hides what is quoted"),
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
                silent.push(format!("src/{}: {text}", source.path));
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
    let mut elsewhere = Vec::new();
    for source in sources::all().iter().filter(|source| !exceptions.iter().any(|(place, _)| source.is_below(place))) {
        let ours = source.words.iter().filter(|word| word.starts_with('"') && word.contains("connect-operator.io"));
        elsewhere.extend(ours.map(|word| format!("src/{}: {word}", source.path)));
    }
    assert_eq!(elsewhere, NOWHERE);
}

#[test]
fn standard_output_belongs_to_the_command_line() {
    let exceptions = &[("cli", "results go to standard output, messages to standard error")];
    assert_eq!(found(anywhere, &["println !", "print !", "eprintln !", "eprint !"], exceptions), NOWHERE);
}

#[test]
fn every_file_says_what_it_is_for() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let silent: Vec<_> = sources::all()
        .iter()
        .filter(|source| !std::fs::read_to_string(root.join(&source.path)).unwrap().starts_with("//! "))
        .map(|source| source.path.clone())
        .collect();
    assert_eq!(silent, NOWHERE);
}
