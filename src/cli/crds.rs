//! `crds`: prints the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.

use super::printing::print;
use crate::crd;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Install or upgrade the CRDs
  connect-operator crds | kubectl apply --server-side --filename -

  # Show what an upgrade would change
  connect-operator crds | kubectl diff --server-side --filename -";

pub(super) fn run() -> std::io::Result<()> {
    print(&crd::yaml())
}
