//! The Connect client over real HTTP, against small servers that each test defines.

mod actions;
mod certificates;
mod exported;
mod fence;
mod limits;
mod observed;
mod operations;
mod pauses;
mod proxy;
mod refusals;
mod registry;
mod remote;
mod secrets;
mod tls;
mod tokens;
