"""What the name of an image says."""

from __future__ import annotations


def image_pull_policy(image: str) -> str:
    """Return how an image is pulled when nobody says: a tag that moves is pulled always."""
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    # A colon before a slash belongs to the port of a registry.
    tagged = bool(colon and repository) and "/" not in tag
    moves = tag == "latest" if tagged else not digest
    return "Always" if moves else "IfNotPresent"
