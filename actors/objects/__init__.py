"""What is known of Secrets, ConfigMaps and the pods that reference them, as pure functions."""
