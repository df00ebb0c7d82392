//! Controllers of other projects, as processes that a test starts, and the objects that they write.

use kube::runtime::conditions;

use crate::prelude::*;

/// The version of a Go module that the tool `tool` requires, without the `v`.
pub(super) fn version_of(tool: &str, module: &str) -> String {
    let text = std::fs::read_to_string(go_tools::module(tool).join("go.mod")).unwrap();
    let version = text.split(&format!("\t{module} v")).nth(1).and_then(|rest| rest.split_whitespace().next());
    version.unwrap_or_else(|| panic!("{tool} requires {module}")).to_owned()
}

/// Applies the CRDs in a folder, and returns once they can be used. `how` is the option of kubectl for such a folder.
pub(super) async fn install_definitions(sandbox: &Sandbox, how: &str, folder: &Path) {
    let folder = folder.to_str().expect("a path is text");
    sandbox.succeed(&["apply", "--server-side", how, folder], "").await;
    let api = Api::<CustomResourceDefinition>::all(sandbox.client.clone());
    for name in api.list(&ListParams::default()).await.unwrap().items.iter().map(ResourceExt::name_any) {
        let established = awaited(api.clone(), &name, conditions::is_crd_established());
        in_time(established).await.unwrap_or_else(|_| panic!("not in time: {name}"));
    }
}

/// Processes that run until this is dropped, and a folder for their files.
pub(super) struct Processes {
    folder: TempDir,
    names: Vec<&'static str>,
    running: Vec<Child>,
}

impl Processes {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), names: Vec::new(), running: Vec::new() }
    }

    /// A folder that is removed at the end.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a process, whose output becomes its log.
    pub(super) fn start(&mut self, name: &'static str, mut command: Command) {
        let log = std::fs::File::create(self.log(name)).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).kill_on_drop(true);
        self.running.push(command.spawn().unwrap_or_else(|error| panic!("{name}: {error}")));
        self.names.push(name);
    }

    /// Returns an object that these processes write once it satisfies `is`.
    pub(super) async fn until(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let seen = awaited(api.clone(), name, |object: Option<&DynamicObject>| {
            object.is_some_and(|object| is(&json!(object)))
        });
        let Ok(found) = in_time(seen).await else {
            panic!("not in time: {what}\n{:#}\n{}", json!(api.get_opt(name).await.unwrap()), self.logs());
        };
        json!(found)
    }

    /// Returns once an object of theirs is deleted.
    pub(super) async fn until_gone(&self, api: &Api<DynamicObject>, name: &str) {
        let gone = awaited(api.clone(), name, |object: Option<&DynamicObject>| object.is_none());
        let is_gone = in_time(gone).await.is_ok();
        assert!(is_gone, "still exists: {:#}\n{}", json!(api.get_opt(name).await.unwrap()), self.logs());
    }

    /// The last lines of each log.
    pub(super) fn logs(&self) -> String {
        let last = |name: &&str| {
            let log = std::fs::read_to_string(self.log(name)).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(15).collect();
            format!("{name}:\n{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        self.names.iter().map(last).collect::<Vec<_>>().join("\n")
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }
}
