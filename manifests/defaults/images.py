"""What the API derives from the name of an image."""

from __future__ import annotations


def image_pull_policy(image: str) -> str:
    """Return the default pull policy of an image: ``Always`` if its tag may move to another image."""
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    # A colon before a slash belongs to the port of a registry.
    tagged = bool(colon and repository) and "/" not in tag
    moves = tag == "latest" if tagged else not digest
    return "Always" if moves else "IfNotPresent"
