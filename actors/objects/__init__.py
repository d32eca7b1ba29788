"""Secrets and ConfigMaps that pods reference: who manages them, and who holds them."""
