//! The JSON of the objects of a store, compressed (LZ4), mostly with a similar object as the dictionary: objects of one kind
//! differ in little more than names, digests and times.
//!
//! Next: `packed.rs`, whose objects are kept in this form.

use std::sync::Arc;

use lz4_flex::block::{DecompressError, compress_prepend_size_with_dict, decompress_size_prepended_with_dict};

/// Maximum number of dictionaries, all of which are tried for an object that is similar to none.
const MOST_DICTIONARIES: usize = 4;

/// Maximum length of a dictionary in bytes. The compressor remembers 4,096 places, and looks at every third byte of a
/// dictionary.
const LONGEST_DICTIONARY: usize = 16 * 1024;

/// With the JSON of a similar object as the dictionary, a quarter of the bytes suffices. No dictionary is more than this
/// many times as long as what it is used for, which keeps it alive.
const SIMILAR: usize = 4;

/// One of this many objects that are similar to no dictionary becomes one.
const DISSIMILAR: usize = 8;

/// JSON, compressed, or as it is.
#[derive(Clone)]
pub struct Compressed {
    /// `None`: as it is.
    dictionary: Option<Arc<[u8]>>,
    bytes: Arc<[u8]>,
}

impl Compressed {
    /// Returns the JSON.
    ///
    /// # Errors
    /// If it is not what was compressed, which is a bug.
    pub fn decompress(&self) -> Result<Vec<u8>, DecompressError> {
        match &self.dictionary {
            Some(dictionary) => decompress_size_prepended_with_dict(&self.bytes, dictionary),
            None => Ok(self.bytes.to_vec()),
        }
    }
}

/// Compresses the objects of one store. Some of them are the dictionaries for those that follow.
pub struct Compressor {
    /// The last used first. In the beginning, there is an empty one.
    dictionaries: Vec<Arc<[u8]>>,
    /// Number of objects that were similar to no dictionary.
    dissimilar: usize,
}

impl Default for Compressor {
    fn default() -> Self {
        Self { dictionaries: vec![Arc::from([])], dissimilar: 0 }
    }
}

impl Compressor {
    /// Compresses the JSON of an object.
    #[must_use]
    pub fn compress(&mut self, json: Vec<u8>) -> Compressed {
        let mut shortest: Option<(usize, Vec<u8>)> = None;
        for (index, dictionary) in self.dictionaries.iter().enumerate() {
            if dictionary.len() > json.len() * SIMILAR {
                continue;
            }
            let bytes = compress_prepend_size_with_dict(&json, dictionary);
            if bytes.len() * SIMILAR <= json.len() {
                return self.with_dictionary(index, bytes);
            }
            if shortest.as_ref().is_none_or(|(_, shortest)| bytes.len() < shortest.len()) {
                shortest = Some((index, bytes));
            }
        }
        let shortest = shortest.filter(|(_, bytes)| bytes.len() < json.len());
        if json.len() > LONGEST_DICTIONARY {
            return match shortest {
                Some((index, bytes)) => self.with_dictionary(index, bytes),
                None => Compressed { dictionary: None, bytes: json.into() },
            };
        }
        // Others like it may follow.
        let is_due = self.dissimilar.is_multiple_of(DISSIMILAR);
        self.dissimilar += 1;
        match shortest {
            Some((index, bytes)) if !is_due => self.with_dictionary(index, bytes),
            _ => self.as_a_dictionary(json),
        }
    }

    fn with_dictionary(&mut self, index: usize, bytes: Vec<u8>) -> Compressed {
        self.dictionaries[..=index].rotate_right(1);
        Compressed { dictionary: self.dictionaries.first().cloned(), bytes: bytes.into() }
    }

