"""What is remembered of pods: who claims a name, which are served, and what came and went."""
