//! Pages under `docs/` that repeat what the code says: command line, reasons, fields. Each is compared with the code.

mod command_line;
mod fields;
mod links;
mod reasons;
