//! The ConfigMap of `spec.outputs`: it has what the record of the deployment shows, and belongs to the resource.

use crate::prelude::*;

/// Returns how the ConfigMap differs from what the spec asks for; `None`: not at all, or it asks for none.
pub(super) fn unwritten(cluster: &Cluster, object: &ConnectorDeployment, record: &Deployment) -> Option<String> {
    let wanted = &object.spec.outputs.as_ref()?.config_map;
    let mut due = BTreeMap::new();
    for it in &record.applications {
        due.extend(it.url.iter().map(|url| (format!("{}.url", it.application_name), url)));
        due.extend(it.topic.iter().map(|topic| (format!("{}.topic", it.application_name), topic)));
    }
    let key = Key::new(Kind::ConfigMap, &object.namespace().unwrap_or_default(), &wanted.name);
    let Some(stored) = cluster.get(&key) else { return Some("the ConfigMap of its outputs does not exist".to_owned()) };
    if stored["data"] != json!(due) {
        return Some(format!("its outputs are {} instead of {due:?}", stored["data"]));
    }
    let owner = stored.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str);
    (owner != object.metadata.uid.as_deref()).then(|| format!("its outputs belong to {owner:?}"))
}
