//! Derives new inputs from old ones, always the same from the same seed: bytes are changed, removed, doubled or moved
//! between inputs, and words are inserted that decoders often mishandle.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

const WORDS: [&[u8]; 24] = [
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1e309",
    b"9223372036854775808",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[",
    b"\"\\u0000\"",
    b"\"\\ud800\"",
    b"\xff\xfe",
    b"\xe2\x80\xa8",
    b"\n",
    b"canary-value",
    b"Fri, 31 Dec 9999 23:59:59 GMT",
    b"9999-12-31T23:59:59Z",
    b"-009999-01-01T00:00:00Z",
    b"@",
    b"..",
    b"%2e%2e%2f",
    b"~.~",
    b":",
];

/// An endless supply of inputs.
pub(crate) struct Mutator {
    random: StdRng,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, corpus: Vec<Vec<u8>>) -> Self {
        Self { random: StdRng::seed_from_u64(seed), corpus }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end.max(1))
    }

    fn one(&mut self) -> Vec<u8> {
        let at = self.below(self.corpus.len());
        self.corpus[at].clone()
    }

    pub(crate) fn next(&mut self) -> Vec<u8> {
        // One in four is random, for targets that interpret bytes as choices.
        let mut input =
            if self.below(4) == 0 { (0..self.below(160)).map(|_| self.random.random()).collect() } else { self.one() };
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let (start, length) = (self.below(input.len() + 1), self.below(9));
        let end = (start + length).min(input.len());
        match self.below(6) {
            0 => input.drain(start..end).for_each(drop),
            1 => {
                let piece = input[start..end].repeat(2);
                input.splice(start..end, piece);
            }
            2 => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(start..end, word.iter().copied());
            }
            3 => {
                let other = self.one();
                let (from, to) = (self.below(other.len() + 1), self.below(other.len() + 1));
                input.splice(start..end, other[from.min(to)..from.max(to)].iter().copied());
            }
            4 => input.truncate(start),
            _ => {
                for byte in &mut input[start..end] {
                    *byte ^= 1 << self.random.random_range(0..8_u8);
                }
            }
        }
    }
}
