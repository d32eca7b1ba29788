"""What `make docs` does beside mkdocs: see `pages` and `hook`."""
