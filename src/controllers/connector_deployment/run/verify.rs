//! Has what `spec.verify` names looked up, and takes what was seen. The lookup is another task's: a reconcile does not wait.

use super::super::decide::Verdict;
use super::super::ledger::{Ledger, Phase};
use super::super::observe::Looked;
use super::super::verification;
use crate::controllers::conditions::Told;
use crate::controllers::connect_project;
use crate::controllers::context::Project;
use crate::controllers::reason::Reason;
use crate::controllers::remote::{Cadence, Lookup, Remote};
use crate::controllers::secret;
use crate::controllers::subject::Subject;
use crate::crd::Verify;

use super::Run;

const NOT_YET: &str = "Looked up once the deployment is deployed";
const LOOKING: &str = "Being looked up";

impl Run<'_> {
    /// What the condition `Verified` says after this run, if there is one.
    pub(super) async fn verify(
        &mut self,
        remote: &Remote,
        looked: &Looked,
        verdict: &Verdict,
    ) -> Result<(), kube::Error> {
        let object = std::sync::Arc::clone(&self.object);
        let deployed =
            matches!(verdict, Verdict::Settled { phase: Phase::Deployed, .. } | Verdict::Observed(Phase::Deployed));
        let (Some(verify), Some(record)) = (&object.spec.verify, looked.record.as_deref().filter(|_| deployed)) else {
            remote.forget_lookup(self.subject);
            self.remembered.verified_since = None;
            self.verified = object.spec.verify.as_ref().map(|_| Told::new(Reason::NotChecked, NOT_YET));
            return Ok(());
        };
        // What was seen before the deployment came to this version says nothing of it.
        let known = self.remembered.verified_since.filter(|(version, _)| *version == record.version);
        let (_, settled) = *self.remembered.verified_since.insert(known.unwrap_or((record.version, looked.at)));
        // Rule 11: a request to look again is about this too.
        let newer_than = self.remembered.asked.as_ref().map_or(settled, |(_, asked)| settled.max(*asked));
        let told = match self.lookup(remote, verify).await? {
            Err(told) => {
                remote.forget_lookup(self.subject);
                told
            }
            Ok(lookup) => {
                let interval = object.spec.effective_interval();
                let seen = remote.look_up(self.subject, &lookup, newer_than, interval);
                let project = &remote.settings().project_key;
                let known = seen.map(|seen| verification::evaluate(verify, &seen.found, record, project));
                let told = match known {
                    None => self.unverified(LOOKING.to_owned()),
                    Some(Err(why)) => self.unverified(why),
                    Some(Ok(told)) => told,
                };
                let unverified_since = (told.reason != Reason::Verified).then_some(settled);
                remote.set_cadence(self.subject, Cadence { interval, unverified_since });
                told
            }
        };
        self.verified = Some(told);
        Ok(())
    }

    /// What the condition says if this run has not looked.
    pub(super) fn verified(&self, ledger: &Ledger) -> Option<Told> {
        self.object.spec.verify.as_ref()?;
        let unknown = || self.unverified(NOT_YET.to_owned());
        let changes = ledger.operation.is_some().then(|| Told::new(Reason::NotChecked, NOT_YET));
        Some(changes.or_else(|| self.verified.clone()).unwrap_or_else(unknown))
    }

    fn unverified(&self, why: String) -> Told {
        verification::unknown(&self.status().conditions, self.object.metadata.generation.unwrap_or_default(), why)
    }

    /// What to look up, with the credentials of the project or those that the spec names.
    async fn lookup(&self, remote: &Remote, verify: &Verify) -> Result<Result<Lookup, Told>, kube::Error> {
        let subject = Subject::project(&self.subject.namespace, &self.object.spec.project_ref.name);
        let Some(Project { http_api_url, .. }) = self.context.projects.get(&subject) else {
            return Ok(Err(self.unverified("The ConnectProject is not known yet".to_owned())));
        };
        let mut settings = remote.settings();
        if let Some(reference) = &verify.credentials_ref {
            let (client, namespace) = (&self.context.client, &self.subject.namespace);
            let found = match secret::named(client, self.context.secrets, namespace, &reference.name).await? {
                Ok(found) => found,
                Err(told) => return Ok(Err(told)),
            };
            let Some(found) = found else {
                let missing = format!("Secret {} of verify.credentialsRef is missing", reference.name);
                return Ok(Err(Told::new(Reason::SecretMissing, missing)));
            };
            match connect_project::with_credentials(settings, reference, &reference.name, &found) {
                Ok(own) => settings = own,
                Err(told) => return Ok(Err(told)),
            }
        }
        let resources = verification::resources(verify);
        let client = self.context.remotes.commerce(&settings, &http_api_url);
        Ok(client
            .map(|client| Lookup { client, resources })
            .map_err(|sentence| Told::new(Reason::ConfigurationInvalid, sentence)))
    }
}
