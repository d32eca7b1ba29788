"""Manifests as texts."""
