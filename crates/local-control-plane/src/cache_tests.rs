//! The cache with a real HTTP server on 127.0.0.1 and the toolchains of `tests/fixtures/go`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;

use reqwest::Url;
use sha2::{Digest, Sha512};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::*;
use crate::archive::tests::{GOOD, packed};
use crate::assets::PROGRAMS;
use crate::download::hex;

/// A server that sends configured responses byte for byte.
struct Server {
    address: String,
    /// Paths of the requests.
    seen: Arc<Mutex<Vec<String>>>,
}

/// The response to a path, and whether the connection stays open after it.
type Answer = (Vec<u8>, bool);

impl Server {
    async fn start(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let answers: HashMap<_, _> = answers.into_iter().collect();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let server = Self { address, seen: seen.clone() };
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(connection.read_u8().await.expect("a request"));
                }
                let head = String::from_utf8(head).expect("text");
                let path = head.split(' ').nth(1).expect("a path").to_owned();
                let (bytes, stays) = answers.get(path.as_str()).cloned().unwrap_or_default();
                seen.lock().expect("nobody panics with it").push(path);
                // Fails if the client has given up.
                let _ = connection.write_all(&bytes).await;
                open.extend(stays.then_some(connection));
            }
        });
        server
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("nobody panics with it").clone()
    }
}

fn response(head: &str, body: &[u8]) -> Answer {
    ([format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes(), body].concat(), false)
}

fn whole(body: &[u8]) -> Answer {
    response(&format!("200 OK\r\ncontent-length: {}", body.len()), body)
}

fn redirect(to: &str) -> Answer {
    response(&format!("302 Found\r\nlocation: {to}\r\ncontent-length: 0"), b"")
}

/// Leaves bytes out at the end.
fn cut((mut bytes, _): Answer, missing: usize, stays: bool) -> Answer {
    bytes.truncate(bytes.len() - missing);
    (bytes, stays)
}

/// Returns a cache in a new folder with this archive address and this toolchain.
fn cache(address: &str, toolchain: &str) -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let go = format!("{}/tests/fixtures/go/{toolchain}", env!("CARGO_MANIFEST_DIR"));
    let address = Url::parse(address).expect("an address");
    let archive = Some(Archive { address, sha512: hex(&Sha512::digest(packed(&GOOD))) });
    let cache = Cache { folder: folder.path().join("cache"), archive, go: go.into() };
    (folder, cache)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the programs, and what was reported.
async fn programs(cache: &Cache) -> (Result<Assets, Error>, Vec<String>) {
    let steps = RefCell::new(Vec::new());
    let assets = cache.programs(&|step| steps.borrow_mut().push(step.to_owned())).await;
    (assets, steps.into_inner())
}

fn unfinished(cache: &Cache) -> PathBuf {
    cache.downloaded().with_added_extension("unfinished")
}

/// Asserts that the programs of a cache were built and that nothing of a download is left.
fn assert_built(case: &str, cache: &Cache, assets: &Assets) {
    assert_eq!(text(&assets.etcd), "whole\n", "{case}");
    assert_eq!(text(&cache.built().join("calls")).lines().count(), PROGRAMS.len(), "{case}");
    assert!(!cache.downloaded().exists() && !unfinished(cache).exists(), "{case}");
}

#[tokio::test]
async fn a_good_archive_is_downloaded_once_also_from_another_host() {
    let elsewhere = Server::start([("/2?token=1", redirect("/3")), ("/3", whole(&packed(&GOOD)))]).await;
    let there = format!("{}/2?token=1", elsewhere.address);
    let server = Server::start([("/archive", redirect("/1")), ("/1", redirect(&there))]).await;
    let (_folder, cache) = cache(&format!("{}/archive", server.address), "missing");
    // A remainder of a killed process does not matter.
    std::fs::create_dir_all(unfinished(&cache).join("programs")).expect("a folder");
    std::fs::write(unfinished(&cache).join("programs/etcd"), "half").expect("a file");

    let (assets, steps) = programs(&cache).await;
    let assets = assets.expect("downloaded");
    for (program, path) in PROGRAMS.into_iter().zip([&assets.etcd, &assets.kube_apiserver, &assets.kubectl]) {
        assert_eq!(text(path), format!("{program}, downloaded"));
    }
    assert!(!unfinished(&cache).exists());
    let expected = [
        "asking 127.0.0.1 for etcd, kube-apiserver and kubectl",
        "downloading etcd, kube-apiserver and kubectl, once; 1 MB",
        "downloaded etcd, kube-apiserver and kubectl",
    ];
    assert_eq!(steps, expected);
    assert_eq!(server.seen(), ["/archive", "/1"]);
    assert_eq!(elsewhere.seen(), ["/2?token=1", "/3"]);

    let (again, steps) = programs(&cache).await;
    assert_eq!((again.expect("the cache has them"), steps.len(), server.seen().len()), (assets.clone(), 0, 2));
    std::fs::remove_file(&assets.kubectl).expect("it existed before");
    assert_eq!(programs(&cache).await.0.expect("downloaded again"), assets);
    assert_eq!(server.seen().len(), 4);
}

