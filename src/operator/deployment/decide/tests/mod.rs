//! Tests of the operation table: a row for each of its rows, the rules that it implements by their numbers, and an
//! exploration of everything that can happen in a small world.

mod answers;
mod build;
mod clocks;
mod create;
mod deleting;
mod drift;
mod ended;
mod everywhere;
mod expected;
mod explore;
mod held;
mod idle;
mod recreate;
mod redeploy;
mod retained;
mod takeover;
