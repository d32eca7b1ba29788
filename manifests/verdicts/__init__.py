"""What people are told of each manifest: verdicts, conflicts between manifests, and what is served."""
