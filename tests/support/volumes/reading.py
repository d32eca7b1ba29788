"""What a reader of a volume sees, and what is in its directory."""

from __future__ import annotations

import stat
from pathlib import Path

from actors.volumes.content.files import Payload, VolumeFile


def seen_in(volume: Path) -> dict[str, bytes]:
    """Return the content of every file below the links of users: those that lead nowhere raise OSError."""
    found: dict[str, bytes] = {}
    for top in volume.iterdir():
        if top.name.startswith(".."):
            continue
        below = [each for each in top.rglob("*") if each.is_file()] if top.is_dir() else [top]
        found |= {str(each.relative_to(volume)): each.read_bytes() for each in below}
    return found


def data_of(payload: Payload) -> dict[str, bytes]:
    """Return the content of the files alone."""
    return {path: file.data for path, file in payload.files.items()}


def mode_of(path: Path) -> int:
    """Return the mode of what ``path`` leads to."""
    return stat.S_IMODE(path.stat().st_mode)


def payload_of(files: dict[str, bytes], mode: int = 0o644, group: int | None = None) -> Payload:
    """Return a payload of files that all have one mode."""
    return Payload(
        files={path: VolumeFile(data, mode) for path, data in files.items()}, group=group
    )


def strays_in(volume: Path) -> set[str]:
    """Return what of the writer is there, beside ``..data`` and what that leads to."""
    own = {each.name for each in volume.iterdir() if each.name.startswith("..")}
    data = volume / "..data"
    return own - {"..data", data.readlink().name if data.is_symlink() else ""}
