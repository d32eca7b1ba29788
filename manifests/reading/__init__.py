"""From bytes to one document, by the rules by which Kubernetes reads YAML and JSON."""
