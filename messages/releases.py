"""Which release of the agent runs, and which one is installed where it was started from."""

from __future__ import annotations

from typing import NamedTuple

from typing_extensions import override


class Release(NamedTuple):
    """One release of the agent."""

    version: str
    code: str = ""
    """What tells this code from any other of the same version; empty in a checkout, which may be edited."""

    @override
    def __str__(self) -> str:
        return f"{self.version} ({self.code})" if self.code else self.version


class ReleaseState(NamedTuple):
    """The release that runs, and the one that a restart would run."""

    running: Release
    installed: Release | None
    """None if there is none any more, or it cannot be read."""

    @property
    def is_restart_due(self) -> bool:
        """Whether a restart would run another release."""
        return self.installed is not None and self.installed != self.running
