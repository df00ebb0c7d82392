//! The state of a world: the resource, the operator, the remote, and a call under way. Values only.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};

use super::{Budget, CAP, NOW, Settings};
use crate::controllers::connector_staged::decide::tests::desired;
use crate::controllers::connector_staged::decide::{Call, CallKind, Intent, TransientState};
use crate::controllers::connector_staged::persisted::{
    Applied, DeletionPolicy, ObservedConnector, PersistedState, Phase, Preview,
};

/// A value without a hash of its own, which is hashed by its `Debug` text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept<T>(pub(super) T);

impl<T: fmt::Debug> Hash for Kept<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        struct Into<'a, H>(&'a mut H);
        impl<H: Hasher> fmt::Write for Into<'_, H> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.write(text.as_bytes());
                Ok(())
            }
        }
        let _ = write!(Into(state), "{:?}", self.0);
    }
}

/// The uid of the one resource, and the owner of what it creates; 0: another client.
pub(super) const OURS: u8 = 1;

/// The resource, as the API server stores it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resource {
    pub(super) tag: u8,
    pub(super) request: u8,
    pub(super) generation: u8,
    pub(super) deleting: bool,
    pub(super) persisted: Kept<PersistedState>,
}

/// A staged connector at the remote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Record {
    pub(super) id: u8,
    pub(super) owner: u8,
    pub(super) version: u8,
    pub(super) tag: u8,
    /// Everything else that a user can choose; 0 is what the resource asks for.
    pub(super) name: u8,
    pub(super) phase: Phases,
    pub(super) preview: Previews,
    /// The published tag and name.
    pub(super) listed: Option<(u8, u8)>,
    /// Number that changes each time another tag or other content is set.
    pub(super) visit: u8,
    pub(super) content: u8,
    /// Whether another client changed it.
    pub(super) disguised: bool,
}

/// [`Phase`] with a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phases {
    Draft,
    Processing,
    Published,
    Failed,
}

/// [`Preview`] with a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Previews {
    NeverAsked,
    Pending,
    Granted,
    Refused,
}

impl Record {
    /// Returns the observation of a resource that asks for this tag.
    pub(super) fn observed(&self, wanted: u8) -> ObservedConnector {
        let phase = match self.phase {
            Phases::Draft => Phase::Draft,
            Phases::Processing => Phase::Processing,
            Phases::Published => Phase::Published,
            Phases::Failed => Phase::Failed,
        };
        let preview = match self.preview {
            Previews::NeverAsked => Preview::NeverAsked,
            Previews::Pending => Preview::Pending,
            Previews::Granted => Preview::Granted,
            Previews::Refused => Preview::Refused,
        };
        ObservedConnector {
            id: id(self.id),
            version: self.version.into(),
            phase,
            preview,
            private: true,
            listed: self.listed.is_some(),
            changed: self.is_changed(),
            digest: digest(self.tag, self.name),
            met: self.tag == wanted && self.name == 0,
            repository_met: self.tag == wanted,
            source: format!("source-{}", self.tag),
            impossible: false,
        }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.listed.is_some_and(|listed| listed != (self.tag, self.name))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.phase == Phases::Processing || self.preview == Previews::Pending
    }

    /// Sets other content.
    pub(super) fn set(&mut self, (tag, name): (u8, u8), settings: &Settings) {
        if self.tag != tag {
            self.visit += 1;
            if settings.resets_preview && self.preview != Previews::Pending {
                self.preview = Previews::NeverAsked;
            }
        }
        self.content += u8::from((self.tag, self.name) != (tag, name));
        (self.tag, self.name) = (tag, name);
        self.version += 1;
    }
}

pub(super) fn id(number: u8) -> String {
    format!("id-{number}")
}

pub(super) fn digest(tag: u8, name: u8) -> String {
    format!("{tag}-{name}")
}

/// The step of a reconcile. An observation and the write that follows are one step: a write that meets an edit has no
/// effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    #[default]
    Idle,
    /// The operation is persisted; its call is sent next.
    Send(Kept<(PersistedState, TransientState, Call)>, Content),
    /// The response is written next; `true`: the finalizer is removed.
    Answered(Kept<(PersistedState, TransientState)>, bool),
}

