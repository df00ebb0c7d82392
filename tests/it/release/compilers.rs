//! The compilers and linkers of a release: how `scripts/static-binary` calls them, and how `scripts/provenance` records
//! them. Scripts replace them.

use std::fs::Permissions;

use super::VERSION;
use crate::prelude::*;

/// What reports its version and where its linker is, like GCC.
const COMPILER: &str = r#"case $1 in
-dumpfullversion) echo "12.2.0 ${0##*/}" ;;
-print-prog-name=ld) echo "${0%-gcc}-ld" ;;
esac"#;
const LINKER: &str = r#"printf 'GNU ld 2.40 %s\nCopyright\n' "${0##*/}""#;

/// Returns a folder with these programs.
fn programs(programs: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in programs {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Returns a script that finds these programs first.
fn script(name: &str, programs: &Path) -> Command {
    let mut command = Command::new(in_checkout("scripts").join(name));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path);
    command
}

#[test]
fn the_provenance_names_compilers_and_linkers() {
    let machines = ["x86_64", "aarch64"];
    let names = machines.map(|machine| ["gcc", "ld"].map(|program| format!("{machine}-linux-gnu-{program}")));
    let fakes: Vec<_> = names.iter().flat_map(|[gcc, ld]| [(gcc.as_str(), COMPILER), (ld.as_str(), LINKER)]).collect();
    let programs = programs(&fakes);
    let (files, authorities) = (tempfile::tempdir().unwrap(), programs.path().join("authorities.pem"));
    std::fs::write(files.path().join("crds.yaml"), "a file\n").unwrap();
    std::fs::write(&authorities, "not really certificates\n").unwrap();
    let mut provenance = script("provenance", programs.path());
    provenance.args([VERSION, "https://example.com", "0123", "true"]).arg(files.path());
    let statement = succeed(provenance.env("CA_CERTIFICATES", authorities));
    let statement: Value = serde_json::from_slice(&statement).unwrap();
    let versions = &statement["predicate"]["runDetails"]["builder"]["version"];
    for [gcc, ld] in names {
        assert_eq!(versions[&gcc], json!(format!("12.2.0 {gcc}")), "{versions}");
        assert_eq!(versions[&ld], json!(format!("GNU ld 2.40 {ld}")), "{versions}");
    }
}

/// The binary for arm64 is no static PIE, and the linker that Debian has for it does not know the option.
#[test]
fn addresses_are_packed_where_the_binary_has_them() {
    let programs = programs(&[
        ("x86_64-linux-gnu-gcc", COMPILER),
        ("aarch64-linux-gnu-gcc", COMPILER),
        ("rustup", "printf '%s-unknown-linux-musl\\n' x86_64 aarch64"),
        ("cargo", "env | grep '^CARGO_TARGET_.*_RUSTFLAGS=' >\"$FLAGS\""),
    ]);
    let written = programs.path().join("flags");
    for (architecture, machine, packed) in [("amd64", "x86_64", true), ("arm64", "aarch64", false)] {
        succeed(script("static-binary", programs.path()).arg(architecture).env("FLAGS", &written));
        let flags = std::fs::read_to_string(&written).unwrap();
        let variable = format!("CARGO_TARGET_{}_UNKNOWN_LINUX_MUSL_RUSTFLAGS=", machine.to_uppercase());
        assert!(flags.starts_with(&variable) && flags.contains("--remap-path-prefix="), "{architecture}: {flags}");
        assert_eq!(flags.contains("-Wl,-z,pack-relative-relocs"), packed, "{architecture}: {flags}");
    }
}
