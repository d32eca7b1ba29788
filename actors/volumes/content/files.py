"""The files of one volume, as values: their paths, modes and owners. No ``repr`` shows content. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from typing_extensions import override

from manifests.defaults import FILE_MODE
from manifests.names import file_in_volume
from manifests.texts import printable, quoted
from manifests.validation.volumes import MAX_MODE
from messages.pods import JsonObject, Pod


@dataclass(frozen=True, slots=True)
class VolumeFile:
    """One file."""

    data: bytes = field(repr=False)
    mode: int
    """Its permissions, at most 0777."""
    user: int | None = None
    """Whose it is; None for whoever writes: root, usually."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Payload:
    """All files of a volume. Equal ones need not be written again."""

    files: Mapping[str, VolumeFile] = field(default_factory=dict)
    """By path: relative, clean, and checked by ``content.paths``."""
    group: int | None = None
    """The pod's ``fsGroup``, which all files and directories belong to; None for root's."""

    @override
    def __repr__(self) -> str:
        return f"Payload(paths={sorted(self.files)!r}, group={self.group!r})"


LONGEST_PATH: Final = 4096
LONGEST_NAME: Final = 255
"""Bytes: what Linux takes."""
DEEPEST: Final = 64
"""Directories within each other, far more than anybody wants. Whoever removes them has them all open."""
GROUP_READS: Final = 0o440
"""What a file of a pod with an ``fsGroup`` has in any case."""
TOKEN_MODE: Final = 0o600
"""Of a token that one user or group is meant to read."""


class VolumeRefusedError(Exception):
    """The volume can never have files as it is written."""


class ContentMissingError(Exception):
    """Something that the volume shows is not there, or cannot be shown as it is now."""


class FilesOfVolume:
    """Collects files. Of two with one path the later counts. Its methods raise VolumeRefusedError."""

    __slots__ = ("_default", "_files", "_group", "_pod")

    def __init__(self, pod: Pod, source: JsonObject) -> None:
        """``source`` is the volume's own, with its ``defaultMode``."""
        self._pod = pod
        self._default = _mode(source, "defaultMode", FILE_MODE)
        self._group = group_of(pod)
        self._files: dict[str, VolumeFile] = {}

    def put_item(self, item: JsonObject, data: bytes) -> None:
        """Put the file of an item, which names its path and may have a mode."""
        path = cleaned(str(item.get("path") or ""))
        if trouble := path_trouble(path):
            raise VolumeRefusedError(trouble)
        self._put(path, data, _mode(item, "mode", self._default))

    def put_key(self, key: str, data: bytes) -> None:
        """Put a key of an object as a file. Raises ContentMissingError for one that cannot be a name."""
        if trouble := path_trouble(key):
            raise ContentMissingError(trouble)
        self._put(key, data, self._default)

    def put_token(self, path: str, data: bytes) -> None:
        """Put a token: for everybody as other files, unless a user or a group is meant."""
        user = only_user_of(self._pod)
        if trouble := path_trouble(path):
            raise VolumeRefusedError(trouble)
        is_meant = user is not None or self._group is not None
        self._put(path, data, TOKEN_MODE if is_meant else self._default, user)

    def payload(self) -> Payload:
        """Return them all. Raises ContentMissingError if they cannot be beside each other."""
        if trouble := clash(self._files):
            raise ContentMissingError(trouble)
        return Payload(files=self._files, group=self._group)

    def _put(self, path: str, data: bytes, mode: int, user: int | None = None) -> None:
        shared = mode if self._group is None else mode | GROUP_READS
        self._files[path] = VolumeFile(data, shared, user)


def _mode(place: JsonObject, field: str, default: int) -> int:
    mode = place.get(field)
    if mode is None:
        return default
    if isinstance(mode, bool) or not isinstance(mode, int) or not 0 <= mode <= MAX_MODE:
        raise VolumeRefusedError(f"{field} must be a file mode between 0 and 0777")
    return mode


def cleaned(path: str) -> str:
    """Return the shortest way to write ``path``: ``a//b/./c/`` is ``a/b/c``."""
    top = "/" if path.startswith("/") else ""
    return top + "/".join(name for name in path.split("/") if name not in {"", "."})


def path_trouble(path: str) -> str:
    """Return what is wrong with a clean path, as a sentence; empty if nothing is."""
    if not path:
        return "invalid path: must not be empty"
    wrong = file_in_volume(path) or _too_long(path)
    return f"invalid path: {wrong}: {quoted(_shown(path))}" if wrong else ""


def clash(paths: Iterable[str]) -> str:
    """Return which one is a file and a directory at once, as a sentence; empty if none is."""
    files = frozenset(paths)
    for path in sorted(files):
        for directory in list(accumulate(path.split("/"), posixpath.join))[:-1]:
            if directory in files:
                return f"invalid path: {quoted(directory)} is a file and a directory"
    return ""


def _too_long(path: str) -> str:
    try:
        raw = path.encode()
    except UnicodeEncodeError:
        return "must be UTF-8"
    names = raw.split(b"/")
    if b"\0" in raw:
        return "must not contain a NUL"
    if len(raw) > LONGEST_PATH:
        return f"must be less than or equal to {LONGEST_PATH} bytes"
    if max(map(len, names)) > LONGEST_NAME:
        return f"filenames must be less than or equal to {LONGEST_NAME} bytes"
    return f"must have at most {DEEPEST} directories" if len(names) > DEEPEST + 1 else ""


def _shown(path: str) -> str:
    return printable(path.encode(errors="replace").decode())


def group_of(pod: Pod) -> int | None:
    """Return the pod's ``fsGroup``; None if it has none."""
    return _number(_security(_spec(pod)).get("fsGroup"))


def only_user_of(pod: Pod) -> int | None:
    """Return the user that all containers run as by the specification; None if there is no such one."""
    users = set(_users(_spec(pod)))
    return users.pop() if len(users) == 1 else None


def _users(spec: JsonObject) -> Iterator[int | None]:
    whole = _security(spec).get("runAsUser")
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            own = _security(container).get("runAsUser")
            yield _number(whole if own is None else own)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _spec(pod: Pod) -> JsonObject:
    return pod.document.get("spec") or {}


def _security(place: JsonObject) -> JsonObject:
    return place.get("securityContext") or {}
