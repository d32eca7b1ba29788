"""Who runs the probes of pods, and what becomes of their results."""
