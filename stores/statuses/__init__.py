"""The status of pods: how it follows from what is observed, and how the API shows it. Pure."""
