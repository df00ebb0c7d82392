//! Parses a `connect.yaml` member by member (contract section 16). Next: `rules.rs` for the rules across members.

use super::findings::{Findings, Members, Path};
use super::node::{Kind, Node};
use super::schedule::is_schedule;
use crate::names::is_key;
use crate::refusal::cut;
use crate::retry_policy::wrong_retry_policy;
use connect_api::model::{ApplicationType, RetryPolicy};

/// Variables that the platform sets; compared without case.
const RESERVED: [&str; 4] = ["PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"];
/// Former type name of a Merchant Center application, which is still accepted.
const FORMER: &str = "mc-app";

/// The content of a file, as far as it could be parsed.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) applications: Vec<Application>,
    pub(super) inherited: Option<Variables>,
    pub(super) scopes: Option<Vec<String>>,
}

/// An entry of `deployAs` whose type is known.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) path: Path,
    pub(super) line: u64,
    pub(super) name: String,
    pub(super) kind: ApplicationType,
    pub(super) variables: Variables,
    pub(super) has_post_deploy: bool,
    pub(super) endpoint: Option<String>,
    pub(super) schedule: Option<String>,
    pub(super) retry_policy: Option<RetryPolicy>,
}

#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) plain: Vec<Variable>,
    pub(super) secured: Vec<Variable>,
}

/// A variable whose key is a string.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) path: Path,
    pub(super) line: u64,
    pub(super) key: String,
    pub(super) description: String,
    pub(super) required: bool,
    pub(super) default: Option<String>,
}

impl Variables {
    pub(super) fn all(&self) -> impl Iterator<Item = &Variable> {
        self.plain.iter().chain(&self.secured)
    }
}

/// Parses a whole file.
pub(super) fn file(root: &Node, findings: &mut Findings) -> File {
    let mut file = File::default();
    if matches!(root.kind, Kind::Null) {
        findings.wrong(&Path::default(), root.line, "must be an object with the member deployAs, and is empty");
        return file;
    }
    let Some(members) = findings.object(root, &Path::default(), &["inheritAs", "deployAs"]) else { return file };
    if let Some(list) = members.required("deployAs", findings) {
        for (path, node) in findings.list(list, &members.path("deployAs")) {
            file.applications.extend(application(node, &path, findings));
        }
    }
    let Some(node) = members.get("inheritAs") else { return file };
    let Some(inherit) = findings.object(node, &members.path("inheritAs"), &["apiClient", "configuration"]) else {
        return file;
    };
    if let Some(node) = inherit.get("configuration") {
        file.inherited = Some(variables(node, &inherit.path("configuration"), findings));
    }
    if let Some(node) = inherit.get("apiClient")
        && let Some(client) = findings.object(node, &inherit.path("apiClient"), &["scopes"])
        && let Some(node) = client.required("scopes", findings)
    {
        file.scopes = Some(scopes(node, &client.path("scopes"), findings));
    }
    file
}

fn scopes(node: &Node, path: &Path, findings: &mut Findings) -> Vec<String> {
    let items = findings.list(node, path);
    if matches!(&node.kind, Kind::List(list) if list.is_empty()) {
        findings.wrong(path, node.line, "must hold at least one scope");
    }
    items.iter().filter_map(|(path, item)| findings.words(item, path)).collect()
}

fn application(node: &Node, path: &Path, findings: &mut Findings) -> Option<Application> {
    let Kind::Map(all) = &node.kind else {
        findings.wrong(path, node.line, "must be an object");
        return None;
    };
    let word = all.iter().find(|(name, _)| name == "applicationType").map(|(_, node)| node);
    let kind = word.and_then(|word| kind_of(word, &path.join("applicationType"), findings));
    let allowed = kind.as_ref().map_or(&ALL[..], allowed);
    let members = findings.object(node, path, allowed)?;
    let name = members.required("name", findings).and_then(|node| name(node, &members.path("name"), findings));
    if word.is_none() {
        findings.wrong(&members.path("applicationType"), members.line(), "is required");
    }
    let endpoint = endpoint(&members, allowed, findings);
    let variables = members.get("configuration").filter(|_| allowed.contains(&"configuration"));
    let variables = variables.map(|node| self::variables(node, &members.path("configuration"), findings));
    let has_post_deploy = scripts(&members, findings);
    health_check(&members, findings);
    let schedule = schedule(&members, kind.as_ref(), findings);
    let retry_policy = members.get("retryPolicy").filter(|_| allowed.contains(&"retryPolicy"));
    let retry_policy = retry_policy.and_then(|node| self::retry_policy(node, &members.path("retryPolicy"), findings));
    Some(Application {
        path: path.clone(),
        line: members.line(),
        name: name.unwrap_or_default(),
        kind: kind?,
        variables: variables.unwrap_or_default(),
        has_post_deploy,
        endpoint,
        schedule,
        retry_policy,
    })
}

