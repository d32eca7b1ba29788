"""The Services of the cluster, for the variables of containers."""
