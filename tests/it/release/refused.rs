//! What is not released, and what is not published.

use std::fs;
use std::io::Write as _;

use super::{Repository, VERSION, error, git, without_settings};
use crate::prelude::*;

fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// A name, what changes, whether the change is committed, the arguments, and what the script reports.
type Row<'a> = (&'a str, &'a dyn Fn(&Path), bool, &'a [&'a str], &'a str);

/// A name, whether a dry run made the files, what changes, and what the script reports.
type FolderRow<'a> = (&'a str, bool, &'a dyn Fn(&Path), Option<&'a str>);

#[test]
fn a_tree_that_is_not_that_of_the_version_is_not_released() {
    let repository = Repository::new();
    let nothing = |_: &Path| {};
    let edit = |folder: &Path| replace(&folder.join("README.md"), "connect-operator", "another");
    let file = |folder: &Path| fs::write(folder.join("new.txt"), "").unwrap();
    let chart = |from: &'static str| {
        move |folder: &Path| {
            replace(
                &folder.join("charts/connect-operator/Chart.yaml"),
                &format!("\n{from}: "),
                &format!("\n{from}: 9"),
            );
        }
    };
    let changelog = |text: &'static str| move |folder: &Path| fs::write(folder.join("CHANGELOG.md"), text).unwrap();
    let unreleased = changelog("# Changelog\n\n## 0.1.0 (unreleased)\n\n- A change.\n");
    let none = changelog("# Changelog\n");
    let rows: [Row; 10] = [
        ("no version", &nothing, false, &[], "usage: scripts/release VERSION"),
        ("two versions", &nothing, false, &[VERSION, VERSION], "usage: scripts/release VERSION"),
        ("a tag", &nothing, false, &["v0.1.0"], "usage: scripts/release VERSION"),
        ("another version", &nothing, false, &["--dry-run", "9.9.9"], "in Cargo.toml is"),
        ("another version of the chart", &chart("version"), true, &["--dry-run"], "version in charts/connect-operator"),
        ("another version of the image", &chart("appVersion"), true, &["--dry-run"], "appVersion in charts/"),
        ("an uncommitted change", &edit, false, &["--dry-run"], "the tree is not clean"),
        ("an uncommitted file", &file, false, &["--dry-run"], "?? new.txt"),
        ("nothing in the changelog", &none, true, &["--dry-run"], "no section of Unreleased"),
        ("no section of the version", &unreleased, true, &[VERSION], &format!("no section of {VERSION}")),
    ];
    for (case, change, committed, arguments, expected) in rows {
        change(&repository.folder());
        if committed {
            repository.commit();
        }
        let output = repository.release(["022", "UTC"], arguments);
        assert!(!output.status.success() && error(&output).contains(expected), "{case}: {}", error(&output));
        assert!(!repository.dist().exists() && !repository.folder().join("target/dist").exists(), "{case}");
        repository.reset();
    }
}

