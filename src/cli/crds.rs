//! `crds`: prints the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.

use super::printing::print;
use crate::crd;

pub(super) fn run() -> std::io::Result<()> {
    print(&crd::yaml())
}
