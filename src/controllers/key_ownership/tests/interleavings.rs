//! Two resources that claim one key, in every order of their steps.

use super::*;

/// One of two resources, step by step: the watch shows it, its reconcile begins, announces and writes, and the watch
/// shows an outdated copy of it and then what was written.
struct Actor {
    name: &'static str,
    version: u64,
    step: u8,
    active: bool,
}

const STEPS: u8 = 6;

impl Actor {
    fn copy(&self) -> ConnectorDeployment {
        resource(self.name, self.version, &json!({}))
    }

    fn written(&self) -> ConnectorDeployment {
        resource(self.name, self.version + 10, &operating())
    }

    /// Takes the next step; a reconcile that yields takes no more.
    fn go(&mut self, keys: &KeyOwnership) {
        let mut claim_status = ClaimStatus::Owner;
        match self.step {
            1 => claim_status = keys.claim_status(&self.copy()),
            2 => {
                claim_status = keys.begin(&self.copy(), &place(), ClaimReason::Create);
                self.active = claim_status == ClaimStatus::Owner;
            }
            3 => keys.wrote(&self.written()),
            5 => keys.saw(&self.written()),
            // At first, and once more as an outdated copy.
            _ => keys.saw(&self.copy()),
        }
        self.step = if claim_status == ClaimStatus::Owner { self.step + 1 } else { STEPS };
    }
}

#[test]
fn rule_4_in_every_interleaving_of_two_exactly_one_begins() {
    let mut orders = 0;
    for bits in 0_u32..1 << (2 * STEPS) {
        if bits.count_ones() != u32::from(STEPS) {
            continue;
        }
        orders += 1;
        let world = World::new();
        let mut actors = ["one", "two"].map(|name| Actor {
            name,
            version: if name == "one" { 1 } else { 2 },
            step: 0,
            active: false,
        });
        for turn in 0..2 * STEPS {
            let actor = &mut actors[usize::from(bits >> turn & 1 == 1)];
            if actor.step < STEPS {
                actor.go(&world.keys);
            }
            assert!(!actors.iter().all(|actor| actor.active), "both begin: {bits:b} at {turn}");
        }
        // The one that yielded asks again when it is enqueued.
        let again: Vec<_> = actors.iter().filter(|actor| !actor.active).map(Actor::copy).collect();
        assert_eq!(again.len(), 1, "neither begins: {bits:b}");
        assert_ne!(world.keys.claim_status(&again[0]), ClaimStatus::Owner, "{bits:b}");
    }
    assert_eq!(orders, 924, "every order of six steps of each");
}
