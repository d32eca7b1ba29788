"""Contents of volumes for tests, writers of them that die, and places to mount in."""
