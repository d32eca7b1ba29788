"""The lives of pods on this node: who runs, who waits, who stops, and what people are told of it."""
