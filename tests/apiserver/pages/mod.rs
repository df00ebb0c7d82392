//! What users copy from pages: every manifest is applied, the program of every command accepts it, and commands that
//! can run in a test are run.

mod blocks;
mod commands;
mod manifests;
mod run;
