"""What keeps an installation from being made."""

from __future__ import annotations


class InstallError(Exception):
    """Something is in the way; the text is one sentence for the user."""
