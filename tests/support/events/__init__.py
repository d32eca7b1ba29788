"""Stages for what tells events."""
