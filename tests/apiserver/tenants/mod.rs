//! Several namespaces share one operator: none of them may take what the others need.

mod pages;
mod projects;
mod slots;