#[test]
fn a_dependency_that_is_denied_is_not_released() {
    let repository = Repository::new();
    let notes = format!("# Changelog\n\n## {VERSION} - 2026-12-01\n\n- A change.\n");
    fs::write(repository.folder().join("CHANGELOG.md"), notes).unwrap();
    repository.commit();
    // Instead of what compiles: refuses everything, and notes what was asked.
    let programs = tempfile::tempdir().unwrap();
    let asked = programs.path().join("asked");
    for name in ["cargo", "rustup"] {
        let program = programs.path().join(name);
        fs::write(&program, format!("#!/bin/sh\necho \"{name} $*\" >>{}\nexit 1\n", asked.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let mut script = Command::new(repository.folder().join("scripts/release"));
    let output = without_settings(script.arg(VERSION).env("PATH", path)).output().unwrap();
    assert!(
        !output.status.success() && error(&output).contains("a dependency must not be released"),
        "{}",
        error(&output)
    );
    assert_eq!(fs::read_to_string(asked).unwrap(), "cargo deny --locked check\n", "nothing was compiled");
    assert!(!repository.folder().join("target/dist").exists());
}

#[test]
fn release_notes_are_the_section_of_the_version() {
    let notes = |version: &str, changelog: &str| {
        let script = in_checkout("scripts/release-notes");
        let mut script = Command::new(script);
        script.args([version, "https://example.com/blob/v1"]);
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(changelog.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() { Ok(String::from_utf8(output.stdout).unwrap()) } else { Err(error(&output)) }
    };
    let changelog = "# Changelog\n\nAbout it.\n\n## 1.2.0 (unreleased)\n\n- New.\n\n## 1.1.0 - 2026-12-01\n\n### Changed\n\n- A.\n\n\
                     ## 1.1.0-rc.1\n\n- [B](docs/b.md#c), [C](https://example.com/c), [D](#d).\n\n## 1.0.0\n\n## 0.1.0\n- E.\n";
    for (version, expected) in [
        ("Unreleased", "- New.\n"),
        ("1.1.0", "### Changed\n\n- A.\n"),
        ("1.1.0-rc.1", "- [B](https://example.com/blob/v1/docs/b.md#c), [C](https://example.com/c), [D](#d).\n"),
        ("0.1.0", "- E.\n"),
    ] {
        assert_eq!(notes(version, changelog).as_deref(), Ok(expected), "{version}");
    }
    for (case, version) in [
        ("an empty section", "1.0.0"),
        ("another version", "1.1"),
        ("no such section", "2.0.0"),
        ("an unreleased version", "1.2.0"),
    ] {
        let refused = notes(version, changelog).expect_err(case);
        assert!(refused.contains(&format!("no section of {version}")), "{case}: {refused}");
    }
}

/// Turns what a dry run made into what `scripts/verify-release` takes for a release.
fn pretend(dist: &Path) {
    fs::remove_file(dist.join("DRY-RUN")).unwrap();
    replace(&dist.join("provenance.json"), "\"dryRun\": true", "\"dryRun\": false");
    let sums = "rm SHA256SUMS; sha256sum -- * >../sums; mv ../sums SHA256SUMS";
    succeed(Command::new("sh").current_dir(dist).args(["-c", sums]));
}

#[test]
fn files_that_no_release_made_are_not_published() {
    let repository = Repository::new();
    let output = repository.dry_run();
    assert!(output.status.success(), "{}", error(&output));
    let (folder, tag) = (repository.folder(), format!("v{VERSION}"));
    let tagged = |commit: &str| drop(succeed(git(&folder).args(["tag", "--force", &tag, commit])));
    let other_commit = |_: &Path| {
        fs::write(folder.join("new.txt"), "").unwrap();
        repository.commit();
        tagged("HEAD");
    };
    let no_tag = |_: &Path| drop(succeed(git(&folder).args(["tag", "--delete", &tag])));
    let no_mark = |dist: &Path| fs::remove_file(dist.join("DRY-RUN")).unwrap();
    let added = |dist: &Path| fs::write(dist.join("more"), "").unwrap();
    let removed = |dist: &Path| fs::remove_file(dist.join("crds.yaml")).unwrap();
    let changed = |dist: &Path| fs::write(dist.join("crds.yaml"), "").unwrap();
    let no_sums = |dist: &Path| fs::remove_file(dist.join("SHA256SUMS")).unwrap();
    let rows: [FolderRow<'_>; 9] = [
        ("a release", false, &|_| {}, None),
        ("a dry run", true, &|_| {}, Some("was made by a dry run")),
        ("a dry run without its mark", true, &no_mark, Some("not those of SHA256SUMS")),
        ("no checksums", false, &no_sums, Some("SHA256SUMS is missing")),
        ("a file more", false, &added, Some("does not list more")),
        ("a file less", false, &removed, Some("not those of SHA256SUMS")),
        ("a changed file", false, &changed, Some("not those of SHA256SUMS")),
        ("no tag", false, &no_tag, Some("there is no tag")),
        ("another commit", false, &other_commit, Some("but target/row was made from")),
    ];
    for (case, dry_run, change, expected) in rows {
        let dist = folder.join("target/row");
        succeed(Command::new("cp").arg("-r").args([&repository.dist(), &dist]));
        if !dry_run {
            pretend(&dist);
        }
        tagged("start");
        change(&dist);
        let mut script = Command::new(folder.join("scripts/verify-release"));
        let output = without_settings(&mut script).arg("target/row").output().unwrap();
        let refused = (!output.status.success()).then(|| error(&output));
        let as_expected = match (&refused, expected) {
            (Some(error), Some(expected)) => error.contains(expected),
            (refused, expected) => refused.is_none() && expected.is_none(),
        };
        assert!(as_expected, "{case}: {refused:?}");
        fs::remove_dir_all(&dist).unwrap();
    }
}