/// Time passes at once whenever everything waits.
#[tokio::test(start_paused = true)]
async fn without_a_good_archive_the_programs_are_built() {
    let archive = packed(&GOOD);
    let mut corrupted = archive.clone();
    corrupted[archive.len() / 2] ^= 1;
    let half = archive.len() / 2;
    let lacks_kubectl = packed(&GOOD[..3]);
    let published = "the archive is not the published one: its ";
    for (case, answer, expected) in [
        ("corrupted", whole(&corrupted), format!("{published}{} bytes have the SHA-512 sum", archive.len())),
        (
            "truncated",
            cut(whole(&archive), archive.len() - half, false),
            format!("the download broke after {half} bytes: "),
        ),
        (
            "truncated, of no announced length",
            response("200 OK", &archive[..half]),
            format!("{published}{half} bytes have the SHA-512 sum"),
        ),
        ("standing still", cut(whole(&archive), 9, true), "the download broke after ".to_owned()),
        (
            "too large",
            response("200 OK\r\ncontent-length: 536870913", b"x"),
            "the archive has more than 536870912 bytes".to_owned(),
        ),
        ("not found", response("404 Not Found", b""), "127.0.0.1 answered 404 Not Found".to_owned()),
        ("closed without an answer", Answer::default(), "no response from 127.0.0.1: ".to_owned()),
        ("never answered", (Vec::new(), true), "no response from 127.0.0.1: operation timed out".to_owned()),
        ("redirected in a circle", redirect("/archive"), "no response from 127.0.0.1: too many redirects".to_owned()),
        ("redirected to nowhere", redirect("ftp://a.test/"), "no response from 127.0.0.1: URL scheme".to_owned()),
        (
            "the right sum and the wrong content",
            whole(&lacks_kubectl),
            "the archive cannot be unpacked: missing programs: kubectl".to_owned(),
        ),
    ] {
        let server = Server::start([("/archive", answer)]).await;
        let (_folder, mut cache) = cache(&format!("{}/archive", server.address), "works");
        if case.starts_with("the right sum") {
            cache.archive.as_mut().expect("there is one").sha512 = hex(&Sha512::digest(&lacks_kubectl));
        }
        let (assets, steps) = programs(&cache).await;
        assert_built(case, &cache, &assets.expect(case));
        let expected = format!("not downloaded, so they are built with Go: {expected}");
        assert!(steps.iter().any(|step| step.starts_with(&expected)), "{case}: {steps:#?}");
    }
}

#[tokio::test]
async fn two_at_once_download_or_build_once() {
    let server = Server::start([("/archive", whole(&packed(&GOOD)))]).await;
    for (case, path, toolchain, builds) in
        [("downloaded", "archive", "missing", 0), ("built", "nothing", "works", PROGRAMS.len())]
    {
        let (_folder, cache) = cache(&format!("{}/{path}", server.address), toolchain);
        let ((first, one), (second, other)) = tokio::join!(programs(&cache), programs(&cache));
        assert_eq!(first.expect(case), second.expect(case));
        let waited = one.iter().chain(&other).filter(|step| step.starts_with("waiting for another process"));
        assert_eq!(waited.count(), 1, "reported once: {case}");
        assert_eq!(text(&cache.built().join("calls")).lines().count(), builds, "{case}");
    }
    assert_eq!(server.seen(), ["/archive", "/nothing"]);
}

#[tokio::test]
async fn nothing_is_downloaded_if_the_programs_were_built_or_are_to_be() {
    let server = Server::start([("/archive", whole(&packed(&GOOD)))]).await;
    let (_folder, mut cache) = cache(&format!("{}/archive", server.address), "works");
    let archive = cache.archive.take();
    let built = programs(&cache).await.0.expect("built");
    assert_built("without an archive", &cache, &built);
    cache.archive = archive;
    assert_eq!(programs(&cache).await.0.expect("the cache has them"), built);
    assert_eq!(server.seen(), Vec::<String>::new());

    // Conversely, downloaded programs are not used if they are to be built.
    std::fs::remove_dir_all(cache.built()).expect("it existed before");
    assert_ne!(programs(&cache).await.0.expect("downloaded"), built);
    cache.archive = None;
    assert_eq!(programs(&cache).await.0.expect("built again"), built);
}

#[tokio::test]
async fn if_neither_way_works_the_error_names_both_and_what_to_do() {
    let (refusing, _held) = test_support::addresses::closed();
    let address = format!("http://{refusing}/archive");
    for (toolchain, expected) in
        [("missing", "tests/fixtures/go/missing cannot be run"), ("breaks", "building etcd failed")]
    {
        let (_folder, cache) = cache(&address, toolchain);
        let error = programs(&cache).await.0.expect_err(toolchain).to_string();
        for part in
            [&address, "no response from 127.0.0.1: Connection refused", "HTTPS_PROXY", "KUBEBUILDER_ASSETS", expected]
        {
            assert!(error.contains(part), "{toolchain}: {part}: {error}");
        }
    }
}

#[tokio::test]
async fn an_abandoned_download_leaves_nothing_and_the_next_one_starts_over() {
    let archive = packed(&GOOD);
    let halting = Server::start([("/archive", cut(whole(&archive), 9, true))]).await;
    let (_folder, mut cache) = cache(&format!("{}/archive", halting.address), "missing");
    let begun = Notify::new();
    let report = |step: &str| {
        if step.starts_with("downloading") {
            begun.notify_one();
        }
    };
    tokio::select! {
        result = cache.programs(&report) => panic!("it ended: {result:?}"),
        () = begun.notified() => {}
    }
    assert!(!unfinished(&cache).exists());

    let server = Server::start([("/archive", whole(&archive))]).await;
    let address = Url::parse(&format!("{}/archive", server.address)).expect("an address");
    cache.archive.as_mut().expect("there is one").address = address;
    let assets = programs(&cache).await.0.expect("downloaded");
    assert_eq!(text(&assets.etcd), "etcd, downloaded");
}
