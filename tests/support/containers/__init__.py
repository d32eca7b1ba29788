"""A containerd of the tests' own, with images that need no registry."""
