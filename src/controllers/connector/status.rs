//! The reported state of a mirror: the condition `RegistryMirrored` of its `ConnectProject`, and its size. Pure.

use connect_api::paging::Extent;

use crate::controllers::context::mirrors::MirrorReport;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;

/// Returns the state after a read that completed. `most`: the limit in the `ConnectProject`.
#[must_use]
pub fn looked(extent: Extent, seen: usize, objects: usize, most: usize) -> MirrorReport {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let found = u32::try_from(extent.total).unwrap_or(u32::MAX).max(number(seen));
    let condition = if !extent.whole {
        let message = format!(
            "Only a part of the registry was read, {seen} of {found} connectors: it is changing, has records that \
             cannot be read, or has more connectors than lists return. What was read is mirrored, and nothing is removed"
        );
        ConditionUpdate::new(Reason::RegistryReadInPart, message)
    } else if seen > most {
        let message = format!(
            "Of the {found} connectors that match the filter, the first {most} by key are mirrored \
             (spec.registry.maxObjects)"
        );
        ConditionUpdate::new(Reason::RegistryCut, message)
    } else {
        ConditionUpdate::new(Reason::Mirrored, format!("Every connector that matches the filter is mirrored: {found}"))
    };
    MirrorReport { condition, size: Some((found, number(objects))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_reports_how_much_of_the_registry_it_has() {
        for (case, total, came, whole, objects, reason, size) in [
            ("nothing matches", 0, 0, true, 0, Reason::Mirrored, (0, 0)),
            ("all of it", 7, 7, true, 7, Reason::Mirrored, (7, 7)),
            ("as many as allowed", 500, 500, true, 500, Reason::Mirrored, (500, 500)),
            ("too many", 2_000, 2_000, true, 500, Reason::RegistryCut, (2_000, 500)),
            ("one was not read", 7, 6, false, 7, Reason::RegistryReadInPart, (7, 7)),
            ("more than lists return", 12_000, 10_500, false, 500, Reason::RegistryReadInPart, (12_000, 500)),
            ("no total", 0, 3, true, 3, Reason::Mirrored, (3, 3)),
        ] {
            let extent = Extent { total, came, whole };
            let report = looked(extent, usize::try_from(came).expect("few"), objects, 500);
            assert_eq!(
                (report.condition.reason, report.size),
                (reason, Some(size)),
                "{case}: {}",
                report.condition.message
            );
        }
    }
}
