"""Stages for those who remember pods."""