/// Members of an application whose type is unknown: those of all types.
const ALL: [&str; 8] =
    ["name", "applicationType", "endpoint", "scripts", "configuration", "properties", "healthCheck", "retryPolicy"];

/// Returns the members that a type has (contract section 16).
fn allowed(kind: &ApplicationType) -> &'static [&'static str] {
    match kind {
        ApplicationType::Service => &["name", "applicationType", "endpoint", "scripts", "configuration", "healthCheck"],
        ApplicationType::Event => {
            &["name", "applicationType", "endpoint", "scripts", "configuration", "healthCheck", "retryPolicy"]
        }
        ApplicationType::Job => &["name", "applicationType", "endpoint", "scripts", "configuration", "properties"],
        ApplicationType::MerchantCenterCustomApplication | ApplicationType::MerchantCenterCustomView => {
            &["name", "applicationType", "scripts", "configuration"]
        }
        ApplicationType::Assets => &["name", "applicationType"],
        ApplicationType::Other(_) => &ALL,
    }
}

fn kind_of(node: &Node, path: &Path, findings: &mut Findings) -> Option<ApplicationType> {
    // `Findings::object` reports null members.
    if matches!(node.kind, Kind::Null) {
        return None;
    }
    let word = findings.text(node, path)?;
    if word == FORMER {
        return Some(ApplicationType::MerchantCenterCustomApplication);
    }
    let kind = ApplicationType::from(word);
    if matches!(kind, ApplicationType::Other(_)) {
        let known = ApplicationType::KNOWN.join(", ");
        findings.wrong(path, node.line, &format!("`{}` must be one of {known}", cut(word)));
        return None;
    }
    Some(kind)
}

fn name(node: &Node, path: &Path, findings: &mut Findings) -> Option<String> {
    let name = findings.text(node, path)?;
    if !is_key(name, 256) {
        findings.wrong(path, node.line, &format!("`{}` must be 2 to 256 characters of a-z A-Z 0-9 _ -", cut(name)));
    }
    Some(name.to_owned())
}

fn endpoint(members: &Members<'_>, allowed: &[&str], findings: &mut Findings) -> Option<String> {
    if !allowed.contains(&"endpoint") {
        return None;
    }
    let is_required = allowed.len() < ALL.len();
    let node = if is_required { members.required("endpoint", findings) } else { members.get("endpoint") };
    path_of(node?, &members.path("endpoint"), findings)
}

/// Parses a path of an endpoint or health check; a leading slash is optional.
fn path_of(node: &Node, path: &Path, findings: &mut Findings) -> Option<String> {
    let text = findings.text(node, path)?;
    let is_path = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte))
        && !text.contains("//");
    if !is_path {
        findings.wrong(path, node.line, "must be a path of a-z A-Z 0-9 _ - and single /");
    }
    is_path.then(|| text.to_owned())
}

/// Checks the scripts and returns whether there is a `postDeploy` script.
fn scripts(members: &Members<'_>, findings: &mut Findings) -> bool {
    let names = ["postDeploy", "preUndeploy"];
    let Some(node) = members.get("scripts") else { return false };
    let Some(scripts) = findings.object(node, &members.path("scripts"), &names) else { return false };
    for name in names {
        if let Some(node) = scripts.get(name) {
            findings.words(node, &scripts.path(name));
        }
    }
    scripts.get("postDeploy").is_some()
}

