//! The worst-case cost of assertions of an `ActionCheck`: hostile paths and patterns over the largest answers, in a
//! process whose memory limit is little above its usage.

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use connect_api::action::ActionAnswer;
use connect_operator::controllers::action_check::STACK;
use connect_operator::controllers::action_check::expect::{LARGEST_ANSWER, compile};
use connect_operator::crd::Expectation;
use http::{HeaderMap, StatusCode};
use jsonpath_rust::JsonPath as _;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};

use crate::patience::is_in_time;

/// Environment variable that selects the work of the process with little memory.
const DOES: &str = "CONNECT_OPERATOR_TEST_HOSTILE_CHECKS";
/// Memory that the evaluation may need beyond the current usage, in bytes.
const MORE: u64 = 24 << 20;

/// Returns the largest answers, each of a different structure.
fn answers() -> Vec<String> {
    let list =
        |item: &str| format!("[{}{item}]", format!("{item},").repeat((LARGEST_ANSWER - 16) / (item.len() + 1) - 1));
    let text = "a".repeat(LARGEST_ANSWER - 64);
    let (open, close) = ("[".repeat(100), "]".repeat(100));
    vec![
        list("0"),
        list("[]"),
        list("{\"\":0}"),
        list("{\"a\":{\"a\":{\"a\":{\"a\":0}}}}"),
        format!("{{{}\"a\":0}}", "\"a\":0,".repeat(LARGEST_ANSWER / 6 - 8)),
        format!("{{\"{}\":[{}0]}}", &text[..LARGEST_ANSWER / 2], "0,".repeat(LARGEST_ANSWER / 4 - 32)),
        format!(
            "{open}{}{close}",
            list("0").get(..LARGEST_ANSWER / 2 - 300).map(|it| format!("{it},0]")).unwrap_or_default()
        ),
        format!("[\"{text}\",\"{text}\"]").replace(&text, &text[..LARGEST_ANSWER / 2 - 32]),
    ]
}

/// Returns expectations as large as the schema permits.
fn expectations() -> Vec<Value> {
    let exists = |path: String| json!({"jsonPath": path, "exists": false});
    let mut all: Vec<Value> = [
        "$..*".to_owned(),
        "$..*..*".to_owned(),
        "$..*..*..*".to_owned(),
        format!("${}", "..*".repeat(170)),
        format!("${}", "[*]".repeat(170)),
        format!("$[{}*]", "*,".repeat(250)),
        format!("$..[{}0]", "0,".repeat(250)),
        "$[0:9007199254740991]..*".to_owned(),
        "$[::-1][::-1]..*".to_owned(),
        "$[?count($..*) > 0]".to_owned(),
        "$..[?count($..*) > 0 && count(@..*) > 0]".to_owned(),
        "$..[?@..[?@..[?@..[?@..*]]]]".to_owned(),
        "$[?$[?$[?$[?$[?$[?@ == 1]]]]]]".to_owned(),
        "$[?@ == $[0] || @ == $[1]]".to_owned(),
        "$..[?@ == $]".to_owned(),
        "$[?length(@) > 1 && length($[0]) > 1]".to_owned(),
        "$..[?search(@, '(a|aa)+$')]".to_owned(),
        "$..[?match(@, '(a?){50}a{50}b')]".to_owned(),
        format!("$[?{}@]", "!@||".repeat(120)),
    ]
    .into_iter()
    .map(|path| json!([exists(path)]))
    .collect();
    for pattern in
        ["(a+)+b", "(a|aa)*(a|aa)*b", "((a?){20}){20}b", "^(.*a){30}b", ".{0,200}b", "(?i)[a-z]{100}b", "\\pL{50}b"]
    {
        all.push(json!([{"jsonPath": "$..*", "matches": pattern}]));
    }
    all.push((0..16).map(|n| json!({"jsonPath": "$..*", "matches": format!("(a?){{{n}}}(\\w|a){{4}}b")})).collect());
    // More patterns than are allowed, each of which needs a megabyte.
    let patterns: Vec<_> = (200..224).map(|length| format!("match(@,'(.{{{length}}})')")).collect();
    all.push((0..16).map(|_| exists(format!("$[?{}]", patterns.join("||")))).collect());
    all
}

fn answer(body: &str) -> ActionAnswer {
    let (status, headers) = (StatusCode::OK, HeaderMap::new());
    ActionAnswer { status, headers, body: body.into(), whole: true, duration: Duration::ZERO }
}

/// Limits the memory of this process from now on.
fn limit() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux provides the status");
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")).expect("the status has the data size");
    let kib: u64 = data.trim().trim_end_matches("kB").trim().parse().expect("a number");
    let most = Some(kib * 1024 + MORE);
    setrlimit(Resource::Data, Rlimit { current: most, maximum: most }).expect("the limit can be lowered");
}

/// Evaluates everything; returns how many of the expectations could be evaluated.
fn evaluate(all: &[(Value, Expectation)], answers: &[ActionAnswer]) -> usize {
    let mut usable = 0;
    for (text, expectation) in all {
        let Ok(compiled) = compile(expectation) else { continue };
        usable += 1;
        for (index, answer) in answers.iter().enumerate() {
            let started = Instant::now();
            let _ = compiled.evaluate(answer);
            assert!(is_in_time(started), "{text} over answer {index} took {:?}", started.elapsed());
        }
    }
    usable
}

#[test]
fn in_a_process_with_little_memory() {
    let Ok(does) = std::env::var(DOES) else { return };
    let read = |body: Value| {
        let expectation = serde_json::from_value(json!({"body": body})).expect("an expectation");
        (body, expectation)
    };
    let all: Vec<_> = expectations().into_iter().map(read).collect();
    let answers: Vec<_> = answers().iter().map(|body| answer(body)).collect();
    assert!(answers.iter().all(|answer| (LARGEST_ANSWER / 2 - 512..=LARGEST_ANSWER).contains(&answer.body.len())));
    assert!(answers.iter().all(|answer| answer.json::<serde::de::IgnoredAny>().is_some()), "all of them are JSON");
    let work = move || {
        limit();
        if does == "bounded" {
            let usable = evaluate(&all, &answers);
            assert!(usable > 20, "{usable} of {} were usable", all.len());
        } else {
            // A parser that the operator does not use: this shows that the limit is in effect.
            let value: Value = serde_json::from_str("[[0,0],[0,0]]").expect("JSON");
            let wide = vec![value; 2_000];
            println!("{}", Value::from(wide).query(&format!("${}", "..*".repeat(4))).map_or(0, |all| all.len()));
            let answer = answers[3].json::<Value>().expect("JSON");
            println!("{}", answer.query("$..*..*").map_or(0, |all| all.len()));
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread").join().expect("no panic");
}

fn run(does: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().expect("a test is a program"));
    command.args(["--exact", "hostile_checks::in_a_process_with_little_memory"]).env(DOES, does);
    command.status().expect("the program runs")
}

#[test]
fn hostile_assertions_over_the_largest_answers_need_little_memory() {
    assert!(run("bounded").success(), "it took more than {MORE} bytes, or panicked");
    assert!(!run("unbounded").success(), "the limit is not in effect");
}
