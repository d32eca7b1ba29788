"""One generation of a volume's content: a directory with all files, which nobody changes once it is shown."""

from __future__ import annotations

import os
import re
import secrets
import stat
from datetime import UTC, datetime
from typing import Final, TypeAlias

from actors.volumes.opened import opened, read_file, write_file
from actors.volumes.payload import Payload, VolumeFile
from messages.units import Timestamp

_NAME: Final = re.compile(r"\.\.[0-9]{4}(?:_[0-9]{2}){5}\.[0-9A-Za-z]+")
_MODE: Final = 0o755
_GROUP_MODE: Final = 0o2755
_UNFINISHED: Final = 0o700

_Tree: TypeAlias = "dict[str, VolumeFile | _Tree]"


def new_name(at: Timestamp) -> str:
    """Return a name for a generation of that time, as kubelets name theirs."""
    time = datetime.fromtimestamp(at, UTC)
    return f"..{time:%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**10)}"


def is_generation(name: str) -> bool:
    """Return whether a directory of that name is a generation, of a kubelet's too."""
    return _NAME.fullmatch(name) is not None


def write_generation(volume: int, name: str, payload: Payload, *, is_durable: bool) -> None:
    """Make the directory ``name`` with all files. Raises OSError, and leaves what was made until then.

    A durable one has its directories on the disk afterwards. Files are never waited for: after a power cut
    they may be torn, which ``holds`` sees.
    """
    _write_tree(volume, name, _tree_of(payload), payload.group, is_durable=is_durable)


def holds(volume: int, name: str, payload: Payload) -> bool:
    """Return whether the generation ``name`` is exactly that: its files, their modes, and whose they are."""
    return _is_tree(volume, name, _tree_of(payload), payload.group)


def _tree_of(payload: Payload) -> _Tree:
    top: _Tree = {}
    for path, file in payload.files.items():
        *directories, name = path.split("/")
        place = top
        for each in directories:
            inner = place.setdefault(each, {})
            if isinstance(inner, VolumeFile):
                raise NotADirectoryError(f"{each} is a file and a directory")
            place = inner
        place[name] = file
    return top


def _write_tree(
    parent: int, name: str, tree: _Tree, group: int | None, *, is_durable: bool
) -> None:
    os.mkdir(name, _UNFINISHED, dir_fd=parent)
    with opened(name, parent) as directory:
        for each, inner in tree.items():
            if isinstance(inner, VolumeFile):
                write_file(each, directory, inner.data, inner.mode, _owner(inner, group))
            else:
                _write_tree(directory, each, inner, group, is_durable=is_durable)
        if group is not None:
            os.fchown(directory, -1, group)
        os.fchmod(directory, _directory_mode(group))
        if is_durable:
            os.fsync(directory)


def _is_tree(parent: int, name: str, tree: _Tree, group: int | None) -> bool:
    try:
        with opened(name, parent) as directory:
            return _is_directory_of(directory, tree, group)
    except OSError:
        return False


def _is_directory_of(directory: int, tree: _Tree, group: int | None) -> bool:
    about = os.fstat(directory)
    has_mode = stat.S_IMODE(about.st_mode) == _directory_mode(group)
    if not has_mode or (group is not None and about.st_gid != group):
        return False
    with os.scandir(directory) as found:
        names = {each.name for each in found}
    return names == tree.keys() and all(
        _is_file(directory, each, inner, group)
        if isinstance(inner, VolumeFile)
        else _is_tree(directory, each, inner, group)
        for each, inner in tree.items()
    )


def _is_file(directory: int, name: str, file: VolumeFile, group: int | None) -> bool:
    found = read_file(name, directory)
    if found is None:
        return False
    about, data = found
    user = os.geteuid() if file.user is None else file.user
    is_owned = about.st_uid == user and group in {None, about.st_gid}
    return is_owned and stat.S_IMODE(about.st_mode) == file.mode and data == file.data


def _owner(file: VolumeFile, group: int | None) -> tuple[int, int]:
    return (-1 if file.user is None else file.user, -1 if group is None else group)


def _directory_mode(group: int | None) -> int:
    return _MODE if group is None else _GROUP_MODE
