//! Several namespaces share one operator: none of them can exhaust what the others need.

mod pages;
mod projects;
mod slots;
