//! Pages that repeat information of the code (command line, reasons, fields, the dev server): each is compared with the
//! code.

mod argocd;
mod book;
#[cfg(feature = "local-cluster")]
mod command_line;
mod dev_server;
mod diagrams;
mod metrics;
pub(crate) mod reasons;
mod reference;
mod rules;
mod scopes;
mod security;
mod troubleshooting;
