//! How GitOps sees the operator and what it writes: Flux, Argo CD, kubectl diff, several managers of one object.

mod argocd;
mod kstatus;
mod states;
