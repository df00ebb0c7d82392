//! Builds etcd, kube-apiserver and kubectl with the Go toolchain, from module files that are compiled into this
//! program.
//!
//! The sums of all modules are in `modules/`, so that exactly the reviewed sources are built. A program appears in the
//! folder under its name only when it is complete. Only one process may build at a time, which `cache.rs` ensures. In
//! whatever way this process ends, no process of a build remains; see `guard.rs`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::assets::PROGRAMS;
use super::cache::remove;
use super::guard::Guard;
use super::log::end_of;
use super::{Error, versions};

/// A Go module that contains programs to build.
struct Module {
    name: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

const ETCD: Module =
    Module { name: "etcd", go_mod: include_str!("modules/etcd/go.mod"), go_sum: include_str!("modules/etcd/go.sum") };

const KUBERNETES: Module = Module {
    name: "kubernetes",
    go_mod: include_str!("modules/kubernetes/go.mod"),
    go_sum: include_str!("modules/kubernetes/go.sum"),
};

/// How to build one program.
struct Recipe {
    program: &'static str,
    module: &'static Module,
    package: &'static str,
    usually: &'static str,
}

/// In the order of [`PROGRAMS`]; etcd builds fast, so that a problem with Go or the network shows early.
const RECIPES: [Recipe; 3] = [
    Recipe { program: PROGRAMS[0], module: &ETCD, package: "go.etcd.io/etcd/server/v3", usually: "1 minute" },
    Recipe {
        program: PROGRAMS[1],
        module: &KUBERNETES,
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        usually: "4 to 6 minutes",
    },
    Recipe { program: PROGRAMS[2], module: &KUBERNETES, package: "k8s.io/kubernetes/cmd/kubectl", usually: "1 minute" },
];

/// The target folder and the toolchain of builds.
pub(super) struct Workshop {
    /// Folder for the finished programs.
    pub(super) folder: PathBuf,
    /// The `go` command.
    pub(super) go: OsString,
}

impl Workshop {
    /// Builds the missing programs. Only one caller may do so at a time.
    pub(super) async fn build_missing(&self, report: &impl Fn(&str)) -> Result<(), Error> {
        let missing: Vec<_> = self.missing().collect();
        for recipe in &missing {
            self.write_module(recipe.module)?;
        }
        if let Some(first) = missing.first() {
            self.check_toolchain(first.module).await?;
        }
        for recipe in missing {
            let Recipe { program, usually, .. } = recipe;
            report(&format!("building {program} with Go, once; on 2 cores this usually takes {usually}"));
            self.build(recipe).await?;
            report(&format!("built {program}"));
        }
        Ok(())
    }

    fn missing(&self) -> impl Iterator<Item = &'static Recipe> {
        RECIPES.iter().filter(|recipe| !self.folder.join(recipe.program).is_file())
    }

    fn module_folder(&self, module: &Module) -> PathBuf {
        self.folder.join("modules").join(module.name)
    }

    fn write_module(&self, module: &Module) -> Result<(), Error> {
        let folder = self.module_folder(module);
        std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        for (name, text) in [("go.mod", module.go_mod), ("go.sum", module.go_sum)] {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(Error::file(&path))?;
        }
        Ok(())
    }

    /// Checks the version of Go inside a module folder, where a toolchain that is allowed to downloads the version that
    /// the module needs.
    async fn check_toolchain(&self, module: &Module) -> Result<(), Error> {
        let mut go = Command::new(&self.go);
        self.set(&mut go, module).args(["env", "GOVERSION"]);
        let output =
            tokio::process::Command::from(go).kill_on_drop(true).output().await.map_err(|error| Error::Go {
                problem: format!("{} cannot be run ({error})", self.go.to_string_lossy()),
            })?;
        if !output.status.success() {
            return Err(Error::Go {
                problem: format!("it reports: {}", String::from_utf8_lossy(&output.stderr).trim()),
            });
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if is_new_enough(&version) { Ok(()) } else { Err(Error::Go { problem: format!("this is {version}") }) }
    }

    async fn build(&self, recipe: &Recipe) -> Result<(), Error> {
        // Only one build runs at a time, so that the remainder of a killed build can be overwritten.
        let unfinished = self.folder.join(format!("{}.unfinished", recipe.program));
        let temporary = self.folder.join("temporary");
        remove(&temporary).map_err(Error::file(&temporary))?;
        // Dropping it ends the build with its compilers, which outlive Go, and removes their files, as Go itself does only
        // if it is not interrupted.
        let guard = Guard::of(temporary).map_err(Error::Guard)?;
        let build = guard.start(&self.go, |go| {
            self.set(go, recipe.module)
                .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", &linker_flags(), "-o"])
                .arg(&unfinished)
                .arg(recipe.package)
                .env("GOTMPDIR", guard.folder())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
        });
        let build = build.map_err(Error::Guard)?;
        let ended = tokio::task::spawn_blocking(move || build.wait_with_output()).await;
        let output = ended.map_err(std::io::Error::other).flatten().map_err(Error::Guard)?;
        if !output.status.success() {
            let last_lines = end_of(&String::from_utf8_lossy(&output.stderr));
            return Err(Error::Build { program: recipe.program, status: output.status.to_string(), last_lines });
        }
        let finished = self.folder.join(recipe.program);
        std::fs::rename(&unfinished, &finished).map_err(Error::file(&finished))
    }

    /// Lets a `go` command run in the folder of `module`, for this machine and without the user's settings for other
    /// work.
    fn set<'a>(&self, go: &'a mut Command, module: &Module) -> &'a mut Command {
        go.current_dir(self.module_folder(module))
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .env_remove("GOFLAGS")
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .stdin(Stdio::null())
    }
}

