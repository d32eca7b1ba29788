"""What is remembered of Secrets and ConfigMaps, and of the pods that reference them."""