/// What a call carries: the requested tag, and the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Content {
    pub(super) tag: u8,
    pub(super) request: u8,
}

/// A call whose caller gave up waiting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flying {
    pub(super) kind: Kept<CallKind>,
    pub(super) content: Content,
}

/// Properties that can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Broken {
    /// Another client's connector was changed.
    Stranger,
    /// The connector is reported to be as far as asked for, and is not.
    ReadyWrong,
    /// Permission was requested twice for the same tag, or the same content was published twice.
    Twice,
    /// The resource is gone, and its connector stays.
    Orphan,
    /// The connector of the resource is reported as another client's, or as gone.
    Forgotten,
}

/// A request: for which visit of a tag it was made, and what it served.
pub(super) type Asked = (u8, u8);

/// The whole world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) resource: Option<Resource>,
    pub(super) transient: Kept<TransientState>,
    pub(super) stage: Stage,
    pub(super) record: Option<Record>,
    /// What a lagging read shows, for so many ticks.
    pub(super) before: Option<Record>,
    pub(super) lag: u8,
    pub(super) flying: Option<Flying>,
    /// The last request for permission, and whether its response was read.
    pub(super) asked: Option<Asked>,
    pub(super) answered: bool,
    pub(super) published: Option<Asked>,
    pub(super) next_id: u8,
    pub(super) budget: Budget,
    pub(super) broken: Option<Broken>,
}

impl World {
    pub(super) fn first(settings: &Settings) -> Self {
        let record = Record {
            id: 1,
            owner: OURS,
            version: 1,
            tag: 1,
            name: 0,
            phase: Phases::Draft,
            preview: Previews::NeverAsked,
            listed: None,
            visit: 0,
            content: 0,
            disguised: false,
        };
        let (mut there, mut persisted) = (None, PersistedState::default());
        if settings.live {
            let applied = Applied {
                generation: 1,
                digest: Some(digest(1, 0)),
                remote: Some(digest(1, 0)),
                from_version: None,
                at: NOW - CAP,
            };
            persisted = PersistedState { id: Some(id(1)), applied: Some(applied), ..persisted };
            there = Some(record);
        } else if settings.adopt {
            there = Some(Record { owner: 0, tag: 2, ..record });
        }
        let resource = Resource { tag: 1, request: 0, generation: 1, deleting: false, persisted: Kept(persisted) };
        Self {
            resource: Some(resource),
            transient: Kept::default(),
            stage: Stage::Idle,
            next_id: 1 + u8::from(there.is_some()),
            record: there,
            before: None,
            lag: 0,
            flying: None,
            asked: None,
            answered: false,
            published: None,
            budget: settings.budget,
            broken: None,
        }
    }
}

/// Returns what a user asks for.
pub(super) fn intent(resource: &Resource, settings: &Settings) -> Intent {
    let wanted = digest(resource.tag, 0);
    Intent {
        generation: resource.generation.into(),
        tag: resource.tag.to_string(),
        request: (resource.request > 0).then(|| resource.request.to_string()),
        deletion: resource.deleting.then_some(DeletionPolicy::Delete),
        adopt: settings.adopt,
        previewable: settings.previewable,
        publish: settings.publish.then_some(false),
        publication: settings.publish.then(|| format!("private:{wanted}")),
        digest: wanted,
        ..desired()
    }
}

impl fmt::Display for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, stage, record, before, lag, flying, asked, answered, published, broken, .. } = self;
        write!(formatter, "{resource:?}\n     {stage:?}\n     remote {record:?}")?;
        if *lag > 0 {
            write!(formatter, ", a read may show {before:?}")?;
        }
        write!(
            formatter,
            "\n     under way {flying:?}; requested {asked:?} answered {answered}, published {published:?}"
        )?;
        broken.map_or(Ok(()), |broken| write!(formatter, "\n     BROKEN: {broken:?}"))
    }
}
