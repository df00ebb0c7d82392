//! Correlation of log lines: everything in one reconcile has one trace id, which the remote receives too.

use crate::operators::process;
use crate::prelude::*;

/// Starts an operator as a process, whose log goes to a file.
pub(crate) fn start(shop: &Shop, log: &File, more: &[&str]) -> Child {
    command(shop, log).args(more).spawn().expect("the operator starts")
}

/// Returns the command that starts it.
pub(super) fn command(shop: &Shop, log: &File) -> Command {
    let mut command = process(&shop.sandbox, &shop.sandbox.namespace);
    command.env("RUST_LOG", "info,connect_operator=debug,connect_api=debug").stderr(log.try_clone().unwrap());
    command
}

/// Ends an operator by SIGTERM. Returns once it has ended.
pub(super) async fn end(mut operator: Child) {
    let id = operator.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let ended = in_time(operator.wait()).await.expect("it ends").unwrap();
    assert!(ended.success(), "{ended}");
}

/// Creates everything that a deployment needs, with this value of its Secret, and returns once it is live.
pub(super) async fn deploy(shop: &Shop, value: &str) {
    shop.put_credentials("dev-client").await;
    shop.put_token(value).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.deploy().await;
}

#[tokio::test]
async fn a_pause_that_no_condition_reports_is_logged() {
    let shop = Shop::without_operator(quick(), clock::Clock::system()).await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut operator = start(&shop, log.as_file(), &[]);
    deploy(&shop, "first-token-of-the-shop").await;
    for operation in ["getDeploymentById", "queryDeployments"] {
        let throttled = FaultAnswer::error(429, "").with_header("Retry-After", "9");
        shop.dev.fault(Fault::of(operation, throttled).times(1)).unwrap();
    }
    let mut request = 0;
    let logged = in_time(async {
        loop {
            request += 1;
            shop.annotate("connect-operator.io/reconcile-requested-at", &request.to_string()).await;
            let text = std::fs::read_to_string(log.path()).unwrap();
            // The operator may be about to write the last one.
            let mut written = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some(line) = written.find(|line| line.contains("the calls of the remote project pause")) {
                return serde_json::from_str::<Value>(line).expect("each line is JSON");
            }
        }
    });
    let logged = logged.await.expect("it is logged");
    operator.kill().await.unwrap();
    assert_eq!((&logged["outage"], &logged["project"]), (&Value::from("Throttled"), &Value::from("demo")), "{logged}");
    // The first call that learns of the pause reports it: the one that was throttled, or one that the client holds back.
    let error = logged["error"].as_str().unwrap();
    let why = ["429", "the service asked for a pause"].into_iter().any(|why| error.contains(why));
    assert!(logged["until"].is_string() && why, "{logged}");
}

#[tokio::test]
async fn all_log_lines_and_calls_of_a_reconcile_have_its_trace_id() {
    let shop = Shop::without_operator(quick(), clock::Clock::system()).await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let operator = start(&shop, log.as_file(), &[]);
    deploy(&shop, "first-token-of-the-shop").await;
    // Not killed: the reconcile that reported this may not have logged its end.
    end(operator).await;

    let text = std::fs::read_to_string(log.path()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let create = lines.iter().find(|line| line["operation"] == "createDeployment").expect("the call is logged");
    let trace_id = create["span"]["trace_id"].as_str().expect("the reconcile has a trace id");
    assert!(trace_id.len() == 32 && trace_id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace_id}");
    let run: Vec<_> = lines.iter().filter(|line| line["span"]["trace_id"] == trace_id).collect();
    assert!(run.len() > 2, "{run:#?}");
    for line in &run {
        assert_eq!(line["span"]["kind"], "ConnectorDeployment", "{line}");
        assert_eq!(line["span"]["namespace"], shop.sandbox.namespace);
        assert_eq!(line["span"]["object"], NAME);
    }
    assert_eq!(run.last().unwrap()["message"], "the reconcile ended");
    let runs = lines.iter().filter(|line| line["message"] == "the reconcile ended");
    let mut ids: Vec<_> =
        runs.map(|line| line["span"]["trace_id"].as_str().expect("each reconcile has a trace id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert!(all > 2 && ids.len() == all, "no two reconciles share a trace id");

    let calls = shop.dev.calls();
    let created = calls.iter().find(|call| call.operation == "createDeployment").expect("the call arrived");
    assert!(created.correlation_id.starts_with(&format!("connect-operator-{trace_id}-")), "{}", created.correlation_id);
    assert_eq!(create["correlation_id"], created.correlation_id.as_str());
    for line in lines.iter().filter(|line| line["message"] == "a request ended") {
        assert!(line["span"]["trace_id"].is_string(), "a call without a trace: {line}");
    }
}
