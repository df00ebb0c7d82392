//! `crds`: prints the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.

use std::io::Write;
use std::process::ExitCode;

use crate::crd;

pub(super) fn run() -> ExitCode {
    // Whoever reads may stop early (`| head`).
    match std::io::stdout().write_all(crd::yaml().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
