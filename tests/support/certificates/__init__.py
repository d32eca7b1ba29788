"""Certificates and keys: a program in memory, and the keeper on a stage."""
