"""The RuntimeClasses of the cluster, for those who run containers."""
