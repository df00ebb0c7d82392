//! `ready`: asks a running operator whether it is ready, as a probe of the cluster does. Used by `helm test`, because
//! the image has no shell and no other program.
//!
//! Sends one HTTP/1.0 request over a plain socket. It sends no secret and resolves only the host that the user gave, so
//! it does not need the guards of calls to the Connect API.

use std::time::Duration;

use clock::Clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::live::Live;
use super::printing::{print, tell};
use crate::crd::parse_duration;

/// Maximum size of a response that is read, in bytes.
const LONGEST_ANSWER: u64 = 16 * 1024;

/// Pause before the operator is asked again.
const PAUSE: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  # Inside the cluster, through the Service of the chart
  connect-operator ready connect-operator.connect-operator:8081

  # Right after an installation
  connect-operator ready connect-operator.connect-operator:8081 --wait 1m

  # From this machine, after kubectl port-forward
  connect-operator ready localhost:8081 --timeout 2s";

/// Ask a running operator whether it is ready.
///
/// Calls /readyz at the address of --health-listen. Exits with 0 if the operator is ready; with 1 and the reason if it
/// is not, or does not respond. With --wait, a terminal shows the last reason; otherwise each new one is a line on
/// standard error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Address of --health-listen, as in connect-operator.connect-operator:8081.
    #[arg(value_name = "HOST:PORT", value_parser = address)]
    address: String,

    /// Maximum time to wait for the response, such as 10s.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,

    /// Ask again, for at most this time, until the operator is ready.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    wait: Duration,
}

/// Why the operator does not count as ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadyError {
    /// No response arrived.
    #[error("{address} does not answer: {source}: is it the address of --health-listen, and does the operator run?")]
    Silent {
        /// The address.
        address: String,
        /// What happened.
        source: std::io::Error,
    },
    /// The response is not a 200.
    #[error("{address} is not ready: {answer}")]
    NotReady {
        /// The address.
        address: String,
        /// Status line and body of the response.
        answer: String,
    },
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

fn address(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').map(|(host, port)| (host.is_empty(), port.parse::<u16>()));
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '/';
    match port {
        Some((false, Ok(_))) if !text.contains(odd) => Ok(text.to_owned()),
        _ => Err("write it as HOST:PORT".to_owned()),
    }
}

/// Asks until the operator is ready or the time is over.
///
/// # Errors
/// If the operator is not ready or does not respond.
pub(super) async fn run(args: Args) -> Result<(), ReadyError> {
    let clock = Clock::system();
    let live = Live::start(&clock);
    let mut last = format!("{} has not answered yet", args.address);
    // A Service forwards nothing for a moment after its pods are ready, and a name can be unknown as long.
    while let Err(reason) = live.during("waiting", || last.clone(), ready(&args, &clock)).await {
        if clock.elapsed() + PAUSE > args.wait {
            live.clear();
            return Err(reason);
        }
        let text = reason.to_string();
        if text != last && !live.is_shown() {
            tell!("{text}");
        }
        last = text;
        live.during("waiting", || last.clone(), clock.sleep(PAUSE)).await;
    }
    live.clear();
    Ok(print(&format!("{} is ready\n", args.address))?)
}

/// Sends one request to `/readyz`.
async fn ready(Args { address, timeout, .. }: &Args, clock: &Clock) -> Result<(), ReadyError> {
    let too_late = || std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no response within {timeout:?}"));
    let answer = tokio::select! {
        answer = ask(address) => answer,
        () = clock.sleep(*timeout) => Err(too_late()),
    };
    let answer = answer.map_err(|source| ReadyError::Silent { address: address.clone(), source })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    if status.starts_with("HTTP/1.") && status.split(' ').nth(1) == Some("200") {
        return Ok(());
    }
    let answer = [status, body.trim()].join(" ");
    Err(ReadyError::NotReady { address: address.clone(), answer: answer.trim().to_owned() })
}

async fn ask(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::patience::patience;

    /// A server that answers each connection with the next of these, then no more.
    async fn operator(answers: &'static [&'static str]) -> (String, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let operator = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut request = vec![0; 1024];
                let length = stream.read(&mut request).await.expect("a request");
                stream.write_all(answer.as_bytes()).await.expect("the client reads it");
                requests.push(String::from_utf8_lossy(&request[..length]).into_owned());
            }
            requests
        });
        (address, operator)
    }

    const NO_CRDS: &str = "HTTP/1.1 503 Service Unavailable\r\n\r\nno CRDs\n";

    #[tokio::test]
    async fn only_a_200_is_ready() {
        for (answer, expected) in [
            (&["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"], None),
            (&[NO_CRDS], Some("HTTP/1.1 503 Service Unavailable no CRDs")),
            (&["HTTP/1.1 404 Not Found\r\n\r\n"], Some("HTTP/1.1 404 Not Found")),
            (&["2000 200"], Some("is not ready")),
            (&[""], Some("is not ready: ")),
        ] {
            let (address, operator) = operator(answer).await;
            let result = run(Args { address, timeout: patience(), wait: Duration::ZERO }).await;
            let questions = operator.await.expect("it ends").concat();
            assert!(questions.starts_with("GET /readyz HTTP/1.0\r\nHost: 127.0.0.1:"), "{questions}");
            match (result, expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => assert!(error.to_string().contains(expected), "{answer:?}: {error}"),
                (result, _) => panic!("{answer:?}: {result:?}"),
            }
        }
    }

    #[tokio::test]
    async fn an_operator_that_is_ready_within_the_time_is_ready() {
        let later = &[NO_CRDS, "", "HTTP/1.1 200 OK\r\n\r\nok"];
        let (address, operator) = operator(later).await;
        run(Args { address, timeout: patience(), wait: patience() }).await.expect("ready at last");
        assert_eq!(operator.await.expect("it ends").len(), 3);
    }

    #[tokio::test]
    async fn an_operator_that_does_not_respond_is_not_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let silent = Args { address: address.clone(), timeout: Duration::from_millis(1), wait: PAUSE / 2 };
        let error = run(silent.clone()).await.expect_err("it sends nothing").to_string();
        assert!(error.contains("no response within 1ms"), "{error}");
        drop(listener);
        let error = run(Args { timeout: patience(), ..silent }).await.expect_err("nothing listens there");
        assert!(error.to_string().contains("--health-listen"), "{error}");
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, fine) in [
            ("operator.system:8081", true),
            ("[::1]:8081", true),
            ("operator", false),
            (":8081", false),
            ("operator:port", false),
            ("http://operator:8081", false),
            ("a b:1", false),
            ("a\r\nb:1", false),
        ] {
            assert_eq!(address(text).is_ok(), fine, "{text:?}");
        }
    }
}
