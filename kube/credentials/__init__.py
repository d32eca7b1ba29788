"""Who the agent is to the API server: read from a kubeconfig or from inside the cluster, and kept fresh.

From the bottom: ``access`` (one reading, as a value), ``certificates`` and ``proxies`` (what the standard
library does not say about them), ``kubeconfig`` (the text of a kubeconfig), ``exec_plugin`` (a command that
issues credentials), ``rereading`` (when to read again), ``loading`` (the two kinds of credentials; the only
module that imports the Kubernetes client). Importing this package imports none of them.
"""
