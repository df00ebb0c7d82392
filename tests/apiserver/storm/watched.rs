//! What a user with `kubectl get --watch` sees: each version of each resource, with the time at which it was observed.

use crate::prelude::*;
use crate::storm::size::TIMES_TO_SETTLE;

/// An observed version of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    pub(crate) at: Timestamp,
    /// `None`: it does not exist any more.
    pub(crate) object: Option<Arc<ConnectorDeployment>>,
}

pub(crate) type Latest = BTreeMap<String, Arc<ConnectorDeployment>>;

/// Watches the resources of a namespace until it is dropped.
pub(crate) struct Watched {
    latest: watch::Sender<Latest>,
    observations: Arc<Mutex<BTreeMap<String, Vec<Observation>>>>,
    task: JoinHandle<()>,
}

impl Watched {
    pub(crate) fn start(client: Client, namespace: &str) -> Self {
        let latest = watch::Sender::new(Latest::new());
        let observations = Arc::new(Mutex::new(BTreeMap::new()));
        let api = Api::<ConnectorDeployment>::namespaced(client, namespace);
        let task = tokio::spawn(see(api, latest.clone(), observations.clone()));
        Self { latest, observations, task }
    }

    /// Returns everything that was observed of each resource, in order.
    pub(crate) fn observations(&self) -> BTreeMap<String, Vec<Observation>> {
        self.observations.lock().unwrap().clone()
    }

    pub(crate) fn latest(&self) -> Latest {
        self.latest.borrow().clone()
    }

    /// Whether the condition became true in time.
    pub(crate) async fn until(&self, mut is: impl FnMut(&Latest) -> bool) -> bool {
        let mut latest = self.latest.subscribe();
        for _ in 0..TIMES_TO_SETTLE {
            if in_time(latest.wait_for(&mut is)).await.is_ok_and(|seen| seen.is_ok()) {
                return true;
            }
        }
        false
    }

    /// Whether no resource of this name exists any more, in time.
    pub(crate) async fn until_gone(&self, name: &str) -> bool {
        self.until(|latest| !latest.contains_key(name)).await
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn see(
    api: Api<ConnectorDeployment>,
    latest: watch::Sender<Latest>,
    observations: Arc<Mutex<BTreeMap<String, Vec<Observation>>>>,
) {
    let mut listed = Vec::new();
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    while let Some(event) = events.next().await {
        // The watch restarts by itself: a fresh API server may still answer 429 for a new kind.
        let Ok(event) = event else { continue };
        let at = Timestamp::now();
        let note = |name: &str, object: Option<Arc<ConnectorDeployment>>| {
            let observation = Observation { at, object };
            observations.lock().unwrap().entry(name.to_owned()).or_default().push(observation);
        };
        match event {
            watcher::Event::Init => listed.clear(),
            watcher::Event::Apply(object) | watcher::Event::InitApply(object) => {
                let (name, object) = (object.name_any(), Arc::new(object));
                listed.push(name.clone());
                note(&name, Some(object.clone()));
                latest.send_modify(|latest| {
                    latest.insert(name, object);
                });
            }
            watcher::Event::Delete(object) => {
                note(&object.name_any(), None);
                latest.send_modify(|latest| {
                    latest.remove(&object.name_any());
                });
            }
            watcher::Event::InitDone => {
                let gone: Vec<_> =
                    latest.borrow().values().filter(|old| !listed.contains(&old.name_any())).cloned().collect();
                for old in &gone {
                    note(&old.name_any(), None);
                }
                latest.send_modify(|latest| latest.retain(|name, _| listed.contains(name)));
            }
        }
    }
}

/// Returns when the operator last wrote the status, in whole seconds.
pub(crate) fn written_at(object: &ConnectorDeployment) -> Option<Timestamp> {
    let by_operator = object.managed_fields().iter().filter(|fields| {
        fields.manager.as_deref() == Some(names::FIELD_MANAGER) && fields.subresource.as_deref() == Some("status")
    });
    by_operator.filter_map(|fields| fields.time.as_ref()).map(|time| time.0).max()
}

/// Returns the names of the keys that the digests in the statuses were made with.
pub(crate) fn digest_keys(latest: &Latest) -> BTreeSet<String> {
    let applied = latest.values().filter_map(|object| state(object).applied?.digest);
    applied.filter_map(|digest| Some(digest.to_string().split_once(':')?.0.to_owned())).collect()
}
