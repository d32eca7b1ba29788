"""Writes ``docs/reference`` and the man page from the code, so that they say what it does."""
