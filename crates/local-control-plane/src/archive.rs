//! The archive of etcd, kube-apiserver and kubectl that `kubernetes-sigs/controller-tools` publishes for envtest.
//!
//! The SHA-512 sum of each archive is compiled into this program. Nothing is unpacked before the whole archive is
//! verified, and only the three programs are unpacked, as regular files. See `download.rs` for the download.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::read::GzDecoder;
use reqwest::Url;

use super::assets::PROGRAMS;
use super::versions;

/// SHA-512 sums of the archives of [`versions::ENVTEST`] for each platform. Source: `envtest-releases.yaml` of
/// kubernetes-sigs/controller-tools.
#[rustfmt::skip]
const SUMS: [(&str, &str); 4] = [
    (
        "linux-amd64",
        "ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08",
    ),
    (
        "linux-arm64",
        "2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac",
    ),
    (
        "darwin-amd64",
        "b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514",
    ),
    (
        "darwin-arm64",
        "9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce",
    ),
];

/// Folder of the programs in an archive.
const FOLDER: &str = "controller-tools/envtest";

/// Maximum size of an unpacked program in bytes; kube-apiserver has about 100 MB.
const LARGEST_PROGRAM: u64 = 1 << 30;

/// The address and the expected sum of an archive.
#[derive(Clone, Debug)]
pub(super) struct Archive {
    /// URL of the archive.
    pub(super) address: Url,
    /// Its SHA-512 sum in lowercase hexadecimal digits.
    pub(super) sha512: String,
}

impl Archive {
    /// Returns the archive for this machine, if one is published.
    pub(super) fn published() -> Option<Self> {
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let processor = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self::of(&format!("{system}-{processor}"))
    }

    fn of(platform: &str) -> Option<Self> {
        let (_, sha512) = SUMS.iter().find(|(published, _)| *published == platform)?;
        let release = format!("envtest-{}", versions::ENVTEST);
        let releases = "https://github.com/kubernetes-sigs/controller-tools/releases/download";
        let address = Url::parse(&format!("{releases}/{release}/{release}-{platform}.tar.gz")).ok()?;
        Some(Self { address, sha512: (*sha512).to_owned() })
    }
}

/// Unpacks the programs of `archive` into the empty `folder`. All other entries are ignored.
///
/// # Errors
/// Fails if a program is missing, occurs twice, is too large or is not a regular file, or if a file cannot be read or
/// written.
pub(super) fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?;
        let path = path.strip_prefix(".").unwrap_or(&path);
        let Some(program) = PROGRAMS.into_iter().find(|program| path == Path::new(FOLDER).join(program)) else {
            continue;
        };
        if !entry.header().entry_type().is_file() {
            return Err(io::Error::other(format!("{program} is not a regular file")));
        }
        if entry.size() > LARGEST_PROGRAM {
            return Err(io::Error::other(format!("{program} is too large: {} bytes", entry.size())));
        }
        write(entry, &folder.join(program))?;
    }
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|program| !folder.join(program).is_file()).collect();
    if missing.is_empty() { Ok(()) } else { Err(io::Error::other(format!("missing programs: {}", missing.join(", ")))) }
}

/// Writes a program to a new file and syncs it to the disk.
fn write(mut program: impl Read, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    io::copy(&mut program, &mut file)?;
    file.sync_all()
}

#[cfg(test)]
#[path = "archive_tests.rs"]
pub(super) mod tests;
