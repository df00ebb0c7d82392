//! The files with credentials that the dev server writes: nobody else can read them, and no link redirects them.

use std::fs::{self, Permissions};
use std::os::unix::fs::symlink;

use super::*;
use crate::prelude::*;

/// A name, and what somebody else who can write into the folder prepares before the file is written again.
type Row<'a> = (&'a str, &'a dyn Fn(&Path, &Path));

/// Starts a dev server with these options, which write the file, and stops it.
async fn write(options: Options, key: &str) {
    let caller = Caller::new(options).await;
    caller.post("/demo/deployments", &draft(key)).await;
    caller.server.stop().await.expect("the file can be written");
}

#[tokio::test]
async fn files_with_credentials_are_written_anew_for_their_owner_only() {
    let victim = |folder: &Path| folder.join("victim");
    let open = |file: &Path| fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
    let rows: [Row; 4] = [
        ("nothing", &|_, _| {}),
        ("everybody can read the file", &|_, file| open(file)),
        ("a link with the name of a temporary file", &|folder, file| {
            symlink(victim(folder), file.with_added_extension("new")).unwrap();
        }),
        ("a temporary file that everybody can read", &|_, file| {
            let temporary = file.with_added_extension("new");
            fs::write(&temporary, "").unwrap();
            open(&temporary);
        }),
    ];
    for (case, prepare) in rows {
        for what in ["state", "login"] {
            let folder = tempfile::tempdir().unwrap();
            let (file, options) = if what == "state" {
                let file = folder.path().join("state.json");
                (file.clone(), Options { state_file: Some(file), ..Options::default() })
            } else {
                let home = folder.path().to_owned();
                (home.join(".commercetools/credentials"), Options { cli_credentials: Some(home), ..Options::default() })
            };
            write(options.clone(), "first").await;
            fs::write(victim(folder.path()), "untouched").unwrap();
            prepare(folder.path(), &file);
            let there = || fs::read_dir(file.parent().unwrap()).unwrap().count();
            let (before, old) = (there(), fs::read(&file).unwrap());
            write(options, "second").await;
            let mode = fs::symlink_metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode, 0o100_600, "{what}: {case}: a regular file, of its owner only");
            assert!(fs::read(&file).unwrap() != old, "{what}: {case}: it was written again");
            assert_eq!(fs::read_to_string(victim(folder.path())).unwrap(), "untouched", "{what}: {case}");
            assert_eq!(there(), before, "{what}: {case}: nothing is left beside it");
        }
    }
}

/// Mounts a small disk at `$2`, starts the dev server with its state there, fills the disk, and stops the server.
const FULL: &str = r#"
set -eu
program=$1 disk=$2
mount -t tmpfs -o size=64k disk "$disk"
mkfifo log
exec 3<>log
"$program" dev-server --listen 127.0.0.1:0 --state "$disk/state.json" >&3 2>&1 &
server=$!
while read -r line <&3; do case $line in *Connectors:*) break ;; esac; done
until [ -s "$disk/state.json" ]; do sleep 0.1; done
cp "$disk/state.json" before
head -c 128k /dev/zero >"$disk/fill" 2>/dev/null || true
kill -TERM $server
wait $server && echo ended well || echo ended with an error
cmp before "$disk/state.json" && echo the state is kept
"#;

#[test]
fn a_full_disk_takes_nothing_from_the_state_file() {
    let tried = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "disk", "/mnt"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("NOT TRIED: a full disk. It needs root, and the program unshare");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    let script = ["--mount", "timeout", "60", "sh", "-c", FULL, "sh", env!("CARGO_BIN_EXE_connect-operator"), "disk"];
    let output = Command::new("unshare").args(script).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("ended with an error") && text.contains("the state is kept"), "{text}");
}
