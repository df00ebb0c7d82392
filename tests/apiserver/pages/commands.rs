//! The program of every command on every page accepts it: this program's own parser, kubectl by its help, helm by the
//! flags below and the values of the chart.

use super::blocks::{self, Block};
use crate::prelude::*;
use crate::shell::{self, Command};

/// Common shell programs whose arguments are not checked.
const PLAIN: [&str; 10] = ["echo", "export", "source", "jq", "date", "grep", "cat", "git", "just", "sed"];

/// Flags of all verbs of helm.
const ALWAYS: &[&str] = &["namespace", "n"];
/// Of those that wait.
const WAITS: &[&str] = &["wait", "timeout"];
/// Of those that take values for the chart.
const VALUES: &[&str] = &["set", "set-string", "set-json", "values", "f", "version"];

/// The verbs of helm on the pages, and their flags.
const HELM: [(&str, &[&[&str]]); 9] = [
    ("install", &[ALWAYS, WAITS, VALUES, &["create-namespace"]]),
    ("upgrade", &[ALWAYS, WAITS, VALUES, &["create-namespace", "install", "reuse-values", "reset-then-reuse-values"]]),
    ("rollback", &[ALWAYS, WAITS]),
    ("uninstall", &[ALWAYS, WAITS]),
    ("template", &[ALWAYS, VALUES]),
    ("show", &[&["version"]]),
    ("get", &[ALWAYS]),
    ("history", &[ALWAYS]),
    ("test", &[ALWAYS, &["logs"]]),
];

