//! Who may run, and who is next: first come, first served, nobody twice. Pure.
//!
//! Whoever stands at the head is invited (woken) when there is room, and its place is kept for a while, so that
//! newcomers do not overtake it. An invitation lapses: a run that has nothing to do any more does not come.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::time::Duration;

use clock::later;
use jiff::Timestamp;

use crate::controllers::subject::Subject;

/// How long a place is kept for someone who was woken.
pub(super) const INVITATION: Duration = Duration::from_secs(2);

/// Turns of one remote.
#[derive(Debug)]
pub(super) struct Turns {
    limit: usize,
    active: usize,
    queue: VecDeque<Subject>,
    queued: HashSet<Subject>,
    /// Those of them who were put there while turns were given out.
    unaware: HashSet<Subject>,
    /// Until when each place is kept.
    invited: HashMap<Subject, Timestamp>,
}

impl Turns {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            active: 0,
            queue: VecDeque::new(),
            queued: HashSet::new(),
            unaware: HashSet::new(),
            invited: HashMap::new(),
        }
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.active + self.invited.len())
    }

    /// Starts a turn, or puts the subject into the queue.
    pub(super) fn enter(&mut self, subject: &Subject, now: Timestamp) -> bool {
        self.invited.retain(|_, kept_until| *kept_until > now);
        if self.invited.remove(subject).is_some() {
            self.active += 1;
            return true;
        }
        let ahead = self.queue.iter().take(self.room()).take_while(|queued| *queued != subject).count();
        if ahead < self.room() {
            self.unqueue(subject);
            self.active += 1;
            return true;
        }
        self.wait(subject);
        self.unaware.insert(subject.clone());
        false
    }

    /// Puts the subject into the queue, and it knows that nobody is invited for now.
    pub(super) fn wait(&mut self, subject: &Subject) {
        self.invited.remove(subject);
        self.unaware.remove(subject);
        if self.queued.insert(subject.clone()) {
            self.queue.push_back(subject.clone());
        }
    }

    /// Ends a turn.
    pub(super) fn leave(&mut self) {
        self.active = self.active.saturating_sub(1);
    }

    /// Whoever is to be woken now.
    pub(super) fn invite(&mut self, now: Timestamp) -> Vec<Subject> {
        self.invited.retain(|_, kept_until| *kept_until > now);
        let invited: Vec<Subject> = self.queue.drain(..self.room().min(self.queue.len())).collect();
        for subject in &invited {
            self.queued.remove(subject);
            self.unaware.remove(subject);
            self.invited.insert(subject.clone(), later(now, INVITATION));
        }
        invited
    }

    /// Those in the queue who think that it moves, each once.
    pub(super) fn take_unaware(&mut self) -> Vec<Subject> {
        let unaware = mem::take(&mut self.unaware);
        self.queue.iter().filter(|subject| unaware.contains(subject)).cloned().collect()
    }

    /// When the next invitation lapses for which somebody waits.
    pub(super) fn next_lapse(&self) -> Option<Timestamp> {
        if self.queue.is_empty() { None } else { self.invited.values().min().copied() }
    }

    /// Forgets the subject, unless it has a turn.
    pub(super) fn forget(&mut self, subject: &Subject) {
        self.invited.remove(subject);
        self.unqueue(subject);
    }

    /// Forgets all that are chosen, and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&Subject) -> bool) -> Vec<Subject> {
        let waiting = self.queue.iter().chain(self.invited.keys());
        let dismissed: Vec<Subject> = waiting.filter(|subject| chosen(subject)).cloned().collect();
        for subject in &dismissed {
            self.forget(subject);
        }
        dismissed
    }

    /// Everyone who waits or is invited.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.queue.iter().chain(self.invited.keys())
    }

    fn unqueue(&mut self, subject: &Subject) {
        self.unaware.remove(subject);
        if self.queued.remove(subject) {
            self.queue.retain(|queued| queued != subject);
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