/// Returns flags that strip symbols and set the version that the API server reports to its clients.
fn linker_flags() -> String {
    let version = versions::KUBERNETES;
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let package = "k8s.io/component-base/version";
    format!("-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

/// Compares the output of `go env GOVERSION` (`go1.26.8`, `go1.27rc1`) with [`versions::GO`]. Other versions, such as a
/// build of Go's development branch, are accepted, because the build itself will show whether they work.
fn is_new_enough(version: &str) -> bool {
    let numbers = |text: &str| -> Option<(u32, u32)> {
        let (major, rest) = text.split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    match (version.strip_prefix("go").and_then(numbers), numbers(versions::GO)) {
        (Some(found), Some(needed)) => found >= needed,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns a workshop in a new folder, with one of the toolchains of `tests/fixtures/go`.
    fn workshop(toolchain: &str) -> (tempfile::TempDir, Workshop) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let go = format!("{}/tests/fixtures/go/{toolchain}", env!("CARGO_MANIFEST_DIR"));
        let workshop = Workshop { folder: folder.path().join("programs"), go: go.into() };
        (folder, workshop)
    }

    /// Returns the package of each build, as recorded by the fixture's toolchain.
    fn builds(workshop: &Workshop) -> Vec<String> {
        let calls = std::fs::read_to_string(workshop.folder.join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn packages() -> Vec<&'static str> {
        RECIPES.iter().map(|recipe| recipe.package).collect()
    }

    #[tokio::test]
    async fn what_is_missing_is_built_once_and_reported() {
        let (_folder, workshop) = workshop("works");
        let steps = RefCell::new(Vec::new());
        let report = |step: &str| steps.borrow_mut().push(step.to_owned());
        // The rest of a killed build is not taken for a program.
        std::fs::create_dir_all(&workshop.folder).expect("a folder");
        std::fs::write(workshop.folder.join("etcd.unfinished"), "half").expect("a file");
        workshop.build_missing(&report).await.expect("built");
        assert_eq!(std::fs::read_to_string(workshop.folder.join("etcd")).expect("it was built"), "whole\n");
        workshop.build_missing(&report).await.expect("nothing to do");
        assert_eq!(builds(&workshop), packages());
        assert_eq!(steps.borrow().len(), 2 * PROGRAMS.len());
        assert_eq!(
            steps.borrow()[2],
            "building kube-apiserver with Go, once; on 2 cores this usually takes 4 to 6 minutes"
        );

        std::fs::remove_file(workshop.folder.join("kubectl")).expect("it was built");
        workshop.build_missing(&report).await.expect("built");
        assert_eq!(builds(&workshop)[PROGRAMS.len()..], [RECIPES[2].package]);
    }

    #[tokio::test]
    async fn an_unusable_toolchain_is_reported_before_anything_is_built() {
        for (case, toolchain, expected) in [
            ("no Go", "missing", "tests/fixtures/go/missing cannot be run (No such file"),
            ("too old", "old", "but this is go1.25.4: install it from"),
            (
                "too old for our module files",
                "refuses",
                "but it reports: go: go.mod requires go >= 1.26.0: install it from",
            ),
        ] {
            let (_folder, workshop) = workshop(toolchain);
            let steps = RefCell::new(0);
            let error = workshop.build_missing(&|_| *steps.borrow_mut() += 1).await.expect_err(case);
            assert!(matches!(error, Error::Go { .. }), "{case}: {error}");
            assert!(error.to_string().contains(expected), "{case}: {error}");
            assert_eq!((steps.into_inner(), builds(&workshop).len()), (0, 0), "{case}");
        }
    }

    #[tokio::test]
    async fn a_build_that_fails_shows_its_last_lines_and_leaves_no_program() {
        let (_folder, workshop) = workshop("breaks");
        let error = workshop.build_missing(&|_| {}).await.expect_err("it breaks");
        let text = error.to_string();
        let shown: Vec<_> = text.lines().skip(1).collect();
        assert!(text.starts_with("building etcd failed (exit status: 1): if the last lines"), "{text}");
        assert_eq!((shown.len(), shown[0], shown[14]), (15, "line 6", "line 20"));
        assert!(!workshop.folder.join("etcd").exists());
    }

    #[test]
    fn versions_of_go_are_compared_as_numbers() {
        let new = ["go1.26", "go1.26.8", "go1.27rc1", "go1.100", "go2.0", "devel go1.28-abcdef"].map(|it| (it, true));
        for (version, expected) in new.into_iter().chain([("go1.9.7", false), ("go1.25.9", false)]) {
            assert_eq!(is_new_enough(version), expected, "{version}");
        }
    }

    #[test]
    fn the_modules_hold_the_versions_that_we_name() {
        assert!(KUBERNETES.go_mod.contains(&format!("k8s.io/kubernetes {} ", versions::KUBERNETES)));
        assert!(ETCD.go_mod.contains(&format!("go.etcd.io/etcd/server/v3 {} ", versions::ETCD)));
        for module in [&KUBERNETES, &ETCD] {
            assert!(module.go_mod.contains(&format!("\ngo {}.0\n", versions::GO)), "{}", module.name);
        }
        for recipe in &RECIPES {
            assert!(recipe.module.go_mod.contains(recipe.package), "{}", recipe.program);
        }
        assert!(linker_flags().ends_with("version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"));
    }
}
