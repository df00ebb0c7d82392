//! Texts of a store, compressed (LZ4): each refers to another one that is similar, because objects of one kind differ in
//! little more than names, digests and times.
//!
//! Next: `packed.rs`, whose objects are such texts.

use std::sync::Arc;

use lz4_flex::block::{DecompressError, compress_with_dict, decompress_with_dict};

/// Maximum number of references, all of which are tried for a text that is similar to none.
const REFERENCES: usize = 4;

/// Maximum length of a reference in bytes: LZ4 looks back no farther.
const LONGEST_REFERENCE: usize = 64 * 1024;

/// A text is similar to a reference if it is this many times as long as what is left of it.
const SIMILAR: usize = 4;

/// One of this many texts without a similar reference becomes a reference.
const DISSIMILAR: usize = 8;

/// A text, compressed, or as it is.
#[derive(Clone)]
pub struct Compressed {
    /// What its bytes refer to; `None` for a text that is kept as it is.
    reference: Option<Arc<[u8]>>,
    bytes: Arc<[u8]>,
    /// Length of the text in bytes.
    length: usize,
}

impl Compressed {
    /// Returns the text.
    ///
    /// # Errors
    /// If it is not what was compressed, which is a bug.
    pub fn decompress(&self) -> Result<Vec<u8>, DecompressError> {
        match &self.reference {
            Some(reference) => decompress_with_dict(&self.bytes, self.length, reference),
            None => Ok(self.bytes.to_vec()),
        }
    }
}

/// Compresses the texts of one store. Some of them are references for those that follow.
#[derive(Default)]
pub struct Compressor {
    /// The last used first.
    references: Vec<Arc<[u8]>>,
    /// Number of texts that were similar to no reference.
    dissimilar: usize,
}

impl Compressor {
    /// Compresses a text.
    #[must_use]
    pub fn compress(&mut self, text: Vec<u8>) -> Compressed {
        let length = text.len();
        if length > LONGEST_REFERENCE {
            let bytes = compress_with_dict(&text, &[]).into();
            return Compressed { reference: Some(Arc::from([])), bytes, length };
        }
        match self.shortest(&text) {
            Some((index, bytes)) if self.suffices(bytes.len(), length) => {
                self.references[..=index].rotate_right(1);
                Compressed { reference: self.references.first().cloned(), bytes: bytes.into(), length }
            }
            // It would take as much memory with a reference, or others like it may follow.
            _ => {
                let bytes: Arc<[u8]> = text.into();
                self.references.truncate(REFERENCES - 1);
                self.references.insert(0, Arc::clone(&bytes));
                Compressed { reference: None, bytes, length }
            }
        }
    }

    /// Returns the text compressed with the first reference that is similar, or else with the best; with its index.
    fn shortest(&self, text: &[u8]) -> Option<(usize, Vec<u8>)> {
        let mut shortest: Option<(usize, Vec<u8>)> = None;
        for (index, reference) in self.references.iter().enumerate() {
            let bytes = compress_with_dict(text, reference);
            let ends = is_similar(bytes.len(), text.len());
            if shortest.as_ref().is_none_or(|(_, shortest)| bytes.len() < shortest.len()) {
                shortest = Some((index, bytes));
            }
            if ends {
                break;
            }
        }
        shortest
    }

    /// Returns whether a text of this length is kept as so many bytes.
    fn suffices(&mut self, bytes: usize, length: usize) -> bool {
        if is_similar(bytes, length) {
            return true;
        }
        self.dissimilar += 1;
        bytes < length && !self.dissimilar.is_multiple_of(DISSIMILAR)
    }
}

fn is_similar(bytes: usize, length: usize) -> bool {
    bytes * SIMILAR <= length
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::controllers::digest::hex;

    /// A text of `fields` fields whose names belong to the population, and one value that is that of the text.
    fn text(population: &str, number: usize, fields: usize) -> Vec<u8> {
        let digest = |word: String| hex(&Sha256::digest(word));
        let fields = (0..fields).map(|field| digest(format!("{population} {field}"))).collect::<String>();
        format!("{fields}{}", digest(format!("{population}/{number}"))).into_bytes()
    }

    /// Compresses texts, checks that each is the same afterwards, and returns how many bytes each takes.
    fn sizes(texts: impl IntoIterator<Item = Vec<u8>>) -> Vec<usize> {
        let mut compressor = Compressor::default();
        let compressed = texts.into_iter().map(|text| (text.clone(), compressor.compress(text))).collect::<Vec<_>>();
        let size = |(text, compressed): &(Vec<u8>, Compressed)| {
            assert!(compressed.decompress().expect("it was compressed") == *text);
            compressed.bytes.len()
        };
        compressed.iter().map(size).collect()
    }

    #[test]
    fn texts_of_up_to_four_populations_take_a_tenth_in_any_order() {
        for populations in 1..=REFERENCES {
            let of = |number: usize| text(&format!("{}", number % populations), number, 60);
            let sizes = sizes((0..400).map(of));
            let total: usize = sizes.iter().sum();
            assert!(total * 10 < of(0).len() * 400, "{populations}: {sizes:?}");
        }
    }

    #[test]
    fn a_population_that_takes_the_place_of_another_is_noticed() {
        let sizes =
            sizes((0..100).map(|number| text("a", number, 60)).chain((0..100).map(|number| text("b", number, 60))));
        let as_they_are = sizes.iter().filter(|size| **size > 3_000).count();
        assert!(as_they_are <= 2 + DISSIMILAR, "{sizes:?}");
    }

    #[test]
    fn a_text_takes_no_more_than_it_is_long_whatever_it_is() {
        let texts = (0..100).map(|number| text(&number.to_string(), number, number)).collect::<Vec<_>>();
        for (size, text) in sizes(texts.clone()).into_iter().zip(texts) {
            assert!(size <= text.len(), "{size}");
        }
    }

    #[test]
    fn long_texts_are_no_references() {
        let long = |number| text("long", number, 2_000);
        let mut compressor = Compressor::default();
        for number in 0..3 {
            let (text, compressed) = (long(number), compressor.compress(long(number)));
            assert!(text.len() > LONGEST_REFERENCE && compressed.decompress().expect("it was compressed") == text);
        }
        assert!(compressor.references.is_empty());
        let zeros = vec![b'0'; 2 * LONGEST_REFERENCE];
        assert!(compressor.compress(zeros).bytes.len() < 1_000);
    }
}
