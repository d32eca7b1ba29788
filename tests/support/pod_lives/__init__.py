"""What the lives of pods are tested with."""