fn health_check(members: &Members<'_>, findings: &mut Findings) {
    let numbers = ["intervalSeconds", "timeoutSeconds", "unhealthyThreshold"];
    let Some(node) = members.get("healthCheck") else { return };
    let allowed = ["path", numbers[0], numbers[1], numbers[2]];
    let Some(check) = findings.object(node, &members.path("healthCheck"), &allowed) else { return };
    if let Some(node) = check.required("path", findings) {
        path_of(node, &check.path("path"), findings);
    }
    for name in numbers {
        if let Some(node) = check.get(name) {
            findings.whole(node, &check.path(name), 1, 20);
        }
    }
}

fn schedule(members: &Members<'_>, kind: Option<&ApplicationType>, findings: &mut Findings) -> Option<String> {
    if kind != Some(&ApplicationType::Job) {
        return None;
    }
    let node = members.required("properties", findings)?;
    let properties = findings.object(node, &members.path("properties"), &["schedule"])?;
    let node = properties.required("schedule", findings)?;
    let path = properties.path("schedule");
    let text = findings.text(node, &path)?;
    if !is_schedule(text) {
        findings.wrong(&path, node.line, "must be a cron expression, as `0 5 * * *` or `@daily`");
    }
    Some(text.to_owned())
}

fn retry_policy(node: &Node, path: &Path, findings: &mut Findings) -> Option<RetryPolicy> {
    let allowed = ["strategy", "minBackoffSeconds", "maxBackoffSeconds", "maxAttempts"];
    let members = findings.object(node, path, &allowed)?;
    let word = members.required("strategy", findings)?;
    // Anything that is not an integer becomes -1, which is outside all bounds.
    let number =
        |name: &str| members.get(name).map(|node| if let Kind::Number(Some(number)) = node.kind { number } else { -1 });
    let (min_backoff_seconds, max_backoff_seconds) = (number("minBackoffSeconds"), number("maxBackoffSeconds"));
    let max_attempts = number("maxAttempts");
    let strategy = findings.text(word, &members.path("strategy"))?.to_owned();
    let policy = RetryPolicy { strategy, min_backoff_seconds, max_backoff_seconds, max_attempts };
    for (member, what) in wrong_retry_policy(&policy) {
        let line = members.get(member).map_or(members.line(), |node| node.line);
        findings.wrong(&members.path(member), line, what);
    }
    Some(policy)
}

fn variables(node: &Node, path: &Path, findings: &mut Findings) -> Variables {
    let (plain, secured) = ("standardConfiguration", "securedConfiguration");
    let Some(members) = findings.object(node, path, &[plain, secured]) else { return Variables::default() };
    let mut read = |name: &str, allowed: &[&str]| {
        let items = members.get(name).map(|node| findings.list(node, &members.path(name))).unwrap_or_default();
        items.iter().filter_map(|(path, item)| variable(item, path, allowed, findings)).collect()
    };
    Variables {
        plain: read(plain, &["key", "description", "required", "default"]),
        secured: read(secured, &["key", "description", "required"]),
    }
}

fn variable(node: &Node, path: &Path, allowed: &[&str], findings: &mut Findings) -> Option<Variable> {
    let members = findings.object(node, path, allowed)?;
    let key = members.required("key", findings);
    let description = members.required("description", findings);
    let description = description.and_then(|node| findings.words(node, &members.path("description")));
    let required = members.get("required").is_some_and(|node| findings.flag(node, &members.path("required")));
    let default = members.get("default").filter(|_| allowed.contains(&"default"));
    let default = default.and_then(|node| findings.words(node, &members.path("default")));
    let (node, path) = (key?, members.path("key"));
    let key = findings.text(node, &path)?;
    let is_name =
        (2..=256).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        findings.wrong(&path, node.line, &format!("`{}` must be 2 to 256 characters of a-z A-Z 0-9 _", cut(key)));
    } else if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(key)) {
        findings.wrong(&path, node.line, &format!("`{key}` is set by the platform"));
    }
    let description = description.unwrap_or_default();
    Some(Variable { path, line: node.line, key: key.to_owned(), description, required, default })
}
