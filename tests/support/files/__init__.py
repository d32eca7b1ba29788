"""Directories of files, and watches on them that the test moves."""
