//! Checks the updates of staged connectors that the remote accepted.

use connect_api::model::{ConnectorUpdateAction, IsPreviewable};
use connect_operator::crd::{ConnectorStagedSpec, PublishPolicy};
use jiff::Timestamp;

use super::super::staged_spec::{content, has_tag, is_as_wanted, shows_nothing};
use super::{StagedRecords, specs_since};

impl StagedRecords {
    /// Checks an accepted update; returns the name to count it under. `since`: the time from which on observations that
    /// the reconcile uses may originate.
    pub(super) fn update(
        &mut self,
        uid: &str,
        id: &str,
        (version, actions): (i64, &[ConnectorUpdateAction]),
        since: Timestamp,
    ) -> Result<&'static str, String> {
        let Some(life) = self.lives.get(uid) else { return Err(format!("{id} was updated by an unknown resource")) };
        let request = |kind: &str| {
            let written = life.written.get(&(kind.to_owned(), Some(version)));
            written.cloned().ok_or_else(|| format!("{kind} of {id} from {version} was sent without being persisted"))
        };
        let rows = self.rows.get(id).map(Vec::as_slice).unwrap_or_default();
        let at = |version: i64| {
            rows.iter().rev().find_map(|row| row.record.as_ref().filter(|record| record.version == version))
        };
        let before = at(version);
        let Some((row, after)) = rows.last().and_then(|row| Some((row, row.record.as_ref()?))) else {
            return Err(format!("{id} was updated, and does not exist"));
        };
        let specs = || specs_since(life, since);
        match actions {
            [ConnectorUpdateAction::UpdatePreviewable] => {
                let request = request("Preview")?;
                if !specs().any(|spec| spec.requests_preview() && has_tag(spec, &after.repository)) {
                    return Err(format!("a preview of {:?} was requested, which no spec asks for", after.repository));
                }
                match self.asked.insert((id.to_owned(), row.tag, request, uid.to_owned()), version) {
                    None => Ok("previews"),
                    Some(before) if !life.answered.contains(&before) => Ok("previews whose answer was lost before"),
                    Some(_) => Err(format!("a preview of {:?} was requested twice", after.repository)),
                }
            }
            [ConnectorUpdateAction::Publish { certification }] => {
                let request = request("Publish")?;
                let wanted = |spec: &ConnectorStagedSpec| {
                    let how = if *certification { PublishPolicy::Certified } else { PublishPolicy::Private };
                    let ready = !spec.requests_preview() || after.is_previewable == IsPreviewable::Yes;
                    spec.publish_policy == how && is_as_wanted(spec, after) && ready
                };
                if !specs().any(wanted) {
                    return Err(format!("{after:?} was published, certification {certification}, as no spec asks"));
                }
                // After a failure, `spec.publish_policy` was changed and changed back: each change is a reason to try.
                let failed = before.is_some_and(|record| !record.already_listed || record.has_changes);
                let otherwise = self
                    .published
                    .iter()
                    .filter(|((of, content, kind, _), _)| of == id && *content == row.content && kind != certification);
                let otherwise = otherwise.map(|(_, version)| *version).max().filter(|_| failed);
                // Another resource published it, and then another client without certification.
                let uncertified = *certification && before.is_some_and(|record| record.private);
                let by_another = |version: i64| !life.written.contains_key(&("Publish".to_owned(), Some(version)));
                let visit = (id.to_owned(), row.content, *certification, request);
                match self.published.insert(visit, version) {
                    None => Ok("publishes"),
                    Some(first) if otherwise > Some(first) => Ok("publishes after it was asked for otherwise"),
                    Some(first) if !life.answered.contains(&first) && shows_nothing(at(first), before) => {
                        Ok("publishes whose answer was lost before")
                    }
                    Some(first) if uncertified && by_another(first) => Ok("publishes after one without certification"),
                    Some(_) => Err(format!("{after:?} was published twice")),
                }
            }
            changes => {
                request("Update")?;
                if before.is_some_and(|before| content(before) == content(after)) {
                    return Err(format!("an update of {id} from {version} changes nothing: {changes:?}"));
                }
                if !specs().any(|spec| is_as_wanted(spec, after)) {
                    return Err(format!("an update made {after:?}, which no spec asks for: {changes:?}"));
                }
                Ok("updates")
            }
        }
    }
}
