//! Rules of a retry policy, wherever it is declared or sent: pure.

use connect_api::model::RetryPolicy;

/// Returns the members of a retry policy that break a rule of contract section 4.4, each with the rule.
pub(super) fn wrong_retry_policy(policy: &RetryPolicy) -> Vec<(&'static str, &'static str)> {
    let RetryPolicy { strategy, min_backoff_seconds: min, max_backoff_seconds: max, max_attempts: attempts } = policy;
    let mut wrong = Vec::new();
    match strategy.as_str() {
        "immediate" => {
            let backoff = "belongs to the strategy exponential-backoff";
            let given = [("minBackoffSeconds", min), ("maxBackoffSeconds", max), ("maxAttempts", attempts)];
            wrong.extend(given.into_iter().filter(|(_, value)| value.is_some()).map(|(member, _)| (member, backoff)));
        }
        "exponential-backoff" => {
            for (member, value) in [("minBackoffSeconds", min), ("maxBackoffSeconds", max)] {
                if !value.is_some_and(|seconds| (1..=600).contains(&seconds)) {
                    wrong.push((member, "must be a whole number from 1 to 600"));
                }
            }
            if wrong.is_empty() && min > max {
                wrong.push(("minBackoffSeconds", "must not be above maxBackoffSeconds"));
            }
            if attempts.is_some_and(|attempts| !(5..=100).contains(&attempts)) {
                wrong.push(("maxAttempts", "must be a whole number from 5 to 100"));
            }
        }
        _ => wrong.push(("strategy", "must be immediate or exponential-backoff")),
    }
    wrong
}
