"""Which objects of the API a pod references."""
