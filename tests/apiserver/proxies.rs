//! The API server behind a proxy, as in most companies: the commands follow the variables and the kubeconfig as kubectl
//! does. The name of the API server resolves nowhere but at the proxy, so whoever does without it reaches nothing.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::prelude::*;
use crate::tls_listener;

/// The name of the API server (RFC 6761: `.test` resolves nowhere).
const NAME: &str = "kubernetes.test";

/// A proxy that speaks HTTP, also by TLS, and SOCKS 5, and leads every name to this machine.
struct Proxy {
    http: String,
    https: String,
    /// What it was asked for: protocol, and host with port.
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Proxy {
    async fn start() -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        let [plain, secure] = [TcpListener::bind("127.0.0.1:0").await, TcpListener::bind("127.0.0.1:0").await];
        let (plain, secure) = (plain.unwrap(), secure.unwrap());
        let [http, https] = [&plain, &secure].map(|listener| listener.local_addr().unwrap().to_string());
        let (acceptor, _) = tls_listener::acceptor(&[]);
        let (of_plain, of_secure) = (Arc::clone(&asked), Arc::clone(&asked));
        serving.spawn(async move {
            while let Ok((stream, _)) = plain.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&of_plain)));
            }
        });
        serving.spawn(async move {
            while let Ok((stream, _)) = secure.accept().await {
                let stream = acceptor.accept(stream).await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&of_secure)));
            }
        });
        Self { http, https, asked, _serving: serving }
    }
}

