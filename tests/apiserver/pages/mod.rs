//! What people copy from pages: every manifest is applied, every command is understood by the program that it calls, and those
//! that can be run are run.

mod blocks;
mod commands;
mod manifests;
mod run;
mod shell;
