//! A headless Chromium that a test drives over the [DevTools protocol].
//!
//! It speaks the protocol on two pipes (`--remote-debugging-pipe`): each message is JSON, followed by a zero byte. This
//! needs neither a port nor a WebSocket.
//!
//! [DevTools protocol]: https://chromedevtools.github.io/devtools-protocol/

use std::io::Write as _;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::patience::in_time;

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Chromium expects the pipes as file descriptors 3 and 4.
const WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;
const ARGUMENTS: [&str; 7] = [
    "--headless",
    "--remote-debugging-pipe",
    // Containers often lack what the sandbox needs, and the page is our own.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-component-update",
    "--no-first-run",
];

/// A page in a browser of its own, which ends when this is dropped.
pub struct Page {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    events: Vec<Value>,
    _browser: Child,
    _profile: TempDir,
}

impl Page {
    /// Starts a browser with an empty page. Returns `None` if Chromium is not installed, which is reported, and a
    /// failure with `REQUIRE_CHROMIUM`.
    ///
    /// # Panics
    /// If a browser does not start, or is missing with `REQUIRE_CHROMIUM`.
    pub async fn start() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        let Some(program) = PROGRAMS.into_iter().find(is_there) else {
            assert!(std::env::var_os("REQUIRE_CHROMIUM").is_none(), "REQUIRE_CHROMIUM is set; install `chromium`");
            // Bypasses the capture of the test harness, so that it is visible.
            let _ = std::io::stderr().write_all(b"skipped, Chromium is missing; install `chromium`\n");
            return None;
        };
        let profile = tempfile::tempdir().expect("the folder for temporary files can be written");
        let mut browser = Command::new("sh")
            .args(["-c", WITH_PIPES, program])
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("a shell starts");
        let input = browser.stdin.take().expect("it is a pipe");
        let output = BufReader::new(browser.stdout.take().expect("it is a pipe"));
        let (session, sent, events) = (None, 0, Vec::new());
        let mut page = Self { input, output, session, sent, events, _browser: browser, _profile: profile };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"})).await["targetId"].take();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true})).await;
        page.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), json!({})).await;
        }
        Some(page)
    }

    /// Calls a method of the protocol and returns its result.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn call(&mut self, method: &str, parameters: Value) -> Value {
        let what = format!("{method} {parameters}");
        let answer = in_time(self.exchange(method, parameters)).await;
        let mut answer = answer.unwrap_or_else(|hung| panic!("{what}: {hung:?}"));
        assert!(answer["error"].is_null(), "{what}: {}", answer["error"]);
        answer["result"].take()
    }

    async fn exchange(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).await.expect("Chromium reads");
        loop {
            let message = self.receive().await;
            if message["id"] == self.sent {
                return message;
            }
            self.events.push(message);
        }
    }

    async fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).await.expect("Chromium writes");
        assert_eq!(bytes.pop(), Some(0), "Chromium ended");
        serde_json::from_slice(&bytes).expect("a message is JSON")
    }

    /// Opens an address and waits until the page is loaded.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn visit(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url})).await;
        let loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(loaded) {
            let event = in_time(self.receive()).await.expect("the page is loaded");
            self.events.push(event);
        }
    }

    /// Returns the value of a JavaScript expression, awaited if it is a promise.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut result = self.call("Runtime.evaluate", parameters).await;
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].take()
    }

    /// Waits until a JavaScript condition holds, which is checked after each change of the page.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn until(&mut self, condition: &str) {
        self.evaluate(&format!(
            "new Promise((resolve) => {{
               const check = () => {{ if ({condition}) {{ observer.disconnect(); resolve(true); }} }};
               const observer = new MutationObserver(check);
               observer.observe(document, {{subtree: true, childList: true, characterData: true, attributes: true}});
               check();
             }})"
        ))
        .await;
    }

    /// Waits until the text of the elements that a CSS selector matches contains `text`.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn until_shown(&mut self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.until(&format!(
            "[...document.querySelectorAll({selector})].some((one) => one.textContent.includes({text}))"
        ))
        .await;
    }

    /// Focuses the first element that a CSS selector matches, and presses Enter.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn press(&mut self, selector: &str) {
        self.evaluate(&format!("document.querySelector({}).focus()", json!(selector))).await;
        for (kind, text) in [("keyDown", "\r"), ("keyUp", "")] {
            let key = json!({"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": text});
            self.call("Input.dispatchKeyEvent", key).await;
        }
    }

    /// Returns a picture of the visible part, as PNG.
    ///
    /// # Panics
    /// If the browser reports an error or hangs.
    pub async fn screenshot(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"})).await;
        BASE64_STANDARD.decode(picture["data"].as_str().expect("it is text")).expect("it is base64")
    }

    /// Asserts that the page requested nothing from elsewhere, and that the browser reported no error, such as an
    /// exception or a violation of the content security policy.
    ///
    /// # Panics
    /// If it did.
    pub fn assert_clean(&self, url: &str) {
        for event in &self.events {
            let (method, parameters) = (&event["method"], &event["params"]);
            if method == "Network.requestWillBeSent" {
                let requested = parameters["request"]["url"].as_str().expect("it is text");
                assert!(requested.starts_with(url), "{requested}");
            }
            assert!(method != "Runtime.exceptionThrown" && method != "Log.entryAdded", "{parameters}");
        }
    }
}
