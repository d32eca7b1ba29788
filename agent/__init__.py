"""The process: the composition of its actors, its main thread, and its contact with the system."""
