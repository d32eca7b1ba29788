"""A volume's directory, whose readers see all of the old or all of the new content.

``..data`` leads to the directory of one generation of the content, and each file of a user is a link through
it. A generation is never changed once it is shown: an update is a new generation and one rename over
``..data``. So it is with kubelets, too; but here

- ``..data`` is there before the links of users, so that none of them ever leads nowhere,
- what an earlier life left in the middle of a write is removed before anything is written,
- the old generation stays for a moment, since readers may be between opening ``..data`` and a file in it,
- a mode or an owner that changes is a change.

Content is torn by a power cut at the worst, and never by the end of a process. The first write of a life
compares every byte, so that a torn volume is made whole before a container sees it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from actors.volumes.content.files import Payload, VolumeFile
from actors.volumes.opened import is_directory, opened, read_file, remove_all, write_file
from manifests.texts import printable
from messages.units import Seconds, Timestamp

_NAME: Final = re.compile(r"\.\.[0-9]{4}(?:_[0-9]{2}){5}\.[0-9A-Za-z]+")
_READABLE_MODE: Final = 0o755
_GROUP_MODE: Final = 0o2755
_UNFINISHED_MODE: Final = 0o700

_Tree: TypeAlias = "dict[str, VolumeFile | _Tree]"

CURRENT: Final = "..data"
NEXT: Final = "..data_tmp"
OLD_STAYS: Final = Seconds(0.05)
"""How long an old generation stays. Removed at once, it was missing for readers 10 to 35 times in 20,000
updates; after 20 ms never."""

_PARENT_MODE: Final = 0o750
_MODE: Final = 0o777
_UNFINISHED: Final = ".new"
_GROUP_BITS: Final = 0o2550
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


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
    os.mkdir(name, _UNFINISHED_MODE, dir_fd=parent)
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
    return _READABLE_MODE if group is None else _GROUP_MODE


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentWritten:
    """What became of one write."""

    is_changed: bool
    """Whether readers see other content than before."""
    leaving: tuple[str, ...] = ()
    """Old generations: ``remove`` them after ``OLD_STAYS``. Those that earlier writes left are told, too."""
    notes: tuple[str, ...] = ()
    """What somebody else did to the volume, and what was done about that."""


class ContentNotWrittenError(Exception):
    """Readers see the old content, or the new one, though new files of it may have no link yet.

    The text says why, for people, without any content.
    """


@dataclass(slots=True)
class _Seen:
    """What is in a volume."""

    current: str = ""
    """The generation that is shown; empty if none is."""
    is_odd: bool = False
    """There is something else in its place."""
    own: list[str] = field(default_factory=list)
    """Generations, and what a write had begun."""
    links: dict[str, str] = field(default_factory=dict)
    """Where the links of users lead, by name."""
    others: set[str] = field(default_factory=set)


class AtomicDirectory:
    """The directory of one volume. It may block; one thread at a time uses it."""

    __slots__ = ("_generation", "_is_durable", "_leaving", "_path", "_shown")

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        """With ``is_durable`` a write has its directories on the disk when it returns."""
        self._path = str(path)
        self._is_durable = is_durable
        self._shown: Payload | None = None
        """What is known to be shown."""
        self._generation = ""
        self._leaving: frozenset[str] = frozenset()

    def write(self, payload: Payload, at: Timestamp) -> ContentWritten:
        """Show ``payload``, and nothing else. Raises ContentNotWrittenError. May repeat."""
        if payload == self._shown and self._is_shown():
            return ContentWritten(is_changed=False, leaving=tuple(self._leaving))
        try:
            return self._with_room(payload, at)
        except OSError as error:
            raise ContentNotWrittenError(self._sentence(error)) from None

    def remove(self, *leaving: str) -> str:
        """Remove old generations that a write named. Return why one stays; empty if they are gone."""
        try:
            with opened(self._path) as volume:
                for each in self._leaving.intersection(leaving):
                    if _target(CURRENT, volume) != each:
                        remove_all(each, volume)
                    self._leaving -= {each}
        except FileNotFoundError:
            self._leaving = frozenset()
        except OSError as error:
            return self._sentence(error)
        return ""

    def _is_shown(self) -> bool:
        """Return whether nobody removed what was written last."""
        with suppress(OSError), opened(self._path) as volume:
            return _target(CURRENT, volume) == self._generation and is_directory(
                self._generation, volume
            )
        return False

    def _with_room(self, payload: Payload, at: Timestamp) -> ContentWritten:
        try:
            return self._written(payload, at)
        except OSError as error:
            if error.errno not in _FULL or not self._leaving:
                raise
        # Several old generations may be there at once, and volumes have room for one.
        self.remove(*self._leaving)
        return self._written(payload, at)

    def _written(self, payload: Payload, at: Timestamp) -> ContentWritten:
        notes: list[str] = []
        # Whatever fails from here on: the next write looks at everything again.
        before, self._shown = self._shown, None
        with self._opened(notes) as volume:
            _give_to_group(volume, payload.group)
            seen = _look(volume)
            self._tidy(volume, seen, notes)
            is_same = before is None and seen.current and holds(volume, seen.current, payload)
            if not is_same:
                self._show_new(volume, payload, at, seen)
            self._generation = seen.current if is_same else self._generation
            _link_files(volume, payload, seen, notes)
            if self._is_durable:
                os.fsync(volume)
        self._shown = payload
        leaving = tuple(self._leaving)
        return ContentWritten(is_changed=not is_same, leaving=leaving, notes=tuple(notes))

    @contextmanager
    def _opened(self, notes: list[str]) -> Iterator[int]:
        """Open the directory for the ``with`` block, and make it if there is none."""
        if not os.path.lexists(self._path):
            self._make()
            if self._generation:
                notes.append(f"{self._path} was gone, and is made again")
        with opened(self._path) as volume:
            yield volume

    def _make(self) -> None:
        path = Path(self._path)
        path.parent.mkdir(_PARENT_MODE, parents=True, exist_ok=True)
        # It has its mode, which the process's mask may change, as soon as it has its name.
        unfinished = path.with_name(f".{path.name}{_UNFINISHED}")
        unfinished.mkdir(exist_ok=True)
        unfinished.chmod(_MODE)
        unfinished.rename(path)

    def _tidy(self, volume: int, seen: _Seen, notes: list[str]) -> None:
        """Remove what a write that did not end has left."""
        if seen.is_odd:
            notes.append(f"{CURRENT} in {self._path} led to no content, and is made again")
        for name in seen.own:
            if name in self._leaving:
                continue
            try:
                remove_all(name, volume)
            except OSError as error:
                if name == NEXT:  # nothing can be shown
                    raise
                notes.append(f"{name} in {self._path} stays: {error.strerror}")

    def _show_new(self, volume: int, payload: Payload, at: Timestamp, seen: _Seen) -> None:
        name = new_name(at)
        try:
            write_generation(volume, name, payload, is_durable=self._is_durable)
            os.symlink(name, NEXT, dir_fd=volume)
            if seen.is_odd and is_directory(CURRENT, volume):
                # No link can be renamed over it. Under its new name it is removed before the next write.
                os.rename(CURRENT, new_name(at), src_dir_fd=volume, dst_dir_fd=volume)
            os.rename(NEXT, CURRENT, src_dir_fd=volume, dst_dir_fd=volume)
        except OSError:
            _undo(volume, name)
            raise
        self._generation = name
        if seen.current:
            self._leaving |= {seen.current}

    def _sentence(self, error: OSError) -> str:
        why = error.strerror or "it cannot be written"
        if error.errno == errno.ENOSPC:
            with suppress(OSError):
                about = os.statvfs(self._path)
                why += " (no inodes)" if about.f_files and not about.f_favail else ""
        return f"{printable(self._path)}: {why}"


def _undo(volume: int, generation: str) -> None:
    """Remove what was written. What cannot be removed now is tidied up before the next write."""
    for name in (NEXT, generation):
        with suppress(OSError):
            remove_all(name, volume)


def _give_to_group(volume: int, group: int | None) -> None:
    if group is None:
        return
    about = os.fstat(volume)
    mode = stat.S_IMODE(about.st_mode) | _GROUP_BITS
    if (about.st_gid, stat.S_IMODE(about.st_mode)) != (group, mode):
        os.fchown(volume, -1, group)
        os.fchmod(volume, mode)


def _look(volume: int) -> _Seen:
    with os.scandir(volume) as found:
        entries: Mapping[str, bool] = {each.name: each.is_symlink() for each in found}
    seen = _Seen()
    if CURRENT in entries:
        target = _target(CURRENT, volume) or ""
        is_shown = is_generation(target) and is_directory(target, volume)
        seen.current, seen.is_odd = (target, False) if is_shown else ("", True)
    for name, is_link in entries.items():
        if name == NEXT or (is_generation(name) and name != seen.current):
            seen.own.append(name)
        elif name.startswith(".."):
            continue
        elif is_link:
            seen.links[name] = _target(name, volume) or ""
        else:
            seen.others.add(name)
    return seen


def _link_files(volume: int, payload: Payload, seen: _Seen, notes: list[str]) -> None:
    """Make the links of users that are missing, and remove those of files that went."""
    wanted = {path.partition("/")[0] for path in payload.files}
    for name in sorted(wanted - {name for name, to in seen.links.items() if to == _through(name)}):
        if name in seen.links or name in seen.others:
            notes.append(
                f"{printable(name)} was something else, and is a link to the content again"
            )
            remove_all(name, volume)
        os.symlink(_through(name), name, dir_fd=volume)
    for name, target in seen.links.items():
        if name not in wanted and target == _through(name):
            remove_all(name, volume)


def _through(name: str) -> str:
    return f"{CURRENT}/{name}"


def _target(name: str, volume: int) -> str | None:
    """Return where the link of that name leads; None if there is no such link."""
    with suppress(OSError):
        return os.readlink(name, dir_fd=volume)
    return None