/// Answers one request for a connection, and connects to the port on this machine.
async fn serve(mut client: impl AsyncRead + AsyncWrite + Unpin, asked: Arc<Mutex<Vec<String>>>) {
    let mut first = [0];
    client.read_exact(&mut first).await.unwrap();
    let (protocol, target, answer) =
        if first == [5] { socks(&mut client).await } else { http(&mut client, first[0]).await };
    let port: u16 = target.rsplit_once(':').unwrap().1.parse().unwrap();
    asked.lock().unwrap().push(format!("{protocol} {target}"));
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    client.write_all(&answer).await.unwrap();
    // Either side may break off at any time.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

/// RFC 9110 section 9.3.6, with the user of RFC 7617 if there is one.
async fn http(client: &mut (impl AsyncRead + AsyncWrite + Unpin), first: u8) -> (String, String, Vec<u8>) {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned();
    let known = head.to_lowercase().contains("proxy-authorization: basic dxnlcjpwqhnz");
    let protocol = if known { "CONNECT as user" } else { "CONNECT" };
    (protocol.to_owned(), target, b"HTTP/1.1 200 OK\r\n\r\n".to_vec())
}

/// RFC 1928, without a user.
async fn socks(client: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> (String, String, Vec<u8>) {
    let methods = client.read_u8().await.unwrap();
    client.read_exact(&mut vec![0; methods.into()]).await.unwrap();
    client.write_all(&[5, 0]).await.unwrap();
    let mut request = [0; 5];
    client.read_exact(&mut request).await.unwrap();
    assert_eq!(&request[..4], [5, 1, 0, 3], "a connection to a name");
    let mut name = vec![0; request[4].into()];
    client.read_exact(&mut name).await.unwrap();
    let port = client.read_u16().await.unwrap();
    let target = format!("{}:{port}", String::from_utf8(name).unwrap());
    ("SOCKS".to_owned(), target, vec![5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
}

/// The name of the case; the host of the API server; the `proxy-url` of the kubeconfig and the variables of the environment, with
/// `HTTP` and `HTTPS` for the addresses of the proxy; what the proxy is asked for, with `PORT`, or nothing; and whether the API
/// server is reached.
type Case = (&'static str, &'static str, &'static str, Variables, &'static str, bool);

type Variables = &'static [(&'static str, &'static str)];

const THERE: &str = "CONNECT kubernetes.test:PORT";

#[rustfmt::skip]
const CASES: [Case; 19] = [
    ("no proxy", "127.0.0.1", "", &[], "", true),
    ("no proxy, a name without address", NAME, "", &[], "", false),
    ("HTTPS_PROXY", NAME, "", &[("HTTPS_PROXY", "http://HTTP")], THERE, true),
    ("lower case", NAME, "", &[("https_proxy", "http://HTTP")], THERE, true),
    ("without scheme", NAME, "", &[("HTTPS_PROXY", "HTTP")], THERE, true),
    ("with a user", NAME, "", &[("HTTPS_PROXY", "http://user:p%40ss@HTTP")], "CONNECT as user kubernetes.test:PORT", true),
    ("by TLS", NAME, "", &[("HTTPS_PROXY", "https://HTTPS")], THERE, true),
    ("SOCKS", NAME, "", &[("HTTPS_PROXY", "socks5://HTTP")], "SOCKS kubernetes.test:PORT", true),
    ("ALL_PROXY", NAME, "", &[("ALL_PROXY", "http://HTTP")], THERE, true),
    ("for http:// only", "127.0.0.1", "", &[("HTTP_PROXY", "http://HTTP")], "", true),
    ("empty", "127.0.0.1", "", &[("HTTPS_PROXY", "")], "", true),
    ("this machine", "127.0.0.1", "", &[("HTTPS_PROXY", "http://HTTP")], "", true),
    ("NO_PROXY with the name", NAME, "", &[("HTTPS_PROXY", "http://HTTP"), ("NO_PROXY", "a.example, kubernetes.test")], "", false),
    ("NO_PROXY with the domain", NAME, "", &[("HTTPS_PROXY", "http://HTTP"), ("NO_PROXY", ".test")], "", false),
    ("no_proxy with everything", NAME, "", &[("HTTPS_PROXY", "http://HTTP"), ("no_proxy", "*")], "", false),
    ("NO_PROXY with the address of the proxy", NAME, "", &[("HTTPS_PROXY", "http://HTTP"), ("NO_PROXY", "127.0.0.0/8")], THERE, true),
    ("proxy-url", NAME, "http://HTTP", &[], THERE, true),
    ("proxy-url, whatever the environment says", NAME, "socks5://HTTP", &[("HTTPS_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "*")], "SOCKS kubernetes.test:PORT", true),
    ("proxy-url of an unknown kind", NAME, "ftp://HTTP", &[], "", false),
];

/// Writes a kubeconfig for the API server under this name.
fn kubeconfig(folder: &TempDir, sandbox: &Sandbox, host: &str, proxy_url: &str) -> (std::path::PathBuf, String) {
    let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).or_else(|_| serde_saphyr::from_str(&text)).unwrap();
    let cluster = &mut kubeconfig["clusters"][0]["cluster"];
    let port = cluster["server"].as_str().unwrap().rsplit_once(':').unwrap().1.trim_end_matches('/').to_owned();
    cluster["server"] = json!(format!("https://{host}:{port}"));
    cluster["insecure-skip-tls-verify"] = json!(true);
    cluster.as_object_mut().unwrap().remove("certificate-authority-data");
    cluster.as_object_mut().unwrap().remove("certificate-authority");
    if !proxy_url.is_empty() {
        cluster["proxy-url"] = json!(proxy_url);
    }
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    (path, port)
}

#[tokio::test]
async fn the_api_server_is_reached_through_the_proxy_that_kubectl_would_use() {
    let sandbox = Sandbox::new().await;
    let proxy = Proxy::start().await;
    let folder = TempDir::new().unwrap();
    for (name, host, proxy_url, variables, asked, reached) in CASES {
        let filled = |text: &str| text.replace("HTTPS", &proxy.https).replace("HTTP", &proxy.http);
        let (path, port) = kubeconfig(&folder, &sandbox, host, &filled(proxy_url));
        let run = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
            .args(["status", "--all", "--namespace", &sandbox.namespace])
            .env_clear()
            .env("KUBECONFIG", path)
            .envs(variables.iter().map(|(name, value)| (name, filled(value))))
            .kill_on_drop(true)
            .output();
        let Output { status, stderr, .. } = in_time(run).await.expect("it ends").unwrap();
        let shown = String::from_utf8(stderr).unwrap();
        assert_eq!(status.success(), reached, "{name}: {shown}");
        let mut heard = std::mem::take(&mut *proxy.asked.lock().unwrap());
        heard.dedup();
        let expected = asked.replace("PORT", &port);
        assert_eq!(heard.first().map_or("", String::as_str), expected, "{name}: {shown}");
        assert!(name != "proxy-url of an unknown kind" || shown.contains("proxy-url"), "{name}: {shown}");
    }
}
