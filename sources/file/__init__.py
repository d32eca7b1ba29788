"""Files as a source: manifests in a directory, or a single one."""
