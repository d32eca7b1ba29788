"""Which objects of the API server a pod names."""
