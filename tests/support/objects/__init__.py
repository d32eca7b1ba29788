"""Stages for those who hold and manage Secrets and ConfigMaps."""
