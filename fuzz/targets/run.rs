//! One program for each target: the name of the program selects the target, so all programs have this source.

#![no_main]

#[path = "../../tests/fuzz/targets/mod.rs"]
#[allow(unreachable_pub, reason = "a module of a test")]
mod targets;

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let program = std::env::current_exe().expect("a program has a path");
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = targets::TARGETS.iter().find(|(target, _)| *target == name);
    found.unwrap_or_else(|| panic!("no target is called {name}")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
