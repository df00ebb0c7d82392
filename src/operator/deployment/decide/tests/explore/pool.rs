//! Represents large values by small numbers, so that worlds are cheap to compare and to hash.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A hash that is fast without optimization: worlds consist of many small fields.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Quick {
    /// Returns the hash of a value.
    pub(super) fn hash(value: &impl Hash) -> u64 {
        let mut quick = Self::default();
        value.hash(&mut quick);
        quick.finish()
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    // Discriminants of enums are hashed as `isize`.
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value.cast_unsigned() as u64);
    }
}

pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;
pub(super) type Set<K> = HashSet<K, BuildHasherDefault<Quick>>;

/// A table of values and their numbers; a value keeps its number.
pub(super) struct Pool<T> {
    numbers: HashMap<String, u32>,
    items: Vec<T>,
}

impl<T: Debug + Clone> Pool<T> {
    pub(super) fn new(first: &T) -> Self {
        let mut pool = Self { numbers: HashMap::new(), items: Vec::new() };
        pool.number(first);
        pool
    }

    pub(super) fn number(&mut self, item: &T) -> u32 {
        let next = u32::try_from(self.items.len()).expect("the numbers fit into u32");
        *self.numbers.entry(format!("{item:?}")).or_insert_with(|| {
            self.items.push(item.clone());
            next
        })
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }
}
