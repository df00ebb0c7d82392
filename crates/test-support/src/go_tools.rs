//! Go programs that tests call, from the modules in `tests/tools/`: each version is built once, into the cache folder
//! of the user.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the folder of the module `name`.
#[must_use]
pub fn module(name: &str) -> PathBuf {
    Path::new(crate::ROOT).join("tests/tools").join(name)
}

/// Returns a `go` command in the folder of a module, without the user's settings for other builds. If go.mod has a
/// `toolchain`, it is that version of Go, which an older one downloads like a module.
///
/// # Panics
/// If the module does not exist.
#[must_use]
pub fn go(module: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(module).env("CGO_ENABLED", "0").env("GOWORK", "off").stdin(Stdio::null());
    for variable in ["GOFLAGS", "GOOS", "GOARCH"] {
        command.env_remove(variable);
    }
    let text = std::fs::read_to_string(module.join("go.mod")).expect("a Go module");
    if let Some(version) = text.lines().find_map(|line| line.strip_prefix("toolchain ")) {
        command.env("GOTOOLCHAIN", version);
    }
    command
}

/// Returns the path of the program `package` of the module `name`, built if it does not exist yet.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn built(name: &str, package: &str) -> PathBuf {
    let module = module(name);
    let folder = cache().join(format!("{}-{}", name.replace('/', "-"), version(&module)));
    let program = folder.join("program");
    std::fs::create_dir_all(&folder).expect("the cache folder can be written");
    let lock = File::create(folder.join("lock")).expect("the cache folder can be written");
    // One process builds at a time; the system releases the lock if that process dies.
    lock.lock().expect("a file can be locked");
    if !program.is_file() {
        let unfinished = folder.join("unfinished");
        let mut build = go(&module);
        build.args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o"]).arg(&unfinished).arg(package);
        succeed(&mut build);
        std::fs::rename(&unfinished, &program).expect("the cache folder can be written");
    }
    program
}

/// Returns the response of a program to a JSON document.
///
/// # Panics
/// If the program fails, or its output is not such JSON.
#[must_use]
pub fn ask<T: DeserializeOwned>(program: &Path, question: &Value) -> T {
    let mut command = Command::new(program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(question.to_string().as_bytes()).expect("it reads everything");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

/// Returns the output of a command.
///
/// # Panics
/// If the command fails.
pub fn succeed(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn cache() -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.expect("HOME or XDG_CACHE_HOME is set").join("connect-operator/tools")
}

/// A version that changes with every file of the module.
fn version(module: &Path) -> String {
    let mut files: Vec<_> = std::fs::read_dir(module)
        .expect("the module exists")
        .map(|file| file.expect("a file of the module").path())
        .collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files.iter().filter(|path| path.is_file()) {
        hash.update(std::fs::read(file).expect("a file of the module"));
    }
    let mut text = String::new();
    for byte in hash.finalize().iter().take(8) {
        write!(text, "{byte:02x}").expect("writing to a String succeeds");
    }
    text
}
