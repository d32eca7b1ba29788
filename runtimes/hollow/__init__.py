"""A runtime of containers that run nothing: all states of a real one, in memory."""
