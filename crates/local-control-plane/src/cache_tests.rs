//! The cache with a real HTTP server on 127.0.0.1 and the toolchains of `tests/fixtures/go`. Time is stepped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Mutex;

use jiff::Timestamp;
use reqwest::Url;
use sha2::{Digest, Sha512};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::*;
use crate::archive::tests::{GOOD, packed};
use crate::assets::PROGRAMS;
use crate::download::{FIRST_ANSWER_WITHIN, SILENT_FOR, hex};

/// The response to a path.
#[derive(Clone, Default)]
struct Answer {
    /// Sent immediately.
    bytes: Vec<u8>,
    /// Sent when [`Server::go_on`] is notified; after that, or if `None`, the connection is closed.
    later: Option<Vec<u8>>,
}

/// A server that sends configured responses byte for byte.
struct Server {
    address: String,
    /// Paths of the requests.
    seen: Arc<Mutex<Vec<String>>>,
    go_on: Arc<Notify>,
}

impl Server {
    async fn start(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let answers: Arc<HashMap<_, _>> = Arc::new(answers.into_iter().collect());
        let (seen, go_on) = (Arc::default(), Arc::new(Notify::new()));
        let server = Self { address, seen, go_on };
        let (seen, go_on) = (server.seen.clone(), server.go_on.clone());
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answer(connection, answers.clone(), seen.clone(), go_on.clone()));
            }
        });
        server
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("nobody panics with it").clone()
    }
}

async fn answer(
    mut connection: TcpStream,
    answers: Arc<HashMap<&'static str, Answer>>,
    seen: Arc<Mutex<Vec<String>>>,
    go_on: Arc<Notify>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await.expect("a request"));
    }
    let head = String::from_utf8(head).expect("text");
    let path = head.split(' ').nth(1).expect("a path").to_owned();
    seen.lock().expect("nobody panics with it").push(path.clone());
    let answer = answers.get(path.as_str()).cloned().unwrap_or_default();
    // Fails if the client has given up.
    let _ = connection.write_all(&answer.bytes).await;
    if let Some(later) = answer.later {
        go_on.notified().await;
        let _ = connection.write_all(&later).await;
    }
    let _ = connection.shutdown().await;
}

fn whole(body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Answer { bytes: [head.as_bytes(), body].concat(), later: None }
}

fn redirect(to: &str) -> Answer {
    let text = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    Answer { bytes: text.into_bytes(), later: None }
}

/// Truncates a response to its first bytes; then the connection is closed.
fn cut(mut answer: Answer, bytes: usize) -> Answer {
    answer.bytes.truncate(bytes);
    answer
}

/// Splits a response: the rest is sent on notification.
fn halting(mut answer: Answer, bytes: usize) -> Answer {
    let later = answer.bytes.split_off(bytes);
    Answer { later: Some(later), ..answer }
}

/// Returns a cache in a new folder with this archive address and this toolchain.
fn cache(address: &str, toolchain: &str) -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let go = format!("{}/tests/fixtures/go/{toolchain}", env!("CARGO_MANIFEST_DIR"));
    let address = Url::parse(address).expect("an address");
    let archive = Some(Archive { address, sha512: hex(&Sha512::digest(packed(&GOOD))) });
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let cache = Cache { folder: folder.path().join("cache"), archive, go: go.into(), clock };
    (folder, cache)
}

/// Runs `work` while time passes from the moment that `begun` returns true.
async fn while_time_passes<T>(clock: &Clock, begun: impl Fn() -> bool, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::task::yield_now() => if begun() { clock.step(Duration::from_secs(1)) },
        }
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Asserts that the programs of a cache were built and that nothing of a download is left.
fn assert_built(case: &str, cache: &Cache, assets: &Assets) {
    assert_eq!(text(&assets.etcd), "whole\n", "{case}");
    assert_eq!(text(&cache.built().join("calls")).lines().count(), PROGRAMS.len(), "{case}");
    assert!(!cache.downloaded().exists(), "{case}");
    let unfinished = cache.downloaded().with_added_extension("unfinished");
    assert!(!unfinished.exists(), "{case}");
}

