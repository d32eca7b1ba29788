"""Secrets and ConfigMaps that pods reference: their managers and their holders."""
