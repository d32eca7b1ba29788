"""The runtime of pods that drives a runtime of containers by ``plan``."""
