//! Whether the clocks of this machine and of the API server agree. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::finding::{Finding, Level};

const CHECK: &str = "Clock";
/// Difference from which on the ages that commands print mislead, and tokens may count as expired.
const TOLERATED: Duration = Duration::from_secs(30);

/// Compares the time of a response, in whole seconds, with the times of this machine before the request and after the
/// response.
pub(super) fn finding(server: Option<Timestamp>, (before, after): (Timestamp, Timestamp)) -> Finding {
    let Some(server) = server else {
        let remedy = "A proxy in front of the API server may remove the header Date.";
        return Finding::new(Level::Warning, CHECK, "the API server does not report its time".to_owned(), remedy);
    };
    // The server's time lies anywhere within its second.
    let (ahead, behind) = (server.as_second() - after.as_second(), before.as_second() - server.as_second() - 1);
    let tolerated = i64::try_from(TOLERATED.as_secs()).unwrap_or(i64::MAX);
    let message = match (ahead > tolerated, behind > tolerated) {
        (true, _) => format!("the clock of this machine is {ahead} s behind that of the API server"),
        (_, true) => format!("the clock of this machine is {behind} s ahead of that of the API server"),
        _ => return Finding::ok(CHECK, "this machine and the API server agree"),
    };
    let remedy = "Synchronize both clocks (NTP): access tokens and certificates expire by them.";
    Finding::new(Level::Warning, CHECK, message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_beyond_the_duration_of_the_request_is_reported() {
        let time = |second: i64| Timestamp::from_second(1_800_000_000 + second).expect("a time");
        for (case, server, (before, after), expected) in [
            ("the same", Some(0), (0, 0), "agree"),
            ("a slow request", Some(0), (-60, 1), "agree"),
            ("half a minute", Some(30), (0, 0), "agree"),
            ("this machine is behind", Some(32), (0, 1), "31 s behind"),
            ("this machine is ahead", Some(0), (32, 33), "31 s ahead"),
            ("unknown", None, (0, 0), "does not report"),
        ] {
            let found = finding(server.map(time), (time(before), time(after)));
            assert!(found.message.contains(expected), "{case}: {}", found.message);
            assert_eq!(found.level == Level::Ok, expected == "agree", "{case}");
        }
    }
}
