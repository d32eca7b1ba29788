"""The files of a volume while they are being collected. Pure."""

from __future__ import annotations

from actors.volumes.content.errors import ContentMissingError, VolumeRefusedError
from actors.volumes.content.owners import GROUP_READS, TOKEN_MODE, group_of, only_user_of
from actors.volumes.content.paths import clash, cleaned, path_trouble
from actors.volumes.payload import Payload, VolumeFile
from manifests.defaults.volumes import FILE_MODE
from manifests.validation.projections import MAX_MODE
from messages.pods import JsonObject, Pod


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
