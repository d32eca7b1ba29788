"""Secrets and ConfigMaps: what is known of them, and which pods reference them."""
