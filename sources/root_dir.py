"""The agent's own directory: made when the agent starts, and tried, so that nothing fails on it later."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sources.errors import StartError

_MODE = 0o750  # state is not for everybody to read


def prepare_root_dir(path: Path) -> None:
    """Make ``path`` if it is missing, and write to it. Raises ``StartError`` when either is refused.

    A directory that exists keeps its mode and owner.
    """
    try:
        path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except FileExistsError:
        raise StartError(f"--root-dir {path} is not a directory") from None
    except OSError as error:
        raise StartError(f"cannot write to --root-dir {path}: {error.strerror}") from None
