"""Directories of the agent's own in which volumes are: made and opened name by name, through no link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from actors.volumes.mounts.safe_opening import DIRECTORY

PARENT_MODE: Final = 0o750
PRIVATE_MODE: Final = 0o700
"""Of the directory right above what nobody else on the node may read."""
LEAVING: Final = ".removing-"
"""How directories begin that are being removed. A pod of the same UID has a new one meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePlace:
    """Where something is mounted, or made."""

    root: str
    """The administrator's directory. Links are followed up to it, and not below it."""
    names: tuple[str, ...]
    """The names that lead from there to the place. At least one."""

    @property
    def path(self) -> str:
        """Return it as one path."""
        return "/".join((self.root, *self.names))


@contextmanager
def opened_parent(
    place: VolumePlace, *, parent_mode: int = PARENT_MODE, is_made: bool = True
) -> Iterator[int]:
    """Open the directory above the place, which is made where it is missing. Raises ``OSError``.

    ``parent_mode`` is that directory's. What is above it gets the mode of a kubelet's directories.
    """
    if is_made:
        Path(place.root).mkdir(PARENT_MODE, parents=True, exist_ok=True)
    opened = os.open(place.root, DIRECTORY)
    try:
        for number, name in enumerate(place.names[:-1], 2):
            mode = parent_mode if number == len(place.names) else PARENT_MODE
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(name, mode, dir_fd=opened)
            below = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened
    except OSError as error:
        # The name alone, or the number of a descriptor, would not say where it is.
        raise OSError(error.errno, error.strerror, place.path) from None
    finally:
        os.close(opened)


def handle(descriptor: int) -> str:
    """Return a path of what is open, for calls that take only paths. It stays that, whatever is renamed."""
    return f"/proc/self/fd/{descriptor}"
