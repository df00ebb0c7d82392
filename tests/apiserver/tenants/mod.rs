//! Several namespaces share one operator: none of them can exhaust what the others need.

mod hostile_remote;
mod memory;
mod pages;
mod projects;
mod slots;