    fn as_a_dictionary(&mut self, json: Vec<u8>) -> Compressed {
        let bytes: Arc<[u8]> = json.into();
        self.dictionaries.truncate(MOST_DICTIONARIES - 1);
        self.dictionaries.insert(0, Arc::clone(&bytes));
        Compressed { dictionary: None, bytes }
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::controllers::values::digest::hex;

    /// Digits that nothing repeats, so that they cannot be compressed; others for each seed.
    fn digits(seed: &str, length: usize) -> Vec<u8> {
        let block = |number: usize| Sha256::digest(format!("{seed} {number}"));
        (0..).flat_map(block).take(length).collect()
    }

    /// What objects with this spec have in common, and a digest that only this one has.
    fn object(spec: &str, number: usize, common: usize) -> Vec<u8> {
        [digits(spec, common), hex(&Sha256::digest(format!("{spec}/{number}"))).into_bytes()].concat()
    }

    /// Compresses objects, checks that each is the same afterwards, and returns how many bytes each takes.
    fn sizes(objects: impl IntoIterator<Item = Vec<u8>>) -> Vec<usize> {
        let mut compressor = Compressor::default();
        let compressed = objects.into_iter().map(|json| (json.clone(), compressor.compress(json))).collect::<Vec<_>>();
        let size = |(json, compressed): &(Vec<u8>, Compressed)| {
            assert!(compressed.decompress().expect("it was compressed") == *json);
            let dictionary = compressed.dictionary.as_deref().unwrap_or_default();
            assert!(dictionary.len() <= LONGEST_DICTIONARY.min(json.len() * SIMILAR));
            compressed.bytes.len()
        };
        compressed.iter().map(size).collect()
    }

    #[test]
    fn objects_with_up_to_four_specs_take_a_tenth_in_any_order() {
        for specs in 1..=MOST_DICTIONARIES {
            for together in [1, 3, 100] {
                let of = |number: usize| object(&format!("{}", number / together % specs), number, 4_000);
                let sizes = sizes((0..400).map(of));
                let total: usize = sizes.iter().sum();
                assert!(total * 10 < of(0).len() * 400, "{specs}, {together}: {sizes:?}");
            }
        }
    }

    #[test]
    fn a_spec_that_takes_the_place_of_another_is_noticed() {
        let of = |spec| (0..100).map(move |number| object(spec, number, 4_000));
        let sizes = sizes(of("a").chain(of("b")));
        let as_they_are = sizes.iter().filter(|size| **size > 3_000).count();
        assert!(as_they_are <= 2 + DISSIMILAR, "{sizes:?}");
    }

    #[test]
    fn an_object_takes_no_more_than_its_json_whatever_it_is() {
        let objects = (0..400).map(|number| digits(&number.to_string(), number * number)).collect::<Vec<_>>();
        for (size, json) in sizes(objects.clone()).into_iter().zip(objects) {
            assert!(size <= json.len(), "{size}");
        }
    }

    #[test]
    fn objects_of_all_lengths_are_the_same_afterwards() {
        // The compressor has one form for up to 65,534 bytes with the dictionary, and another for more.
        let most = 65_535 - LONGEST_DICTIONARY;
        let short = LONGEST_DICTIONARY / SIMILAR;
        for length in (0..20).chain(short - 2..short + 2).chain(most - 2..most + 2).chain([65_535, 65_536, 1 << 20]) {
            let dictionary = digits("a", LONGEST_DICTIONARY);
            let json = dictionary.iter().copied().cycle().take(length).collect::<Vec<_>>();
            sizes([dictionary, json]);
        }
    }

    #[test]
    fn long_objects_are_no_dictionaries_but_are_compressed() {
        let mut compressor = Compressor::default();
        for number in 0..3 {
            let _ = compressor.compress(object("long", number, 20_000));
        }
        assert_eq!(compressor.dictionaries, Compressor::default().dictionaries);
        assert!(compressor.compress(vec![b'0'; 100_000]).bytes.len() < 1_000);
        let part = compressor.compress(digits("part", 10_000)).bytes;
        let long = [part.repeat(2), digits("rest", 2_000)].concat();
        assert!(compressor.compress(long).bytes.len() < 3_000);
    }
}
