"""A directory that is held open, so that it is known whether another one has come to its path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self


class OpenDirectory:
    """The directory that was at ``path`` when this was made. A context: it is closed at the end.

    Names are looked up in this directory, wherever somebody moves it.
    """

    def __init__(self, path: Path, *, for_listing: bool = True) -> None:
        """Open it. Raises ``OSError``. What is not for listing need not be readable."""
        self.path = path
        access = os.O_RDONLY if for_listing else os.O_PATH
        self.descriptor = os.open(path, access | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self.descriptor)

    def is_in_its_place(self) -> bool:
        """Return whether the path still leads to this directory."""
        try:
            present = self.path.stat()
        except OSError:
            return False
        return os.path.samestat(present, os.fstat(self.descriptor))
