//! The rules of `ARCHITECTURE.md` about what no code does, each as a row over the sources. An exception needs a reason.

use crate::sources::{self, Source};

/// A file or folder of `src/` that may break a rule, and why.
type Exception = (&'static str, &'static str);

/// A rule: its name, the files and folders for which it holds (none: all), what no code there says, separated by commas,
/// and its exceptions.
type Rule = (&'static str, &'static [&'static str], &'static str, &'static [Exception]);

/// The modules of the operator: each uses only itself and those before its line.
const LAYERS: [&[&str]; 5] = [
    &["names", "mutex", "error_text", "telemetry"],
    &["crd", "leader", "metrics"],
    &["operator"],
    &["cli"],
    &["lib", "main"],
];

/// The crates of the workspace, and those that only the command line uses.
const CRATES: [&str; 4] = ["clock", "connect-api", "dev-server", "local-control-plane"];
const OF_THE_COMMAND_LINE: [&str; 2] = ["dev_server", "local_control_plane"];

const RULES: &[Rule] = &[
    (
        "controllers see the remote only as a trait",
        &["operator"],
        "HttpConnect, reqwest, connect_api :: http, axum",
        &[
            ("operator/clients/action_factory", "it creates the client"),
            ("operator/clients/connect_factory", "it creates the client"),
        ],
    ),
    ("the shared view of a remote knows nothing of Kubernetes", &["operator/remote"], "kube, k8s_openapi, crd", &[]),
    (
        "what decides knows neither Kubernetes nor the Connect API, and does no I/O",
        &["operator/deployment/decide", "operator/staged/decide"],
        "kube, k8s_openapi, connect_api, crd, serde, serde_json, async, tokio ::, std :: fs, std :: env, Clock, \
         tracing ::",
        &[],
    ),
    (
        "clients are made where their hosts are guarded",
        &[],
        "Client :: builder, Client :: new, ClientBuilder :: new, reqwest :: get",
        &[
            ("connect-api/http/connection", "it guards names, follows no redirects and repeats nothing"),
            ("operator/clients/kube_client", "the API server's own client, with limits"),
            ("leader/fenced", "the API server's own client, behind a fence"),
            ("cli/plan/overlay", "the API server's own client, and one of no cluster"),
            ("local-control-plane/download", "one published archive, whose bytes must have a sum of the program"),
            ("dev-server/applications", "processes on this machine that the command line named, by their addresses"),
        ],
    ),
    (
        "only the clock reads the time",
        &[],
        "Timestamp :: now, Instant :: now, SystemTime :: now, Zoned :: now",
        &[("clock/lib", "it is the clock"), ("cli/dev_server", "where a stepped clock starts")],
    ),
    (
        "only the clock waits",
        &[],
        "tokio :: time, thread :: sleep",
        &[
            ("clock/lib", "it is the clock"),
            ("connect-api/resolver", "the time limit of a real lookup"),
            ("operator/clients/kube_client", "the time limit of a real socket"),
            ("dev-server/answers", "a body that never ends must not fill the memory of its reader at once"),
            ("dev-server/http", "answers that come late, to real sockets"),
            ("dev-server/repositories", "a real process, which has to answer"),
            ("dev-server/server", "connections that do not end when they are asked to"),
            ("cli/run", "before the controllers and their clock start, and real sockets of slow clients"),
            ("cli/demo", "a demo on a real machine, with users watching"),
            ("local-control-plane/lib", "a real process, which has to answer"),
        ],
    ),
    (
        "only act changes the remote",
        &["operator"],
        ". create ( & draft, . create ( draft, . redeploy (, . undeploy (, . stage (, api . update (, client . update (, \
         . discard (",
        &[
            ("operator/deployment/act", "it executes the decision"),
            ("operator/staged/act", "it executes the decision"),
            ("operator/remote/guarded_client", "it passes each call on, behind the circuit breaker"),
        ],
    ),
    (
        "plan writes nothing",
        &["cli/plan"],
        ". create (, . replace (, . patch (, . patch_status (, . delete (, . redeploy (, . undeploy (, dry_run : false",
        &[("cli/plan/dry_run", "each of its requests is a dry run")],
    ),
    (
        "secrets are read in one place",
        &[],
        "Api :: < Secret >",
        &[
            ("operator/cluster/objects/secret", "it is the place"),
            ("operator/cluster/objects/digest_key", "makes the key, and hides what is quoted"),
        ],
    ),
    ("nothing panics on purpose", &[], ". unwrap_err (, panic !, unreachable !, assert !, assert_eq !", &[]),
    ("nothing prints with the macros that panic", &[], "println !, print !, eprintln !, eprint !", &[]),
];

/// The one rule that a page cites by name.
const OPENED: Rule = (
    "secured values are opened in few places",
    &[],
    "expose_secret, ExposeSecret",
    &[
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
    ],
);

/// Asserts that what `findings` returns for a file is empty, except for the exceptions, each of which is needed.
fn assert_none(rule: &str, exceptions: &[Exception], findings: impl Fn(&'static Source) -> Vec<&'static str>) {
    let mut wrong = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for source in sources::all() {
        let found = findings(source);
        match exceptions.iter().position(|(place, _)| source.is_below(place)) {
            Some(at) => used[at] |= !found.is_empty(),
            None => wrong.extend(found.iter().map(|what| format!("{}: {what}", source.path))),
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{rule}");
    assert!(!used.contains(&false), "{rule}: exceptions that nothing uses: {used:?} of {exceptions:?}");
}

fn assert_rule((name, places, phrases, exceptions): Rule) {
    assert_none(name, exceptions, |source| {
        let holds = places.is_empty() || places.iter().any(|place| source.is_below(place));
        phrases.split(", ").filter(|phrase| holds && source.says(phrase)).collect()
    });
}

#[test]
fn no_code_breaks_a_rule() {
    for rule in RULES {
        assert_rule(*rule);
    }
}

#[test]
fn secured_values_are_opened_in_few_places() {
    assert_rule(OPENED);
}

#[test]
fn arrows_of_use_point_upwards() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    assert_none("layers", &[], |source| {
        if CRATES.iter().any(|name| source.is_below(name)) {
            return Vec::new();
        }
        let here = source.path.split(['/', '.']).next().unwrap();
        let own = layer(here).unwrap_or_else(|| panic!("src/{} is in no layer", source.path));
        let used = source.uses_of("crate").into_iter();
        let mut wrong: Vec<_> = used.filter(|used| *used != here && layer(used).is_some_and(|it| it >= own)).collect();
        let crates = OF_THE_COMMAND_LINE.into_iter().filter(|name| !source.uses_of(name).is_empty());
        wrong.extend(crates.filter(|_| here != "cli"));
        wrong
    });
}

#[test]
fn secured_values_are_secret_strings() {
    let exceptions = &[
        ("connect-api/http/call", "opened for as long as one call takes, to mask its answer"),
        ("operator/values/names", "names of secured values, not the values"),
        ("crd/connect_project", "the name of an entry of a Secret, not its value"),
        ("cli/run", "the name of a Secret"),
        ("dev-server/catalogue", "secrets of the dev server, which are public"),
        ("dev-server/logs", "a token for the next page"),
        ("dev-server/tokens", "tokens of the dev server, which are good for nothing else"),
    ];
    assert_none("secured values are secret strings", exceptions, open_secrets);
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
        let kind = &source.words[at + 2..];
        // The key of a map may be plain text.
        let kind = if kind.first().is_some_and(|word| word == "BTreeMap") { &kind[4..] } else { kind };
        let mut kind = kind.iter().take_while(|word| ![",", ")", "}", ";", "="].contains(&word.as_str()));
        if kind.any(|word| word == "String" || word == "str") {
            open.push(name);
        }
    }
    open
}

#[test]
fn names_of_our_own_stand_in_names() {
    assert_none("names", &[("names", "it is the place")], |source| {
        let ours = source.words.iter().filter(|word| word.starts_with('"') && word.contains("connect-operator.io"));
        ours.map(String::as_str).collect()
    });
}
