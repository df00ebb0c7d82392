//! What `deny.toml` requires of sources and crates, checked against `Cargo.lock` without `cargo deny`, which CI does not
//! install. `just deny`, which the nightly run and each release include, also checks licences and advisories.

const DENY: &str = include_str!("../../deny.toml");
const LOCK: &str = include_str!("../../Cargo.lock");

/// The registry that cargo, and so `deny.toml`, uses by default.
const STANDARD_REGISTRY: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

#[test]
fn every_crate_comes_from_the_standard_registry_with_its_checksum_and_none_is_denied() {
    for setting in ["unknown-registry", "unknown-git", "wildcards"] {
        assert!(DENY.contains(&format!("\n{setting} = \"deny\"")), "{setting}");
    }
    let denied: Vec<_> = DENY.split("{ crate = ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert!(denied.contains(&"\"openssl-sys\""), "{denied:?}");
    let mut from_registry = 0;
    for package in LOCK.split("\n[[package]]\n").skip(1) {
        let value = |name: &str| package.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        assert!(!denied.contains(&value("name").unwrap()), "{package}");
        // A crate without a source is one of the workspace.
        let Some(source) = value("source") else { continue };
        assert_eq!(source, STANDARD_REGISTRY, "{package}");
        assert!(value("checksum").is_some_and(|checksum| checksum.len() == 66), "{package}");
        from_registry += 1;
    }
    assert!(from_registry > 100, "{from_registry} crates were found");
}
