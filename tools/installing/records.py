"""What was installed: kept beside it, so that just that is taken away again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.installing.failures import InstallError


@dataclass(slots=True, kw_only=True)
class Record:
    """Files and directories, by their paths without DESTDIR."""

    files: dict[str, str] = field(default_factory=dict)
    """The digest of each file as it was installed."""
    directories: set[str] = field(default_factory=set)
    """Those that were not there before."""

    def has_changed(self, path: Path, content: bytes) -> bool:
        """Return whether what is at ``path`` now is something else than what was installed there."""
        return self.files.get(str(path)) != digest(content)

    def written(self) -> str:
        """Return it as a document."""
        document = {"files": self.files, "directories": sorted(self.directories)}
        return json.dumps(document, indent=1, sort_keys=True) + "\n"


def digest(content: bytes) -> str:
    """Return what stands for ``content``."""
    return hashlib.sha256(content).hexdigest()


def read_record(path: Path) -> Record | None:
    """Return what was installed, or None if nothing was. Raises ``InstallError``."""
    try:
        document: Any = json.loads(path.read_text())
        return Record(files=dict(document["files"]), directories=set(document["directories"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise InstallError(f"{path} cannot be read: that takes whoever installed it") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InstallError(f"{path} does not say what was installed: it is damaged") from None
