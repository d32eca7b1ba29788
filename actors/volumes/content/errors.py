"""Why a volume cannot have its files. The texts hold no value. Pure."""

from __future__ import annotations


class VolumeRefusedError(Exception):
    """The volume can never have files as it is written."""


class ContentMissingError(Exception):
    """Something that the volume shows is not there, or cannot be shown as it is now."""
