"""Stages for the sources of pods."""
