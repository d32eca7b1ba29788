"""Contents of volumes for tests, and writers of them that die."""
