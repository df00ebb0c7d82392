//! What is said of a mirror: the condition `RegistryMirrored` of its `ConnectProject`, and how large it is. Pure.

use connect_api::paging::Extent;

use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::reason::Reason;

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Why the mirror is as it is.
    pub condition: ConditionUpdate,
    /// Connectors that fit the filter, and objects that there are; `None`: as before.
    pub size: Option<(u32, u32)>,
}

impl Said {
    /// The mirror does not follow the registry now; it stays as it is.
    #[must_use]
    pub fn stopped(condition: ConditionUpdate) -> Self {
        Self { condition, size: None }
    }
}

/// What to say after a look that came to its end. `most`: the bound that the `ConnectProject` names.
#[must_use]
pub fn looked(extent: Extent, seen: usize, objects: usize, most: usize) -> Said {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let found = u32::try_from(extent.total).unwrap_or(u32::MAX).max(number(seen));
    let condition = if !extent.whole {
        let message = format!(
            "The registry was read in part, {seen} of {found} connectors: it changes just now, has records that cannot be \
             read, or has more than lists reach. What was read is mirrored, and nothing is removed"
        );
        ConditionUpdate::new(Reason::RegistryReadInPart, message)
    } else if seen > most {
        let message = format!(
            "Of the {found} connectors that fit, the first {most} by key are mirrored (spec.registry.maxObjects)"
        );
        ConditionUpdate::new(Reason::RegistryCut, message)
    } else {
        ConditionUpdate::new(Reason::Mirrored, format!("Every connector that fits is mirrored: {found}"))
    };
    Said { condition, size: Some((found, number(objects))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_says_how_much_of_the_registry_it_is() {
        for (case, total, came, whole, objects, reason, size) in [
            ("nothing fits", 0, 0, true, 0, Reason::Mirrored, (0, 0)),
            ("all of it", 7, 7, true, 7, Reason::Mirrored, (7, 7)),
            ("as many as may be", 500, 500, true, 500, Reason::Mirrored, (500, 500)),
            ("too many", 2_000, 2_000, true, 500, Reason::RegistryCut, (2_000, 500)),
            ("one was not read", 7, 6, false, 7, Reason::RegistryReadInPart, (7, 7)),
            ("beyond the reach of lists", 12_000, 10_500, false, 500, Reason::RegistryReadInPart, (12_000, 500)),
            ("a total that is not said", 0, 3, true, 3, Reason::Mirrored, (3, 3)),
        ] {
            let extent = Extent { total, came, whole };
            let said = looked(extent, usize::try_from(came).expect("few"), objects, 500);
            assert_eq!((said.condition.reason, said.size), (reason, Some(size)), "{case}: {}", said.condition.message);
        }
    }
}
