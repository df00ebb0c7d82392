//! Several namespaces share one operator: none of them may take what the others need.

mod slots;
