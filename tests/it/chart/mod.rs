//! The chart and what is made from it, as far as no cluster is needed. Next: `tests/apiserver/chart/` for what an API
//! server says to it.

mod deploy;
mod generated;
mod image;
mod readme;
mod renders;
mod rights;
mod sbom;
mod values;
