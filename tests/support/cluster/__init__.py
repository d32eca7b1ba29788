"""A real API server: kube-apiserver and etcd on loopback."""
