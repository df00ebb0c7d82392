//! Rule 24: a project stays as long as a resource names it, and leaves nothing behind.

use crate::cluster::Change;
use crate::prelude::*;

impl Checker {
    /// A project was removed.
    pub(super) fn project_removed(&mut self, cluster: &Cluster, change: &Change) {
        let object_ref = ObjectRef::project(&change.key.namespace, &change.key.name);
        // An operator that was stopped there may have counted at any time before.
        let Some(began) = self.began.get(&object_ref).copied() else { return };
        let users = cluster.of_kind(Kind::Deployment).chain(cluster.of_kind(Kind::Staged));
        let mut users = users
            .filter(|(key, _)| key.namespace == change.key.namespace)
            .filter(|(_, object)| object["spec"]["projectRef"]["kind"] != "ClusterConnectProject");
        // One that was created later may be missing in what the operator has counted.
        let older = users.find(|(_, object)| {
            let created = object["metadata"]["creationTimestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            created.is_some_and(|created| created < began)
        });
        if let Some((key, _)) = older {
            self.wrong(format!("rule 24: {object_ref} is removed, and {} still names it", key.name));
        }
    }
}
