//! The reasons of Events.
//!
//! An Event about a condition has the reason of that condition; others have one of the reasons below, which the table
//! in `docs/conditions.md` explains.

use super::reason::Reason;

macro_rules! event_reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Reason of an Event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventReason {
            /// The reason of a condition.
            Condition(Reason),
            $($(#[$doc])* $name,)*
        }

        impl EventReason {
            /// Every reason that no condition has.
            pub const OF_NO_CONDITION: &'static [Self] = &[$(Self::$name),*];

            /// Returns the `reason` of the Event.
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::Condition(reason) => reason.as_str(),
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

event_reasons! {
    /// This version of the operator cannot read the object.
    NotUnderstood,
    /// Keys of a Secret or ConfigMap were not sent.
    KeysNotSent,
    /// The value of a key of a Secret or ConfigMap has white space or another invisible character at an end, which is sent with it.
    InvisibleCharacters,
    /// A remote record took the place of another one.
    Replaced,
    /// The remote deployment of a deleted object is gone.
    Undeployed,
    /// The staged connector of a deleted object is gone.
    Deleted,
    /// The remote record of a deleted object stays.
    Orphaned,
}

impl From<Reason> for EventReason {
    fn from(reason: Reason) -> Self {
        Self::Condition(reason)
    }
}
