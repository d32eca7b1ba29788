"""The API server as a source: the pods that are bound to this node."""