#[tokio::test]
async fn the_program_of_every_command_on_every_page_accepts_it() {
    let mut kubectl = Kubectl { sandbox: Sandbox::new().await, flags: BTreeMap::new() };
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
    for block in blocks::in_languages(&["sh", "console"]).into_iter().filter(|block| block.not_checked.is_none()) {
        for command in commands(&block) {
            *counts.entry(command[0].clone()).or_default() += 1;
            if let Err(problem) = understood(&mut kubectl, &command).await {
                wrong.push(format!("{}: {}: {problem}", block.place(), command.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts["kubectl"] > 40 && counts["connect-operator"] > 25, "{counts:?}");
}

/// Returns the commands that a user types from a block.
fn commands(block: &Block) -> Vec<Command> {
    let script = if block.language == "console" { shell::typed(&block.text) } else { block.text.clone() };
    shell::commands(&script)
}

async fn understood(kubectl: &mut Kubectl, command: &[String]) -> Result<(), String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match &words[..] {
        ["connect-operator" | "target/release/connect-operator", rest @ ..] | ["kubectl", "connect", rest @ ..] => {
            ours(rest)
        }
        ["cargo", "run", rest @ ..] if rest.contains(&"--") && !rest.contains(&"--example") => {
            let at = rest.iter().position(|word| *word == "--").unwrap_or_default();
            ours(&rest[at + 1..])
        }
        ["kubectl", rest @ ..] => kubectl.understands(rest).await,
        ["helm", rest @ ..] => helm(rest),
        ["cargo", "build" | "test" | "run" | "fmt" | "clippy" | "install", ..] | ["kustomize", "build", ..] => Ok(()),
        ["curl", ..] if words.iter().any(|word| word.contains("127.0.0.1:8787") || word.contains("$API")) => Ok(()),
        [program, ..] if PLAIN.contains(program) => Ok(()),
        _ => Err("pages may not call this program without a `not checked` marker".to_owned()),
    }
}

/// Checks a command of this program.
fn ours(arguments: &[&str]) -> Result<(), String> {
    let arguments = std::iter::once("connect-operator").chain(arguments.iter().copied());
    match connect_operator::cli::command().try_get_matches_from(arguments) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// kubectl, whose help lists the flags.
struct Kubectl {
    sandbox: Sandbox,
    flags: BTreeMap<String, BTreeSet<String>>,
}

impl Kubectl {
    async fn understands(&mut self, mut arguments: &[&str]) -> Result<(), String> {
        // Flags of all verbs may precede the verb.
        while let ["--namespace" | "-n" | "--context", _, rest @ ..] = arguments {
            arguments = rest;
        }
        let [_, rest @ ..] = arguments else { return Err("kubectl alone does nothing".to_owned()) };
        let words = match arguments {
            ["create", "secret", ..] => 3,
            ["auth" | "config" | "create" | "set" | "rollout", ..] => 2,
            _ => 1,
        };
        let verb: Vec<&str> = arguments.iter().take(words).copied().collect();
        let known = self.flags(&verb).await?;
        for flag in rest.iter().filter(|word| word.starts_with('-') && word.len() > 1) {
            let name = flag.split('=').next().unwrap_or_default();
            if !known.contains(name) {
                return Err(format!("{} has no flag {name}", verb.join(" ")));
            }
        }
        match arguments {
            ["get" | "describe" | "delete" | "annotate" | "patch" | "label", kinds, ..] if !kinds.starts_with('-') => {
                kinds.split(',').try_for_each(|kind| known_kind(kind.split('/').next().unwrap_or_default()))
            }
            ["wait", what, ..] => known_kind(what.split('/').next().unwrap_or_default()),
            _ => Ok(()),
        }
    }

    /// Returns the flags of a verb, including those of all verbs.
    async fn flags(&mut self, verb: &[&str]) -> Result<BTreeSet<String>, String> {
        let name = verb.join(" ");
        if !self.flags.contains_key(&name) {
            let output = self.sandbox.kubectl(&[verb, &["--help"]].concat(), "").await;
            let help = String::from_utf8(output.stdout).unwrap();
            // For an unknown verb kubectl prints its general help.
            if !output.status.success() || !help.contains(&format!("kubectl {name}")) {
                return Err(format!("there is no kubectl {name}"));
            }
            let all = self.sandbox.succeed(&["options"], "").await;
            let flags = format!("{help}\n{all}").lines().flat_map(flags_of).collect();
            self.flags.insert(name.clone(), flags);
        }
        Ok(self.flags[&name].clone())
    }
}

/// Returns the flags that a line of the help explains: `-n, --namespace='': …`.
fn flags_of(line: &str) -> Vec<String> {
    let Some((names, _)) = line.trim().split_once(':') else { return Vec::new() };
    if !names.starts_with('-') {
        return Vec::new();
    }
    names.split(", ").map(|name| name.split('=').next().unwrap_or_default().to_owned()).collect()
}

/// Kinds of the cluster and of other projects that pages name.
const KINDS: [&str; 24] = [
    "clusterrole",
    "clusterrolebinding",
    "configmap",
    "crd",
    "customresourcedefinition",
    "deploy",
    "deployment",
    "event",
    "events",
    "externalsecret",
    "lease",
    "leases",
    "namespace",
    "namespaces",
    "node",
    "pod",
    "pods",
    "role",
    "rolebinding",
    "rolebindings",
    "sealedsecret",
    "secret",
    "secrets",
    "serviceaccount",
];

fn known_kind(kind: &str) -> Result<(), String> {
    let ours = crd::all().into_iter().any(|crd| {
        let names = crd.spec.names;
        let short = names.short_names.unwrap_or_default();
        kind == names.plural
            || Some(kind) == names.singular.as_deref()
            || names.kind.to_lowercase() == kind
            || short.iter().any(|it| it == kind)
            || names.categories.unwrap_or_default().iter().any(|it| it == kind)
    });
    if ours || KINDS.contains(&kind) || kind.starts_with('$') {
        Ok(())
    } else {
        Err(format!("there is no kind {kind}"))
    }
}

/// Checks a command of helm: its flags, and that the chart has its values.
fn helm(arguments: &[&str]) -> Result<(), String> {
    let [verb, rest @ ..] = arguments else { return Err("helm alone does nothing".to_owned()) };
    let (_, flags) = HELM
        .iter()
        .find(|(known, _)| known == verb)
        .ok_or_else(|| format!("helm {verb} is not in the list of this test"))?;
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix('-') else { continue };
        let (name, value) = flag.trim_start_matches('-').split_once('=').unwrap_or((flag.trim_start_matches('-'), ""));
        if !flags.iter().any(|some| some.contains(&name)) {
            return Err(format!("the list of this test has no flag {name} of helm {verb}"));
        }
        if ["set", "set-string", "set-json"].contains(&name) {
            let settings = if value.is_empty() { rest.next().copied().unwrap_or_default() } else { value };
            // The commas inside a list do not separate settings.
            let settings: Vec<_> =
                if settings.contains(['{', '[']) { vec![settings] } else { settings.split(',').collect() };
            settings.iter().try_for_each(|setting| known_value(setting.split('=').next().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// Checks that the chart has this value.
fn known_value(path: &str) -> Result<(), String> {
    let values = yaml_of("charts/connect-operator/values.yaml");
    let mut at = &values;
    for name in path.split('.') {
        let name = name.split('[').next().unwrap_or_default();
        // An empty map accepts any key.
        if at.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(());
        }
        at = at.get(name).ok_or_else(|| format!("the chart has no value {path}"))?;
    }
    Ok(())
}
