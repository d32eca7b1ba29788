"""Who the agent is to the API server: read from a kubeconfig or from inside the cluster, and kept fresh.

From the bottom: ``access`` (one reading, as a value, and what the standard library does not say about
certificates), ``kubeconfig`` (the text of a kubeconfig), ``exec_plugin`` (a command that issues credentials),
``client`` (asks the kubernetes client, in a process with the program ``client_process``), ``rereading`` (when
to read again), ``loading`` (the two kinds of credentials). Importing this package imports none of them.
"""
