"""The file source: pods from a directory of manifests, or from a single one."""