#[tokio::test]
async fn a_good_archive_is_downloaded_once() {
    let archive = packed(&GOOD);
    let server = Server::start([("/archive", whole(&archive))]).await;
    let (_folder, cache) = cache(&format!("{}/archive", server.address), "missing");
    // A remainder of a killed process does not matter.
    let unfinished = cache.downloaded().with_added_extension("unfinished");
    std::fs::create_dir_all(unfinished.join("programs")).expect("a folder");
    std::fs::write(unfinished.join("programs/etcd"), "half").expect("a file");

    let steps = RefCell::new(Vec::new());
    let report = |step: Step| steps.borrow_mut().push(step.to_string());
    let assets = cache.programs(&report).await.expect("downloaded");
    for (program, path) in PROGRAMS.into_iter().zip([&assets.etcd, &assets.kube_apiserver, &assets.kubectl]) {
        assert_eq!(text(path), format!("{program}, downloaded"));
    }
    assert!(!unfinished.exists());
    let expected = [
        "asking 127.0.0.1 for etcd, kube-apiserver and kubectl",
        "downloading etcd, kube-apiserver and kubectl, once; 1 MB",
        "downloaded etcd, kube-apiserver and kubectl",
    ];
    assert_eq!(*steps.borrow(), expected);

    assert_eq!(cache.programs(&report).await.expect("the cache has them"), assets);
    assert_eq!((server.seen().len(), steps.borrow().len()), (1, expected.len()));

    std::fs::remove_file(&assets.kubectl).expect("it existed before");
    assert_eq!(cache.programs(&report).await.expect("downloaded again"), assets);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn an_invalid_archive_is_not_used_and_the_programs_are_built() {
    let archive = packed(&GOOD);
    let mut corrupted = archive.clone();
    corrupted[archive.len() / 2] ^= 1;
    let half = archive.len() / 2;
    let closed = |body: &[u8]| [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", body].concat();
    let huge = Answer { bytes: b"HTTP/1.1 200 OK\r\ncontent-length: 536870913\r\n\r\n".to_vec(), later: None };
    let missing = Answer { bytes: b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(), later: None };
    let head = whole(&archive).bytes.len() - archive.len();
    let published = "the archive is not the published one: its ";
    for (case, answer, expected) in [
        ("corrupted", whole(&corrupted), format!("{published}{} bytes have the SHA-512 sum", archive.len())),
        ("truncated", cut(whole(&archive), head + half), format!("the download broke after {half} bytes: ")),
        (
            "truncated, of no announced length",
            Answer { bytes: closed(&archive[..half]), later: None },
            format!("{published}{half} bytes have the SHA-512 sum"),
        ),
        ("too large", huge, "the archive has more than 536870912 bytes".to_owned()),
        ("not found", missing, "127.0.0.1 answered 404 Not Found".to_owned()),
        ("closed without an answer", Answer::default(), "no response from 127.0.0.1: ".to_owned()),
        ("redirected in a circle", redirect("/archive"), "more than 5 redirects".to_owned()),
        ("redirected to nowhere", redirect("ftp://a.test/"), "a redirect to ftp, which is not HTTPS".to_owned()),
    ] {
        let server = Server::start([("/archive", answer)]).await;
        let (_folder, cache) = cache(&format!("{}/archive", server.address), "works");
        let steps = RefCell::new(Vec::new());
        let assets = cache.programs(&|step| steps.borrow_mut().push(step)).await.expect(case);
        assert_built(case, &cache, &assets);
        let whys: Vec<_> =
            steps.borrow().iter().filter(|step| matches!(step, Step::NotDownloaded { .. })).cloned().collect();
        let [Step::NotDownloaded { why }] = &whys[..] else { panic!("{case}: {steps:?}") };
        assert!(why.starts_with(&expected), "{case}: {why}");
        assert_eq!(server.seen().len(), if case == "redirected in a circle" { 6 } else { 1 }, "{case}");
    }
}

#[tokio::test]
async fn an_archive_with_the_right_sum_and_wrong_content_is_not_used() {
    let archive = packed(&GOOD[..3]);
    let server = Server::start([("/archive", whole(&archive))]).await;
    let (_folder, mut cache) = cache(&format!("{}/archive", server.address), "works");
    cache.archive.as_mut().expect("there is one").sha512 = hex(&Sha512::digest(&archive));
    let steps = RefCell::new(Vec::new());
    let assets = cache.programs(&|step| steps.borrow_mut().push(step.to_string())).await.expect("built");
    assert_built("no kubectl", &cache, &assets);
    assert_eq!(
        steps.borrow()[2],
        "not downloaded, so they are built with Go: the archive cannot be unpacked: missing programs: kubectl"
    );
}

#[tokio::test]
async fn redirects_are_followed_also_to_another_host() {
    let elsewhere = Server::start([("/2?token=1", redirect("/3")), ("/3", whole(&packed(&GOOD)))]).await;
    let there = format!("{}/2?token=1", elsewhere.address);
    let server = Server::start([("/archive", redirect("/1")), ("/1", redirect(&there))]).await;
    let (_folder, cache) = cache(&format!("{}/archive", server.address), "missing");
    let assets = cache.programs(&|_| {}).await.expect("downloaded");
    assert_eq!(text(&assets.etcd), "etcd, downloaded");
    assert_eq!(
        (server.seen(), elsewhere.seen()),
        (vec!["/archive".into(), "/1".into()], vec!["/2?token=1".into(), "/3".into()])
    );
}

#[tokio::test]
async fn without_an_answer_the_programs_are_built() {
    let silence = Answer { bytes: Vec::new(), later: Some(Vec::new()) };
    let server = Server::start([("/silent", silence), ("/redirected", redirect("/silent"))]).await;
    let (refusing, _held) = test_support::addresses::closed();
    for (case, address, expected) in [
        ("refused", format!("http://{refusing}/"), "no response from 127.0.0.1: Connection refused".to_owned()),
        (
            "never answered",
            format!("{}/silent", server.address),
            format!("no response from 127.0.0.1 within {} s", FIRST_ANSWER_WITHIN.as_secs()),
        ),
        (
            "never answered after a redirect",
            format!("{}/redirected", server.address),
            format!("no response from 127.0.0.1 within {} s", SILENT_FOR.as_secs()),
        ),
    ] {
        let (_folder, cache) = cache(&address, "works");
        let why = RefCell::new(String::new());
        let report = |step: Step| {
            if let Step::NotDownloaded { why: reason } = step {
                why.replace(reason);
            }
        };
        let begun = || server.seen().last().is_some_and(|path| path == "/silent");
        let assets = while_time_passes(&cache.clock, begun, cache.programs(&report)).await.expect(case);
        assert_built(case, &cache, &assets);
        assert!(why.borrow().starts_with(&expected), "{case}: {why:?}");
        server.seen.lock().expect("nobody panics with it").clear();
    }
}

#[tokio::test]
async fn a_download_may_be_slow_but_not_stand_still() {
    let archive = packed(&GOOD);
    let body_halts = halting(whole(&archive), whole(&archive).bytes.len() - 9);
    let server = Server::start([("/archive", body_halts)]).await;
    for (case, halted, goes_on) in [("slow", FIRST_ANSWER_WITHIN * 2, true), ("standing still", Duration::ZERO, false)]
    {
        let (_folder, cache) = cache(&format!("{}/archive", server.address), "works");
        let (halts, why) = (RefCell::new(false), RefCell::new(None));
        let report = |step: Step| match step {
            Step::Downloading { .. } => {
                cache.clock.step(halted);
                if goes_on {
                    server.go_on.notify_one();
                }
                halts.replace(!goes_on);
            }
            Step::NotDownloaded { why: reason } => {
                why.replace(Some(reason));
            }
            _ => {}
        };
        let work = cache.programs(&report);
        let assets = while_time_passes(&cache.clock, || *halts.borrow(), work).await.expect(case);
        if goes_on {
            assert_eq!((text(&assets.etcd).as_str(), why.take()), ("etcd, downloaded", None), "{case}");
        } else {
            assert_built(case, &cache, &assets);
            let why = why.take().unwrap_or_default();
            let expected = format!("no data arrived for {} s after ", SILENT_FOR.as_secs());
            assert!(why.starts_with(&expected), "{case}: {why}");
        }
    }
}

#[tokio::test]
async fn two_at_once_download_or_build_once() {
    let server = Server::start([("/archive", whole(&packed(&GOOD)))]).await;
    for (case, address, toolchain) in [
        ("downloaded", format!("{}/archive", server.address), "missing"),
        ("built", format!("{}/nothing", server.address), "works"),
    ] {
        let (_folder, cache) = cache(&address, toolchain);
        let waited = RefCell::new(0);
        let report = |step: Step| {
            if step == Step::WaitingForAnotherProcess {
                *waited.borrow_mut() += 1;
            }
        };
        let (first, second) = tokio::join!(cache.programs(&report), cache.programs(&report));
        assert_eq!(first.expect(case), second.expect(case));
        assert_eq!(waited.into_inner(), 1, "reported once: {case}");
        let built = text(&cache.built().join("calls")).lines().count();
        assert_eq!(built, if toolchain == "works" { PROGRAMS.len() } else { 0 }, "{case}");
    }
    assert_eq!(server.seen(), ["/archive", "/nothing"]);
}

#[tokio::test]
async fn nothing_is_downloaded_if_the_programs_were_built_or_are_to_be() {
    let server = Server::start([("/archive", whole(&packed(&GOOD)))]).await;
    let (_folder, mut cache) = cache(&format!("{}/archive", server.address), "works");
    let archive = cache.archive.take();
    let built = cache.programs(&|_| {}).await.expect("built");
    assert_built("without an archive", &cache, &built);
    cache.archive = archive;
    assert_eq!(cache.programs(&|_| {}).await.expect("the cache has them"), built);
    assert_eq!(server.seen(), Vec::<String>::new());

    // Conversely, downloaded programs are not used if they are to be built.
    std::fs::remove_dir_all(cache.built()).expect("it existed before");
    let downloaded = cache.programs(&|_| {}).await.expect("downloaded");
    assert_ne!(downloaded, built);
    cache.archive = None;
    assert_eq!(cache.programs(&|_| {}).await.expect("built again"), built);
}

#[tokio::test]
async fn if_neither_way_works_the_error_names_both_and_what_to_do() {
    let server = Server::start([]).await;
    let address = format!("{}/archive", server.address);
    for (toolchain, expected) in
        [("missing", "tests/fixtures/go/missing cannot be run"), ("breaks", "building etcd failed")]
    {
        let (_folder, cache) = cache(&address, toolchain);
        let error = cache.programs(&|_| {}).await.expect_err(toolchain);
        assert!(matches!(error, Error::NoPrograms { .. }), "{error}");
        let error = error.to_string();
        for part in [&address, "no response from 127.0.0.1", "HTTPS_PROXY", "KUBEBUILDER_ASSETS", expected] {
            assert!(error.contains(part), "{toolchain}: {part}: {error}");
        }
    }
}

#[tokio::test]
async fn an_abandoned_download_leaves_nothing_and_the_next_one_starts_over() {
    let archive = packed(&GOOD);
    let server = Server::start([("/archive", halting(whole(&archive), 200))]).await;
    let (_folder, mut cache) = cache(&format!("{}/archive", server.address), "missing");
    let begun = Notify::new();
    let report = |step: Step| {
        if matches!(step, Step::Downloading { .. }) {
            begun.notify_one();
        }
    };
    tokio::select! {
        result = cache.programs(&report) => panic!("it ended: {result:?}"),
        () = begun.notified() => {}
    }
    assert!(!cache.downloaded().with_added_extension("unfinished").exists());

    let whole = Server::start([("/archive", whole(&archive))]).await;
    let address = Url::parse(&format!("{}/archive", whole.address)).expect("an address");
    cache.archive.as_mut().expect("there is one").address = address;
    let assets = cache.programs(&|_| {}).await.expect("downloaded");
    assert_eq!(text(&assets.etcd), "etcd, downloaded");
}
