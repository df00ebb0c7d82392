//! etcd and kube-apiserver on this machine, for `demo` and the tests.
