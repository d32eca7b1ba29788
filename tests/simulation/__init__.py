"""Histories that a seed makes up: what happens to a whole agent, and what has to hold meanwhile."""
