//! Reads the log of a failed deployment after the failure was written to the status, and shows it if every secured
//! value in it can be masked.

use connect_api::ConnectApi;
use kube::runtime::events::EventType;

use super::super::decide::Decision;
use super::super::logs::{self, Log, LogQuery};
use super::super::status::{Comparison, Texts};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::driver::ObservedRecord;
use crate::controllers::event_reason::EventReason;

use super::{Deployment, Details, Inputs};

impl Deployment<'_> {
    /// Reads the log and writes its lines. An error is reported once, and changes nothing else. The masker has the
    /// values that are desired now, so nothing is read if other values were sent.
    pub(super) async fn show_log(
        &mut self,
        api: &dyn ConnectApi,
        inputs: &Inputs,
        decision: &Decision,
        wanted: &LogQuery,
        (condition, comparison): (ConditionUpdate, Comparison),
    ) -> Result<(), kube::Error> {
        let Texts::Masked(masker) = self.texts(inputs, &decision.persisted) else { return Ok(()) };
        let Log { lines, outage } =
            logs::read(&self.context.log_readers, api, &self.context.clock, wanted, masker).await;
        if !lines.is_empty() {
            let record = ObservedRecord::of(inputs.record());
            let details = Details { lines: Some(lines), comparison };
            // It is read once, so an edit of the resource meanwhile must not lose it.
            self.patch_response(inputs, &decision.persisted, &condition, record, details).await?;
        }
        if let Some(outage) = outage {
            self.context.report(&*self.object, EventType::Normal, EventReason::LogsUnavailable, "ReadLog", &outage);
        }
        Ok(())
    }
}
