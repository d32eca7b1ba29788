"""The volumes of pods, and what they show."""
