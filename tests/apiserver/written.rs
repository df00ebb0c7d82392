//! Commands of pages and examples, run as by a user who copies them: in a shell, from the root of the project. Only the
//! address of the dev server and the namespace are replaced.

use crate::prelude::*;

/// The default address of the dev server, which the pages use.
pub(crate) const USUAL: &str = "http://127.0.0.1:8787";

/// Commands that run already, or do not end.
const NOT_RUN: [&str; 3] = ["connect-operator dev-server", "connect-operator run", "connect-operator crds"];

/// A folder with `examples/` for this shop, the two programs, and the cluster with the namespace of the shop.
pub(crate) struct Shell {
    folder: TempDir,
    url: String,
    namespace: String,
}

impl Shell {
    pub(crate) async fn of(shop: &Shop) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shell = Self { folder, url: shop.dev.url(), namespace: shop.sandbox.namespace.clone() };
        let folder = shell.folder.path();
        for name in ["examples", "bin"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        for (name, text) in examples() {
            std::fs::write(folder.join("examples").join(name), shell.here(&text)).unwrap();
        }
        copy(&in_checkout("examples/promotion"), &folder.join("examples/promotion"));
        symlink(env!("CARGO_BIN_EXE_connect-operator"), folder.join("bin/connect-operator")).unwrap();
        symlink(shop.sandbox.kubectl_program(), folder.join("bin/kubectl")).unwrap();
        std::fs::copy(shop.sandbox.kubeconfig(), folder.join("kubeconfig")).unwrap();
        let namespace = format!("kubectl config set-context --current --namespace {}", shell.namespace);
        shell.run("the namespace", &namespace, 0).await;
        shell
    }

    /// Writes a file into the folder in which commands are run.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Adapts a text of a page to this shop.
    pub(crate) fn here(&self, text: &str) -> String {
        let namespaced =
            |text: String, sign| text.replace(&format!("default{sign}"), &format!("{}{sign}", self.namespace));
        namespaced(namespaced(text.replace(USUAL, &self.url), '_'), '/')
    }

    /// Runs lines, which must end with this exit code; returns their output.
    pub(crate) async fn run(&self, place: &str, lines: &str, code: i32) -> String {
        let folder = self.folder.path();
        let output = Command::new("/bin/sh")
            .args(["-euc", &self.here(lines)])
            .current_dir(folder)
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.join("bin").display()))
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .kill_on_drop(true)
            .output();
        let output = in_time(output).await;
        let output = output.unwrap_or_else(|_| panic!("{place} does not end: {lines}")).unwrap();
        let [printed, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(output.status.code(), Some(code), "{place}: {lines}\n{printed}{error}");
        printed
    }
}

/// The commands in the comment at the start of an example, one per line, each three blanks after its `#`.
pub(crate) fn commands(example: &str) -> Vec<&str> {
    let comment = example.lines().map_while(|line| line.strip_prefix('#'));
    comment.filter_map(|line| line.strip_prefix("   ")).filter(|line| is_run(line)).collect()
}

/// Returns the section of a page under this heading of the second level, up to the next one.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let found = page.split_once(&format!("\n## {heading}\n"));
    let (_, rest) = found.unwrap_or_else(|| panic!("the page has no section {heading}"));
    rest.split("\n## ").next().unwrap_or_default()
}

/// The shell blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| block).filter(|block| is_run(block)).collect()
}

fn is_run(lines: &str) -> bool {
    !NOT_RUN.iter().any(|program| lines.starts_with(program))
}

/// Every manifest of `examples/`: its name and its text.
pub(crate) fn examples() -> Vec<(String, String)> {
    let here = names_in("examples").into_iter().map(|name| format!("examples/{name}"));
    let manifests = here.filter(|path| !in_checkout(path).is_dir()).flat_map(|path| files(&[&path], &["yaml"]));
    manifests.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), text_of(path))).collect()
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let name = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &name);
        } else {
            std::fs::copy(&entry, name).unwrap();
        }
    }
}
