//! Notes when the dev server has answered the calls that matter to users.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dev_server::{Answer, DevServer};
use serde_json::Value;

use crate::report::{Report, rounded};

/// When the first call of each name was answered.
pub(crate) struct Answers(Arc<Mutex<BTreeMap<String, Instant>>>);

impl Answers {
    /// Notes the creates, each by the name of its resource, until the dev server stops or others are noted.
    pub(crate) fn of_creates(dev: &DevServer) -> Self {
        Self::note(dev, |answer| {
            let draft: Value = serde_json::from_slice(&answer.asked.body).unwrap_or_default();
            let key = draft["key"].as_str().filter(|_| answer.operation == "createDeployment")?;
            Some(key.rsplit('_').next().unwrap_or(key).to_owned())
        })
    }

    /// Notes the redeploys that were accepted, each by its path, until the dev server stops or others are noted.
    pub(crate) fn of_redeploys(dev: &DevServer) -> Self {
        Self::note(dev, |answer| {
            (answer.operation == "updateDeploymentById" && answer.status < 300).then(|| answer.target.clone())
        })
    }

    fn note(dev: &DevServer, name: impl Fn(&Answer) -> Option<String> + Send + 'static) -> Self {
        let (noted, mut answers) = (Arc::<Mutex<BTreeMap<_, _>>>::default(), dev.listen());
        let shared = Arc::clone(&noted);
        tokio::spawn(async move {
            while let Some(answer) = answers.recv().await {
                if let Some(name) = name(&answer) {
                    shared.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert_with(Instant::now);
                }
            }
        });
        Self(noted)
    }

    /// Reports how long after its beginning each call was answered.
    pub(crate) fn figures(&self, report: &mut Report, what: &str, began: impl Fn(&str) -> Option<Instant>) {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let took = noted.iter().filter_map(|(name, answered)| Some(answered.duration_since(began(name)?)));
        let mut took: Vec<_> = took.collect();
        drop(noted);
        took.sort_unstable();
        for (part, at) in [("half", took.len() / 2), ("99 of 100", took.len() * 99 / 100)] {
            let seconds = took.get(at).map_or(0.0, Duration::as_secs_f64);
            report.figure(&format!("seconds {what}, {part}"), rounded(seconds, 2));
        }
    }
}
