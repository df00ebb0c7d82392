//! Everybody else: users who edit the resource, and other clients of the remote.

use super::remote::remember;
use super::settings::Build;
use super::world::{ConditionUpdate, Deployment, Resource, Stage, Status, World};
use super::{Explorer, LAG_TICKS, SOMEBODY, STRANGER};

/// A value that only another client sends.
pub(super) const STRANGE: u8 = 8;

type Change<'a> = &'a dyn Fn(&mut World);

impl Explorer {
    /// Users and other programs.
    pub(super) fn others_act(&mut self, world: &World) {
        for which in 0..=usize::from(self.settings.contested) {
            if world.resources[which].exists && !world.resources[which].deleting {
                self.people_edit(world, which);
            }
            if world.resources[which].exists {
                self.people_end(world, which);
            } else {
                self.people_begin(world, which);
            }
        }
        let budget = world.budget;
        self.happens(world, 0, "loses the digest key; all operators start again", budget.keys > 0, &|next| {
            next.budget.keys -= 1;
            next.key += 1;
            for operator in &mut next.operators {
                *operator = operator.restarted(next.key);
            }
        });
        if world.remote.id != 0 && budget.versions > 0 {
            let mut next = *world;
            next.budget.versions -= 1;
            next.remote.version += 1;
            self.emit(STRANGER, "increments the version", false, next);
        }
        if budget.foreign > 0 {
            self.strangers_act(world);
        }
    }

    fn people_begin(&mut self, world: &World, which: usize) {
        self.happens(world, which, "creates a resource of that name", world.budget.recreations > 0, &|next| {
            next.budget.recreations -= 1;
            let Resource { uid, value, second, .. } = next.resources[which];
            next.resources[which] =
                Resource { exists: true, uid: uid + 2, generation: 1, value, second, ..Resource::default() };
        });
    }

    fn happens(&mut self, world: &World, which: usize, label: &'static str, allowed: bool, change: Change<'_>) {
        if allowed {
            let mut next = *world;
            change(&mut next);
            if next.resources[which] != world.resources[which] {
                next.changed(which, None);
            }
            self.emit(SOMEBODY[which], label, false, next);
        }
    }

    fn people_edit(&mut self, world: &World, which: usize) {
        let budget = world.budget;
        let back = self.settings.back;
        let corrections = self.settings.corrections();
        let another = |value: u8| if back { 1 - value } else { value + 1 };
        self.happens(world, which, "edits the spec", budget.specs > 0, &|next| {
            next.budget.specs -= 1;
            next.resources[which].generation += 1;
            next.resources[which].value = another(next.resources[which].value);
            next.allowed += 1 + corrections;
        });
        self.happens(world, which, "removes or adds the second value", budget.removals > 0, &|next| {
            next.budget.removals -= 1;
            next.resources[which].generation += 1;
            next.resources[which].second ^= true;
            next.allowed += 1;
        });
        self.happens(world, which, "edits the Secret", budget.secrets > 0, &|next| {
            next.budget.secrets -= 1;
            next.secret = another(next.secret);
            next.allowed += 1;
        });
        self.happens(world, which, "requests a redeploy", budget.requests > 0, &|next| {
            next.budget.requests -= 1;
            next.resources[which].request += 1;
            next.allowed += 1;
            next.owed = true;
        });
        self.happens(world, which, "edits labels", budget.labels > 0, &|next| {
            next.budget.labels -= 1;
            next.resources[which].labels += 1;
        });
        self.happens(world, which, "switches suspend", budget.suspends > 0, &|next| {
            next.budget.suspends -= 1;
            next.resources[which].generation += 1;
            next.resources[which].suspended ^= true;
        });
        self.happens(world, which, "switches the management policy", budget.observes > 0, &|next| {
            next.budget.observes -= 1;
            next.resources[which].generation += 1;
            next.resources[which].observed ^= true;
        });
    }

    fn people_end(&mut self, world: &World, which: usize) {
        let budget = world.budget;
        let resource = world.resources[which];
        self.happens(world, which, "deletes the resource", !resource.deleting && budget.deletions > 0, &|next| {
            next.budget.deletions -= 1;
            next.resources[which].deleting = true;
        });
        self.happens(world, which, "sets deletionPolicy Orphan", !resource.orphan && budget.orphans > 0, &|next| {
            next.budget.orphans -= 1;
            next.resources[which].generation += 1;
            next.resources[which].orphan = true;
        });
        self.happens(
            world,
            which,
            "removes the finalizer manually",
            resource.deleting && budget.releases > 0,
            &|next| {
                next.budget.releases -= 1;
                next.vanish(which, true);
            },
        );
        let restorable = !resource.deleting && resource.annotation != 0 && world.calm();
        self.happens(
            world,
            which,
            "restores the resource without its status",
            restorable && budget.restores > 0,
            &|next| {
                next.budget.restores -= 1;
                next.allowed += 1;
                next.resources[which] =
                    Resource { persisted: 0, condition: ConditionUpdate::Unknown, reported_generation: 0, ..resource };
            },
        );
    }

    fn strangers_act(&mut self, world: &World) {
        let settings = self.settings;
        let foreign = settings.foreign;
        let idle = world.remote.id != 0 && !world.remote.busy();
        let mut act = |label, allowed: bool, change: Change<'_>| {
            if allowed {
                let mut next = *world;
                remember(&settings, &mut next);
                change(&mut next);
                next.budget.foreign -= 1;
                next.foreign_recent = if settings.lag { LAG_TICKS } else { 0 };
                next.allowed += 1;
                for operator in &mut next.operators {
                    operator.run.truth |= operator.run.stage != Stage::Idle;
                }
                self.emit(STRANGER, label, false, next);
            }
        };
        let redeploy = |next: &mut World, visible: u8| {
            next.remote.visible_before = next.remote.visible;
            next.remote.visible = visible;
            next.remote.version += 1;
            next.remote.build += u8::from(settings.build != Build::Never);
            next.remote.status = Status::Busy;
        };
        let take_down = |next: &mut World| next.created &= !(1 << next.remote.owner);
        let create = |next: &mut World| {
            take_down(next);
            next.remote = strange(next.next_id);
            next.next_id += 1;
        };
        act("redeploys other values", idle && foreign.redeploys, &|next| redeploy(next, STRANGE));
        act("deletes it", idle && foreign.deletes, &|next| {
            take_down(next);
            next.remote.status = Status::Undeploying;
        });
        act("replaces it", idle && foreign.recreates, &create);
        act("creates the key", world.remote.id == 0 && foreign.creates, &create);
    }
}

/// Another client's deployment.
pub(super) fn strange(id: u8) -> Deployment {
    let (visible, secret) = (STRANGE, STRANGE);
    let live = Deployment { id, version: 1, build: 1, status: Status::Deployed, ..Deployment::default() };
    Deployment { visible, visible_before: visible, secret, ..live }
}
