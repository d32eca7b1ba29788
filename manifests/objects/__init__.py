"""What the document of a Secret or ConfigMap means."""
