"""Why a container's environment cannot be made. Pure."""

from __future__ import annotations


class UnusableEnvironmentError(Exception):
    """The environment cannot be made now. The text says why, in a kubelet's words, without any value."""
