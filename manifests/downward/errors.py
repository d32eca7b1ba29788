"""Why the downward API cannot tell something. Pure."""

from __future__ import annotations


class UnknownAmountError(Exception):
    """An amount of a container's resources cannot be told. The text says why, in a kubelet's words."""
