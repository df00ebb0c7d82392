//! Unpacking of archives, good and bad.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

use super::*;

/// An archive entry: its path and its kind.
pub(crate) type Entry<'a> = (&'a str, Kind<'a>);

#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    File(&'a str),
    Folder,
    Symlink(&'a str),
    HardLink(&'a str),
    /// A file whose header claims this size.
    Claims(u64),
}

use Kind::{Claims, Folder, HardLink, Symlink};

/// The three programs, as in a published archive.
pub(crate) const GOOD: [Entry<'static>; 4] = [
    ("controller-tools/envtest/", Folder),
    ("controller-tools/envtest/etcd", Kind::File("etcd, downloaded")),
    ("controller-tools/envtest/kube-apiserver", Kind::File("kube-apiserver, downloaded")),
    ("controller-tools/envtest/kubectl", Kind::File("kubectl, downloaded")),
];

/// Returns an archive with these entries, whose paths are written unchanged.
pub(crate) fn packed(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind) in entries {
        let (entry_type, text, size) = match *kind {
            Kind::File(text) => (EntryType::Regular, text, text.len() as u64),
            Folder => (EntryType::Directory, "", 0),
            Symlink(_) => (EntryType::Symlink, "", 0),
            HardLink(_) => (EntryType::Link, "", 0),
            Claims(size) => (EntryType::Regular, "", size),
        };
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        if let Symlink(to) | HardLink(to) = *kind {
            header.set_link_name(to).expect("a short name");
        }
        header.set_entry_type(entry_type);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, text.as_bytes()).expect("memory can be written");
    }
    archive.into_inner().and_then(GzEncoder::finish).expect("memory can be written")
}

/// Unpacks `bytes` into an empty folder; returns the result and the temporary folder that contains both.
fn unpacked(bytes: &[u8]) -> (io::Result<()>, tempfile::TempDir) {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let (archive, folder) = (temporary.path().join("archive"), temporary.path().join("a/b/programs"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::File::create(&archive).and_then(|mut file| file.write_all(bytes)).expect("a file");
    (unpack(&archive, &folder), temporary)
}

/// Returns everything below `folder` that is not a folder, with its content.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.symlink_metadata().expect("the path exists").is_dir() {
            found.extend(files(&path));
        } else {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

/// Returns the names of the unpacked files, without the archive.
fn names(temporary: &tempfile::TempDir) -> Vec<String> {
    files(temporary.path()).into_iter().map(|(name, _)| name).filter(|name| name != "archive").collect()
}

#[test]
fn the_three_programs_are_unpacked_as_executable_files_and_nothing_else_is() {
    use std::os::unix::fs::PermissionsExt;

    let more = [
        ("controller-tools/envtest/README", Kind::File("text")),
        ("controller-tools/envtest/../envtest/etcd", Kind::File("elsewhere")),
        ("../../escaped", Kind::File("elsewhere")),
        ("/tmp/connect-operator-escaped", Kind::File("elsewhere")),
        ("controller-tools/envtest/link", Symlink("/etc")),
        ("controller-tools/envtest/link/escaped", Kind::File("elsewhere")),
        ("etcd", Kind::File("elsewhere")),
    ];
    let dotted = GOOD.map(|(path, kind)| (format!("./{path}"), kind));
    let dotted: Vec<_> = dotted.iter().map(|(path, kind)| (path.as_str(), *kind)).collect();
    // The entry is ignored, so that the programs still go into the target folder.
    let link = [("controller-tools/envtest", Symlink("/nonexistent"))];
    for (case, entries) in [
        ("as published", GOOD.to_vec()),
        ("more around it", [&more[..], &GOOD].concat()),
        ("more after it", [&GOOD[..], &more].concat()),
        ("paths that begin with a dot", dotted),
        ("a link in place of the folder", [&link[..], &GOOD[1..]].concat()),
    ] {
        let (result, temporary) = unpacked(&packed(&entries));
        result.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(names(&temporary), PROGRAMS, "{case}");
        for program in PROGRAMS {
            let path = temporary.path().join("a/b/programs").join(program);
            assert_eq!(std::fs::read_to_string(&path).expect("text"), format!("{program}, downloaded"), "{case}");
            assert_eq!(path.metadata().expect("the path exists").permissions().mode() & 0o100, 0o100, "{case}");
        }
    }
    assert!(!Path::new("/tmp/connect-operator-escaped").exists());
}

#[test]
fn an_invalid_archive_is_refused() {
    let etcd = |kind| [&[("controller-tools/envtest/etcd", kind)], &GOOD[2..]].concat();
    let gzip = packed(&GOOD);
    let mut broken = gzip.clone();
    let middle = broken.len() / 2;
    broken[middle] ^= 0xff;
    for (case, bytes, expected) in [
        ("a link", packed(&etcd(Symlink("/bin/sh"))), "etcd is not a regular file"),
        ("a hard link", packed(&etcd(HardLink("/bin/sh"))), "etcd is not a regular file"),
        ("a folder", packed(&etcd(Folder)), "etcd is not a regular file"),
        ("too large", packed(&etcd(Claims(LARGEST_PROGRAM + 1))), "etcd is too large: 1073741825 bytes"),
        ("a program is missing", packed(&GOOD[..3]), "missing programs: kubectl"),
        ("empty", packed(&[]), "missing programs: etcd, kube-apiserver, kubectl"),
        ("a program twice", packed(&[GOOD[1], GOOD[1]]), "File exists"),
        ("cut off", gzip[..middle].to_vec(), ""),
        ("not gzip", b"<html><body>Not Found</body></html>".to_vec(), "invalid gzip header"),
        ("broken inside", broken, ""),
    ] {
        let (result, _temporary) = unpacked(&bytes);
        let error = result.expect_err(case).to_string();
        assert!(error.contains(expected), "{case}: {error}");
    }
}

#[test]
fn each_platform_has_an_archive_of_the_same_release_and_a_sum() {
    for platform in ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"] {
        let Archive { address, sha512 } = Archive::of(platform).expect("it is published");
        let expected = format!(
            "https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-{0}/envtest-{0}-{platform}.tar.gz",
            versions::ENVTEST
        );
        assert_eq!(address.as_str(), expected);
        let digits = sha512.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
        assert!(sha512.len() == 128 && digits, "{platform}: {sha512}");
    }
    let mut sums = SUMS.map(|(_, sum)| sum).to_vec();
    sums.sort_unstable();
    sums.dedup();
    assert_eq!(sums.len(), SUMS.len());
    assert!(Archive::of("plan9-386").is_none());
}
